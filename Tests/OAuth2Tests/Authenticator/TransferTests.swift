import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing

/// Tests of downloads and uploads with an authenticator.
@Suite("OAuth2Authenticator: transfers", .limitedConcurrency, .tags(.concurrency))
struct TransferTests {
    /// An API behind an authorization server, with files at `/files/…` and an inbox for uploads at
    /// `/inbox`.
    private struct Bench {
        let authorization: MockAuthorizationServer
        let api: LoopbackServer
        let client: NetworkClient
        let folder: URL

        private static let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 8) }
        static var content: Data { Data(bytes) }

        /// - Parameter revokingAt: The numbers of the accepted requests in whose response the
        ///   server revokes all tokens.
        init(revokingAt revocations: Set<Int>) throws {
            let authorization = try MockAuthorizationServer.start(clients: [.init(id: "reports", secret: "s3cret")])
            let (accepted, content) = (Accepted(), Self.content)
            let serve = authorization.protecting { request in
                let number = accepted.next()
                guard request.method == .get else { return .text("\(request.body.count)") }
                let first = request.headers["Range"].flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
                var headers: HTTPHeaders = ["ETag": "\"v1\""]
                if first > 0 { headers["Content-Range"] = "bytes \(first)-\(content.count - 1)/\(content.count)" }
                let response = LoopbackResponse(
                    status: first > 0 ? 206 : 200,
                    headers: headers,
                    body: Data(content.dropFirst(first))
                )
                guard revocations.contains(number) else { return response }
                // The token and the connection are gone, so the rest needs another token.
                authorization.revokeAccessTokens()
                return response.cut(.afterBody(octets: 50_000))
            }
            api = try LoopbackServer.start { routes in
                routes.on(.get, "/files/*", serve)
                routes.on(.put, "/inbox", serve)
            }
            let authenticator = OAuth2Authenticator(
                client: OAuth2Client(
                    server: authorization.metadata,
                    clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret"))
                ),
                grant: ClientCredentialsGrant(),
                resources: [api.baseURL]
            )
            client = NetworkClient(
                interceptors: [authenticator, Retry.Policy.maxRetries(1)],
                options: NetworkClient.Options(maximumTransfers: 4)
            )
            self.authorization = authorization
            folder = FileManager.default.temporaryDirectory.appending(path: "transfers-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }

        func stop() async {
            await api.stop()
            await authorization.stop()
            try? FileManager.default.removeItem(at: folder)
        }
    }

    private final class Accepted: Sendable {
        private let count = Atomic<Int>(0)

        func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
    }

    @Test("Tokens revoked in the middle of a long queue lose no transfer")
    func revokedInTheQueue() async throws {
        let bench = try Bench(revokingAt: [7, 20, 33])
        let downloads = (0..<40).map { number in
            bench.client.download(
                bench.api.url(for: "/files/\(number)"),
                to: bench.folder.appending(path: "\(number)")
            )
        }
        let uploads = (0..<10).map { _ in
            bench.client.upload(.data(Bench.content), to: bench.api.url(for: "/inbox"), method: .put)
        }
        for download in downloads {
            let file = try await download.value
            #expect(try Data(contentsOf: file.url) == Bench.content)
        }
        for upload in uploads { #expect(try await upload.value.body == Data("200000".utf8)) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.path).count == 40)
        // Truncated downloads resumed where they stopped, with the new token.
        let ranges = bench.api.requests.compactMap { $0.headers["Range"] }
        #expect(ranges.contains("bytes=50000-"))
        // The first token, and one for each revocation. Late rejections cause no further refresh.
        #expect(bench.authorization.tokenRequestCount == 4)
        #expect(bench.client.transfers.isEmpty)
        await bench.stop()
    }

    @Test("Reports the 401 for an upload whose body can be read only once", .shows("R5"))
    func refusedOnce() async throws {
        let bench = try Bench(revokingAt: [])
        _ = try await bench.client.upload(.data(Data("x".utf8)), to: bench.api.url(for: "/inbox"), method: .put).value
        bench.authorization.revokeAccessTokens()
        let parts = AsyncStream<Data> { continuation in
            continuation.yield(Data("once".utf8))
            continuation.finish()
        }
        let source = EndpointBody(.once(parts), contentType: nil)
        let upload = bench.client.upload(source, to: bench.api.url(for: "/inbox"), method: .put)
        let error = await #expect(throws: ServerError.self) { try await upload.value }
        #expect(error?.errorCode == 401)
        guard case .bodyNotReplayable = error?.retry?.reason else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(bench.api.requests.filter { $0.body == Data("once".utf8) }.count == 1)
        await bench.stop()
    }
}
