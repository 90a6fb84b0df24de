import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

/// The samples of the Networking catalog.
@Suite("Networking samples", .limitedConcurrency)
struct NetworkingSnippets {
    @Test("Retries with a shared client", arguments: [(200, "ok"), (404, "none")])
    func sending(_ status: Int, _ expected: String) async throws {
        try await withLoopbackServer { server async throws in
            server.on(.get, "/", .text("ok", status: status))
            var outcome = ""
            let request = URLRequest(url: server.url(for: "/"))
            let use = { (data: Data) in outcome = String(decoding: data, as: UTF8.self) }
            let useNothing = { outcome = "none" }

            let client = NetworkClient(interceptors: [Retry.Policy.maxRetries(2)])
            do {
                let data = try await client.makeRequest(request)
                use(data)
            } catch let error as ServerError where error.errorCode == 404 {
                useNothing()
            }
            #expect(outcome == expected)
        }
    }

    @Test("Backs off between attempts")
    func waiting() {
        let client = NetworkClient(interceptors: [
            Retry.Policy.backoff(
                .exponential(.milliseconds(100), until: .maxDelay(.seconds(5)))
            )
        ])
        #expect(client.interceptors.count == 1)
    }

    @Test("Migrates STRV's RetryConfiguration")
    func migrating() {
        let policy = Retry.Policy.backoff(
            .constant(.seconds(2), until: .maxRetries(3)),
            when: .always
        )

        let metadata = Retry.Policy.Metadata(request: URLRequest(url: URL(filePath: "/")))
        let action = policy.shouldRetry(
            after: ServerError(endpoint: nil, errorCode: 500),
            state: .empty,
            metadata: metadata
        )
        guard case .retryAfter(.seconds(2)) = action else {
            Issue.record("not retried after two seconds: \(action)")
            return
        }
    }

    @Test("Limits the redirects of one request")
    func redirects() async throws {
        try await withLoopbackServer { server async throws in
            server.on(.get, "/", .status(302, headers: ["Location": "/there"]))
            server.on(.get, "/there", .text("there"))
            let client = NetworkClient()
            let request = URLRequest(url: server.url(for: "/"))

            let options = RequestOptions(
                redirects: .sameOrigin.upTo(3).protecting("X-Api-Key")
            )
            let response = try await client.response(for: request, options: options)
            print(
                "answered by \(response.url), after \(response.redirects.count) redirects"
            )
            #expect(response.redirects.count == 1)
        }
    }

    @Test("Sends a body from a file and streams a response to a file")
    func bodies() async throws {
        try await withLoopbackServer { server async throws in
            server.fallback { .text(String(decoding: $0.body, as: UTF8.self)) }
            let archive = FileManager.default.temporaryDirectory.appending(path: "snippet-\(UUID().uuidString)")
            try Data("archive".utf8).write(to: archive)
            defer { try? FileManager.default.removeItem(at: archive) }
            let file = try FileHandle(forUpdating: archive)
            let client = NetworkClient(configuration: .ephemeral)
            var request = URLRequest(url: server.url(for: "/"))
            request.httpMethod = "PUT"

            let upload = RequestOptions(
                body: try .file(archive),
                timeout: .seconds(3600),
                idleTimeout: .seconds(30)
            )
            _ = try await client.makeRequest(request, options: upload)

            let download = RequestOptions(timeout: .seconds(3600), maximumBodySize: 1 << 32)
            for try await part in try await client.stream(
                request,
                options: download
            ).stream {
                try file.write(contentsOf: part)
            }
            #expect(server.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["archive", ""])
        }
    }
}
