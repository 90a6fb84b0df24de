import Foundation
import Networking
import OAuth2
import TokenGeneration

/// What a server has said about itself, kept in the user's cache so that not every process has to ask.
struct ServerMetadata: Sendable {
    /// How long it is used without asking again, and how long after that while the server can't be asked.
    private static let lifetime = 86_400.0
    private static let staleLifetime = 7 * 86_400.0

    /// What is done with what the server has said before.
    enum Use: Sendable {
        /// It is used as long as it is good.
        case kept
        /// It is used only if the server can't be asked.
        case renewed
        /// It is not looked at, and nothing is kept.
        case none
    }

    let issuer: String
    let use: Use
    /// How long the server may take for each of its documents.
    let timeout: Duration

    /// How the server is asked.
    var options: AuthorizationServerDiscovery.Options {
        var options = AuthorizationServerDiscovery.Options()
        options.timing.timeout = timeout
        return options
    }

    /// The server as it says it is.
    ///
    /// - Parameter client: What asks.
    /// - Returns: The server.
    /// - Throws: `OAuth2Error`.
    func server(_ client: NetworkClient) async throws -> AuthorizationServer {
        let now = Date().timeIntervalSince1970
        let path = use == .none ? nil : path
        let kept = path.flatMap { Self.read($0, issuer) }
        if let kept, use == .kept, (0...Self.lifetime).contains(now - kept.fetched) { return kept.server }
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

    /// The file; `nil` if the user has no folder for it.
    private var path: String? {
        let name = Secret(issuer).fingerprint.map { String($0, radix: 16) }.joined(separator: "-")
        return (try? UserFolder.cache.path(orElse: "")).map { "\($0)/servers/\(name).json" }
    }

    /// What was kept, unless somebody else can have written it: whoever says where the token endpoint is gets the secrets.
    private static func read(_ path: String, _ issuer: String) -> (server: AuthorizationServer, fetched: Double)? {
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

    /// Keeps what was said; if that can't be, the next process asks again.
    private static func write(_ server: AuthorizationServer, fetched: Double, to path: String) {
        let object: JSONObject = [
            "issuer": .string(server.issuer), "fetched": .number(JSONNumber(Int(fetched))),
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
