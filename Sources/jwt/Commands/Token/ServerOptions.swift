import Foundation
import Networking
import OAuth2

/// The options that say whom to ask for a token, and how.
struct ServerOptions: Sendable {
    static let section = "Authorization server"

    private static let tokenEndpoint = Option<ServiceURL>(
        "token-endpoint",
        value: "URL",
        section: section,
        "Where tokens are asked for (default: where the issuer says)"
    )
    private static let issuer = Option<NonEmptyText>(
        "issuer",
        value: "ISSUER",
        section: section,
        """
        The server's identifier: its URL, whose metadata say the rest (RFC 8414, OpenID Connect Discovery) unless \
        --token-endpoint does; assertions are addressed to it
        """
    )
    private static let authorizationEndpoint = Option<ServiceURL>(
        "authorization-endpoint",
        value: "URL",
        section: section,
        "Where users sign in in a browser (default: where the issuer says)"
    )
    private static let deviceEndpoint = Option<ServiceURL>(
        "device-endpoint",
        value: "URL",
        section: section,
        "Where users sign in on another device (default: where the issuer says)"
    )
    private static let roots = Option<InputFile>(
        "roots",
        value: "FILE",
        section: section,
        "The only root certificates under which a server is trusted, PEM or DER (default: the system's)"
    )
    private static let timeout = Option<TimeSpan>(
        "token-timeout",
        value: "DURATION",
        section: section,
        "The longest time that getting a token may take, and each of the issuer's documents before, repetitions included (default: 30s)"
    )

    static let members = [
        ProfileMember(tokenEndpoint), ProfileMember(issuer), ProfileMember(authorizationEndpoint),
        ProfileMember(deviceEndpoint), ProfileMember(roots), ProfileMember(timeout),
    ]

    /// How messages call the server.
    let name: String
    let timeout: Duration
    /// Whether the server has an identifier other than its token endpoint.
    let hasIssuer: Bool
    /// The server as far as the options say it; `nil` if it says itself where its endpoints are.
    private let known: AuthorizationServer?
    private let issuer: String
    private let authorizationEndpoint: URL?
    private let deviceEndpoint: URL?
    private let roots: InputFile?

    init(_ arguments: ParsedArguments) throws(UsageError) {
        let endpoint = try arguments.value(of: Self.tokenEndpoint)
        let issuer = try arguments.value(of: Self.issuer)?.text
        guard let identifier = issuer ?? endpoint?.url.absoluteString else {
            throw arguments.usageError(
                "where are tokens asked for? --token-endpoint URL, --issuer ISSUER or --profile NAME says it"
            )
        }
        if endpoint == nil, let issuer { try Self.checkLookup(of: issuer, arguments) }
        self.issuer = identifier
        name = endpoint?.name ?? identifier
        known = endpoint.map { AuthorizationServer(issuer: identifier, tokenEndpoint: $0.url) }
        hasIssuer = issuer != nil
        authorizationEndpoint = try arguments.value(of: Self.authorizationEndpoint)?.url
        deviceEndpoint = try arguments.value(of: Self.deviceEndpoint)?.url
        roots = try arguments.value(of: Self.roots)
        timeout = .seconds(try arguments.value(of: Self.timeout)?.seconds ?? 30)
    }

    /// An issuer that says nothing but who it is may be any text; one that is looked up has to be a URL.
    private static func checkLookup(of issuer: String, _ arguments: ParsedArguments) throws(UsageError) {
        do throws(ValueError) {
            _ = try ServiceURL(argument: issuer)
        } catch {
            throw arguments.usageError("--issuer \(error.message)")
        }
    }

    /// The server with its endpoints.
    ///
    /// - Parameters:
    ///   - client: What asks the server for them, if need be.
    ///   - use: What is done with what it has said before.
    /// - Returns: The server.
    /// - Throws: ``CommandFailure``.
    func server(_ client: NetworkClient, _ use: ServerMetadata.Use) throws(CommandFailure) -> AuthorizationServer {
        var server: AuthorizationServer
        if let known {
            server = known
        } else {
            let metadata = ServerMetadata(issuer: issuer, use: use, timeout: timeout)
            do {
                server = try AsynchronousWork.result { try await metadata.server(client) }
            } catch let error as OAuth2Error {
                throw CommandFailure(error, at: name)
            } catch {
                throw CommandFailure(.failed, "\(name): \(error)", cause: error)
            }
        }
        server.authorizationEndpoint = authorizationEndpoint ?? server.authorizationEndpoint
        server.deviceAuthorizationEndpoint = deviceEndpoint ?? server.deviceAuthorizationEndpoint
        return server
    }

    var takesStandardInput: Bool { roots?.isStandardInput ?? false }

    /// What asks the server and, if there is one, the API.
    ///
    /// - Parameter identity: What it shows in the handshake, if anything.
    /// - Returns: The transport.
    /// - Throws: ``CommandFailure`` if the roots can't be read, or this machine lacks what the client works on.
    func transport(_ identity: ClientIdentity?) throws(CommandFailure) -> CurlTransport {
        let tls = TLSConfiguration(trustRoots: try RootsOption.roots(roots), clientIdentity: identity)
        do throws(NetworkError) {
            return try CurlTransport(configuration: CurlTransport.Configuration(tls: tls))
        } catch {
            throw CommandFailure(.failed, error.message, cause: error)
        }
    }
}
