import Foundation
import Networking
import OAuth2
import TokenGeneration

/// The metadata of an authorization server, cached across processes.
struct ServerMetadata: Sendable {
    /// The lifetime of cached metadata, and the additional lifetime while the server is
    /// unreachable, in seconds.
    private static let lifetime = 86_400.0
    private static let staleLifetime = 7 * 86_400.0

    /// The use of cached metadata.
    enum Use: Sendable {
        /// Uses cached metadata until it expires.
        case kept
        /// Uses cached metadata only if the server is unreachable.
        case renewed
        /// Neither reads nor writes the cache.
        case none
    }

    let issuer: String
    let use: Use
    /// The timeout for each metadata document.
    let timeout: Duration

    /// Returns the server with its metadata.
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

    /// The path of the cache file, or `nil` if the user has no cache folder.
    private var path: String? {
        let name = Secret(issuer).fingerprint.map { String($0, radix: 16) }.joined(separator: "-")
        return (try? UserFolder.cache.path(orElse: "")).map { "\($0)/servers/\(name).json" }
    }

    /// Reads cached metadata, but only from a file that no other user could have written: the
    /// metadata determines which server receives the client's secrets.
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

    /// Writes metadata to the cache, or does nothing if that fails, so that the next process
    /// fetches it again.
    private static func write(_ server: AuthorizationServer, fetched: Double, to path: String) {
        let object: JSONObject = [
            "issuer": .string(server.issuer), "fetched": .number(JSONNumber(Int(exactly: fetched.rounded()) ?? 0)),
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
