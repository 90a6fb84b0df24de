import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("Digests of the loopback server", .limitedConcurrency)
struct LoopbackDigestTests {
    private static let content = Data("hello".utf8)

    private func answer(
        _ wanted: HTTPHeaders,
        _ method: String = "GET",
        _ headers: HTTPHeaders = [:],
        representation: Data? = nil
    ) async throws -> HTTPHeaders {
        try await withLoopbackServer { server async throws in
            server.onAnyMethod("/") { request in
                let response = LoopbackResponse(headers: headers, body: Self.content)
                return (try? response.addingDigests(wantedBy: request, representation: representation)) ?? .status(500)
            }
            var request = URLRequest(url: server.url(for: "/"))
            request.httpMethod = method
            for field in wanted { request.setValue(field.value, forHTTPHeaderField: field.name) }
            return try await NetworkClient().response(for: request).headers
        }
    }

    @Test("Adds the digests that the request asks for, with the preferred algorithm")
    func wanted() async throws {
        let sha256 = try HTTPDigest(of: Self.content).fieldValue
        let sha512 = try HTTPDigest(of: Self.content, by: .sha512).fieldValue
        let none = try await answer([:])
        #expect(none["Content-Digest"] == nil && none["Repr-Digest"] == nil)
        let content = try await answer(["Want-Content-Digest": "sha-256=1, sha-512=2, md5=10"])
        #expect(content["Content-Digest"] == sha512 && content["Repr-Digest"] == nil)
        let both = try await answer(["Want-Content-Digest": "sha-256=1", "Want-Repr-Digest": "sha-512=0, sha-256=1"])
        #expect(both["Content-Digest"] == sha256 && both["Repr-Digest"] == sha256)
    }

    @Test(
        "Ignores malformed and unsupported preferences",
        arguments: ["sha-256=11", "sha-256", "md5=1", "sha-256=0", "("]
    )
    func ignored(value: String) async throws {
        #expect(try await answer(["Want-Content-Digest": value])["Content-Digest"] == nil)
    }

    @Test("Digests of HEAD and of parts, and given digests")
    func special() async throws {
        let wanted: HTTPHeaders = ["Want-Content-Digest": "sha-256=1", "Want-Repr-Digest": "sha-256=1"]
        let head = try await answer(wanted, "HEAD")
        #expect(head["Content-Digest"] == "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:")
        #expect(head["Repr-Digest"] == (try HTTPDigest(of: Self.content).fieldValue))
        let whole = Data("hello, world".utf8)
        let part = try await answer(wanted, representation: whole)
        #expect(part["Repr-Digest"] == (try HTTPDigest(of: whole).fieldValue))
        let given = try await answer(wanted, "GET", ["Content-Digest": "sha-256=:AAAA:"])
        #expect(given.values(for: "Content-Digest") == ["sha-256=:AAAA:"])
    }
}
