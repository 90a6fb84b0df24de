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
        "Where tokens are asked for"
    )
    private static let issuer = Option<NonEmptyText>(
        "issuer",
        value: "ISSUER",
        section: section,
        "The server's identifier, to which assertions are addressed (default: its token endpoint)"
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
        "The longest time that getting a token may take, repetitions included (default: 30s)"
    )

    static let members = [
        ProfileMember(tokenEndpoint), ProfileMember(issuer), ProfileMember(roots), ProfileMember(timeout),
    ]

    /// How messages call the token endpoint.
    let name: String
    let timeout: Duration
    /// Whether the server has an identifier other than its token endpoint.
    let hasIssuer: Bool
    let server: AuthorizationServer
    private let roots: InputFile?

    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard let endpoint = try arguments.value(of: Self.tokenEndpoint) else {
            throw arguments.usageError("where are tokens asked for? --token-endpoint URL or --profile NAME says it")
        }
        let issuer = try arguments.value(of: Self.issuer)?.text
        name = endpoint.name
        server = AuthorizationServer(issuer: issuer ?? endpoint.url.absoluteString, tokenEndpoint: endpoint.url)
        hasIssuer = issuer != nil
        roots = try arguments.value(of: Self.roots)
        timeout = .seconds(try arguments.value(of: Self.timeout)?.seconds ?? 30)
    }

    var takesStandardInput: Bool { roots?.isStandardInput ?? false }

    /// What asks the server and, if there is one, the API.
    ///
    /// - Throws: ``CommandFailure`` if the roots can't be read, or this machine lacks what the client works on.
    func transport() throws(CommandFailure) -> CurlTransport {
        let tls = TLSConfiguration(trustRoots: try RootsOption.roots(roots))
        do throws(NetworkError) {
            return try CurlTransport(configuration: CurlTransport.Configuration(tls: tls))
        } catch {
            throw CommandFailure(.failed, error.message, cause: error)
        }
    }
}
