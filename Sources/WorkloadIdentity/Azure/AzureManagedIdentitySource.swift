import Foundation
import FoundationNetworking
import Networking
public import OAuth2

/// A token source for a managed identity of Azure
/// ([Microsoft](https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/)).
///
/// ```swift
/// let source = CachedTokenSource(
///     AzureManagedIdentitySource(resource: "https://vault.azure.net")
/// )
/// ```
///
/// The variables select the endpoint, and the source never tries another one:
///
/// 1. App Service, Functions and Container Apps: `IDENTITY_ENDPOINT` and `IDENTITY_HEADER`.
/// 2. A server with Azure Arc: `IDENTITY_ENDPOINT` and `IMDS_ENDPOINT`.
/// 3. A virtual machine or scale set: none of them.
///
/// The tokens are access tokens for the resource. Each call sends a request, and the endpoint
/// limits their number, so wrap the source in a `CachedTokenSource`.
public struct AzureManagedIdentitySource: TokenSource {
    /// A managed identity of the machine.
    public struct Identity: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case clientID, objectID, resourceID
        }

        let kind: Kind?
        let value: String

        /// The identity that Azure created with the machine.
        public static let systemAssigned = Self(kind: nil, value: "")

        /// Returns the user-assigned identity with a client ID.
        ///
        /// - Parameter value: The client ID.
        /// - Returns: The identity.
        public static func clientID(_ value: String) -> Self { Self(kind: .clientID, value: value) }

        /// Returns the user-assigned identity with an object ID, also called principal ID.
        ///
        /// - Parameter value: The object ID.
        /// - Returns: The identity.
        public static func objectID(_ value: String) -> Self { Self(kind: .objectID, value: value) }

        /// Returns the user-assigned identity with a resource ID.
        ///
        /// - Parameter value: The resource ID, which begins with `/subscriptions/`.
        /// - Returns: The identity.
        public static func resourceID(_ value: String) -> Self { Self(kind: .resourceID, value: value) }
    }

    private let resource: String
    private let identity: Identity
    private let environment: WorkloadEnvironment
    private let arcKeys: String

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - resource: The URI or ID of the resource. A scope that ends with `/.default` names the
    ///     same resource.
    ///   - identity: The identity. The default is the system-assigned one.
    ///   - environment: The variables, clocks and network.
    public init(
        resource: String,
        identity: Identity = .systemAssigned,
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) {
        self.init(resource: resource, identity: identity, environment, arcKeys: AzureArcKey.folder)
    }

    init(resource: String, identity: Identity, _ environment: WorkloadEnvironment, arcKeys: String) {
        let suffix = "/.default"
        self.resource = resource.hasSuffix(suffix) ? String(resource.dropLast(suffix.count)) : resource
        self.identity = identity
        self.environment = environment
        self.arcKeys = arcKeys
    }

    /// Requests a token, which has the expiry that the endpoint states.
    ///
    /// On a virtual machine whose endpoint is being updated (status 410), the source repeats a
    /// request for 70 seconds.
    ///
    /// - Throws: The errors of each request (``WorkloadEnvironment``); ``WorkloadIdentityError``
    ///   with the code `notConfigured` if the machine doesn't have the identity, or
    ///   `ambiguousIdentity` if it has several and none is named; with Azure Arc also
    ///   `unreadableFile` or `insecureFile`.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let kind = try AzureIdentityEndpoint(environment)
        var request = URLRequest(url: try kind.url(resource: resource, identity))
        for (name, value) in try kind.fields { request.setValue(value, forHTTPHeaderField: name) }
        let endpoint = kind.platformEndpoint(environment, identity)
        let requested = environment.timeSource.now()
        if case .arc = kind {
            let challenge = try await endpoint.response(to: request, until: requirements.deadline, expecting: [401])
            let key = try await AzureArcKey.read(for: challenge, folder: arcKeys, endpoint)
            request.setValue(key.expose { "Basic \($0)" }, forHTTPHeaderField: "Authorization")
        }
        let response = try await endpoint.response(to: request, until: requirements.deadline)
        return try endpoint.accessToken(
            in: response,
            .init(expiry: "expires_on"),
            requested: requested,
            for: requirements
        )
    }
}
