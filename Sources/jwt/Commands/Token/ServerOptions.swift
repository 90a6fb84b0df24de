import Foundation
import Networking
import OAuth2
import TokenGeneration

struct ServerOptions: Sendable {
    static let tokenEndpoint = Option<ServiceURL>("token-endpoint")
    static let issuer = Option<String>("issuer", value: "ISSUER")
    private static let authorizationEndpoint = Option<ServiceURL>("authorization-endpoint")
    private static let deviceEndpoint = Option<ServiceURL>("device-endpoint")
    private static let roots = RootsOption.option
    static let timeout = Option<TimeSpan>("token-timeout")

    static let members = OptionDefinition.table([
        tokenEndpoint: "The token endpoint (default: from the issuer's metadata)",
        issuer: """
        The server's issuer identifier, a URL; provides the metadata (RFC 8414, OpenID Connect Discovery) unless you \
        pass --token-endpoint, and the audience of client assertions
        """,
        authorizationEndpoint: "The endpoint where users sign in with a browser (default: from the issuer's metadata)",
        deviceEndpoint: "The endpoint where users sign in on another device (default: from the issuer's metadata)",
        roots: nil,
        timeout:
            "The timeout for getting a token, and for each metadata document, including retries; a request to --store gets a tenth, but at least 3s (default: 30s)",
    ])

    /// The options that also apply to a request without a token.
    static let connectionOptions = [roots.definition, timeout.definition]

    static func timeout(in arguments: ParsedArguments) -> Duration {
        arguments.value(of: timeout)?.duration ?? .seconds(30)
    }

    let name: String
    /// The server as specified by the options, or `nil` if its metadata must be fetched.
    private let known: AuthorizationServer?
    private let issuer: String
    private let arguments: ParsedArguments

    var timeout: Duration { Self.timeout(in: arguments) }
    var hasIssuer: Bool { arguments.contains(Self.issuer) }
    var roots: InputFile? { arguments.value(of: Self.roots) }

    init(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        let endpoint = arguments.value(of: Self.tokenEndpoint)
        let issuer = arguments.value(of: Self.issuer)
        guard let identifier = issuer ?? endpoint?.url.absoluteString else {
            throw arguments.usageError(
                "missing authorization server; pass --token-endpoint URL, --issuer ISSUER or --profile NAME"
            )
        }
        // Discovery requires a URL, unlike the other uses of an issuer.
        if endpoint == nil { let _: ServiceURL = try arguments.parse(identifier, named: Self.issuer.spelling) }
        self.issuer = identifier
        name = endpoint?.name ?? identifier
        known = endpoint.map { AuthorizationServer(issuer: identifier, tokenEndpoint: $0.url) }
    }

    func server(_ client: NetworkClient, _ use: ServerMetadata.Use) throws(CommandFailure) -> AuthorizationServer {
        var server: AuthorizationServer
        if let known {
            server = known
        } else {
            let metadata = ServerMetadata(issuer: issuer, use: use, timeout: timeout)
            server = try CommandFailure.reporting(at: name) {
                do {
                    return try AsynchronousWork.result { try await metadata.server(client) }
                } catch let error as OAuth2Error {
                    throw CommandFailure(error, at: name)
                }
            }
        }
        if let endpoint = arguments.value(of: Self.authorizationEndpoint) {
            server.authorizationEndpoint = endpoint.url
        }
        if let endpoint = arguments.value(of: Self.deviceEndpoint) { server.deviceAuthorizationEndpoint = endpoint.url }
        return server
    }

    static func transport(
        roots: InputFile?,
        _ identity: ClientIdentity? = nil
    ) throws(CommandFailure) -> CurlTransport {
        let tls = TLSConfiguration(trustRoots: try RootsOption.roots(roots), clientIdentity: identity)
        return try CommandFailure.reporting {
            try CurlTransport(configuration: CurlTransport.Configuration(tls: tls))
        }
    }
}

struct ServerMetadata: Sendable {
    /// The lifetime of cached metadata, and the lifetime while the server is unreachable, in
    /// seconds.
    private static let lifetime = 86_400.0
    private static let staleLifetime = 7 * 86_400.0

    enum Use: Sendable {
        case kept
        /// Uses cached metadata only if the server is unreachable.
        case renewed
        case none
    }

    let issuer: String
    let use: Use
    let timeout: Duration

    func server(_ client: NetworkClient) async throws -> AuthorizationServer {
        let now = Date().timeIntervalSince1970
        let path = use == .none ? nil : path
        let kept = path.flatMap { Self.read($0, issuer) }
        if let kept, use == .kept, (0...Self.lifetime).contains(now - kept.fetched) { return kept.server }
        var options = AuthorizationServerDiscovery.Options()
        options.timing.timeout = timeout
        do {
            let server = try await AuthorizationServerDiscovery(issuer: issuer, client: client, options: options)
                .server()
            if let path { Self.write(server, fetched: now, to: path) }
            return server
        } catch let error as OAuth2Error where error.isRetryable {
            guard let kept, (0...Self.staleLifetime).contains(now - kept.fetched) else { throw error }
            return kept.server
        }
    }

    private var path: String? {
        let name = Secret(issuer).fingerprint.map { String($0, radix: 16) }.joined(separator: "-")
        return (try? UserFolder.cache.path(orElse: "")).map { "\($0)/servers/\(name).json" }
    }

    /// Reads cached metadata, but only from a file that no other user could have written: the
    /// metadata determines which server receives the client's secrets.
    static func read(_ path: String, _ issuer: String) -> (server: AuthorizationServer, fetched: Double)? {
        guard let bytes = try? ownContent(path), let object = try? JSONObject(parsing: Data(bytes)),
            object["issuer"] == .string(issuer),
            let fetched = object["fetched"]?.number?.double, let metadata = object["metadata"]?.object,
            let server = try? AuthorizationServer(metadata: metadata, issuer: issuer)
        else { return nil }
        return (server, fetched)
    }

    private static func ownContent(_ path: String) throws(FileDescriptor.Failure) -> [UInt8]? {
        let file = try FileDescriptor(reading: path)
        return file.isOwn ? try file.readAll(limit: 1 << 20) : nil
    }

    /// Writes metadata to the cache, or does nothing if that fails, so that the next process
    /// fetches it again.
    ///
    /// The time is rounded down: a process that starts at once would ignore one in the future.
    static func write(_ server: AuthorizationServer, fetched: Double, to path: String) {
        let object: JSONObject = [
            "issuer": .string(server.issuer), "fetched": .number(JSONNumber(Int(exactly: fetched.rounded(.down)) ?? 0)),
            "metadata": .object(server.metadata),
        ]
        let folder = URL(filePath: path).deletingLastPathComponent().path
        try? FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        try? StagedFile(path: path, mode: 0o600, octets: object.serializedBytes(), replaces: true).commit()
    }
}
