import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

/// The samples about digests and structured fields.
@Suite("Digest samples", .limitedConcurrency)
struct DigestSnippets {
    private static let content = Data("all of it".utf8)

    private func withPlaces(_ test: (LoopbackServer, URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sample-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let archive = folder.appending(path: "archive.zip")
        try Self.content.write(to: archive)
        try await withLoopbackServer { server async throws in
            server.onAnyMethod("/inbox") { .text($0.headers["Content-Digest"] ?? "none") }
            server.on(.get, "/archive.zip") { request in
                let response = LoopbackResponse(headers: ["Cache-Status": "Origin; hit"], body: Self.content)
                return (try? response.addingDigests(wantedBy: request)) ?? .status(500)
            }
            try await test(server, archive)
        }
    }

    @Test("Sends the digest of a file")
    func sending() async throws {
        try await withPlaces { server, archive in
            let url = server.url(for: "/inbox")

            let client = NetworkClient(interceptors: [DigestSender()])
            let upload = client.upload(try .file(archive), to: url, method: .put)

            let answer = try await upload.value.body
            #expect(answer == Data(try HTTPDigest(of: Self.content).fieldValue.utf8))
        }
    }

    @Test("Sends a given digest")
    func given() async throws {
        try await withPlaces { server, _ in
            let (url, client) = (server.url(for: "/inbox"), NetworkClient())
            let digest = try HTTPDigest(of: Self.content)
            let parts = AsyncStream<Data> { continuation in
                continuation.yield(Self.content)
                continuation.finish()
            }

            let upload = client.upload(
                EndpointBody(.once(parts), contentType: "application/zip"),
                to: url,
                headers: ["Content-Digest": digest.fieldValue]
            )

            #expect(try await upload.value.body == Data(digest.fieldValue.utf8))
        }
    }

    @Test("Verifies a streamed response")
    func verifying() async throws {
        try await withPlaces { server, archive in
            let request = URLRequest(url: server.url(for: "/archive.zip"))
            let file = try FileHandle(forWritingTo: archive)

            let client = NetworkClient(interceptors: [DigestVerifier(isRequired: true)])
            let response = try await client.stream(request)
            for try await part in response.stream { try file.write(contentsOf: part) }
            // Verified here, because the loop has ended without an error.

            #expect(try Data(contentsOf: archive) == Self.content)
        }
    }

    @Test("Reads a structured field")
    func structuredField() async throws {
        try await withPlaces { server, _ in
            let response = try await NetworkClient().response(for: URLRequest(url: server.url(for: "/archive.zip")))

            let lines = response.headers.values(for: "Cache-Status")
            for case .item(let cache) in try StructuredField.List(parsing: lines).members {
                print(cache.value, cache.parameters["hit"] == .boolean(true))
            }

            #expect(try StructuredField.List(parsing: lines).serialized() == "Origin;hit")
        }
    }
}
