public import Networking
import OpenSSLCrypto
import TokenGeneration

extension ProtectedResourceAuthenticator {
    /// The rule for the scope that a resource gets, which the resource alone never decides.
    public struct Scope: Sendable {
        /// The names to request.
        let names: @Sendable (ProtectedResource) async throws -> [String]
        /// The names that the client may request later, given those that it requests first.
        let all: @Sendable (ProtectedResource, [String]) -> [String]

        /// The names that the resource demands or supports, within names of the application.
        ///
        /// - Parameter names: The names, separated by spaces.
        /// - Returns: The rule, which is that of ``ProtectedResource/scope(within:)``.
        public static func within(_ names: String) -> Self {
            Self(names: { try $0.scope(within: names).spaceSeparated }, all: { _, _ in names.spaceSeparated })
        }

        /// The names that a closure approves, for clients of resources that their developer doesn't
        /// know.
        ///
        /// - Parameter approve: A closure that gets the names that the resource demands, or else
        ///   supports, and returns those that the user allows.
        /// - Returns: The rule.
        public static func approved(by approve: @escaping @Sendable ([String]) async throws -> [String]) -> Self {
            Self(
                names: { resource in
                    let demanded = resource.demandedScopes.isEmpty ? resource.scopes : resource.demandedScopes
                    let allowed = Set(demanded.map(ByteComparedString.init))
                    return try await approve(demanded).filter { allowed.contains(ByteComparedString($0)) }
                },
                all: { resource, names in names.adding(resource.scopes) }
            )
        }
    }

    /// The options of an authenticator.
    public struct Options: Sendable {
        /// The URL of the client's metadata document, `nil` by default.
        ///
        /// It's the client ID at servers that support it. See ``ClientIDMetadataDocument``.
        public var clientID: String?
        /// Returns the client that is registered at an issuer, from your configuration or stored by
        /// ``registered``; `nil`, the default, for none.
        ///
        /// A client whose secret has expired is registered again, and the user signs in. So is one
        /// that the server rejects as unknown (`invalid_client` or `unauthorized_client`), for the
        /// next sign-in, and not again until a sign-in succeeds.
        ///
        /// The store's tokens belong to a client. If a registered client isn't kept, the user signs
        /// in again after a restart.
        public var registration: @Sendable (_ issuer: String) async throws -> RegisteredClient? = { _ in nil }
        /// Stores a newly registered client, with its issuer; by default, it's kept in memory.
        public var registered: @Sendable (RegisteredClient, _ issuer: String) async throws -> Void = { _, _ in }
        /// Decides whether to use an issuer that the resource names; by default, each is used.
        ///
        /// A client ID, a secret and tokens are only sent to the issuer that they are from.
        public var isTrusted: @Sendable (_ issuer: String) -> Bool = { _ in true }
        /// The rule for the resource's identifier; the default is the URL itself.
        public var matching = ProtectedResource.Matching.exact
        /// The network client for all requests but the resource's.
        ///
        /// For resources that users name, limit its transport to public addresses:
        /// `CurlTransport.Configuration.reachesOnlyPublicAddresses`.
        public var client = NetworkClient()
        /// The timeout of calls to the authorization server, the number of attempts, and the clock.
        public var timing = OAuth2Timing()

        /// Creates the default options.
        public init() {}
    }
}
