import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("Digests of downloads", .limitedConcurrency)
struct DownloadDigestTests {
    private static let hello = Data("hello".utf8)
    private static let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    private static let base64 = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="

    @Test("Accepts a file with the right digest from any source")
    func right() async throws {
        try await DownloadBench.with(Self.hello) { bench async throws in
            let known = DownloadOptions(existing: .replace, digest: try .sha256(hexadecimal: Self.sha256))
            _ = try await bench.client().download(bench.url, to: bench.target, options: known).value
            for (name, value) in [("Repr-Digest", "sha-256=:\(Self.base64):"), ("Digest", "sha-256=\(Self.base64)")] {
                bench.resource.change { $0.headers = HTTPHeaders([.init(name: name, value: value)]) }
                let options = DownloadOptions(existing: .replace)
                _ = try await bench.client().download(bench.url, to: bench.target, options: options).value
            }
            #expect(try Data(contentsOf: bench.target) == Self.hello)
        }
    }

    @Test("A wrong digest leaves neither the file nor its part", arguments: [true, false])
    func wrong(isKnown: Bool) async throws {
        try await DownloadBench.with(RangedResource.octets(3 << 20)) { bench async throws in
            bench.resource.change { $0.headers["Repr-Digest"] = "sha-256=:\(Self.base64):" }
            let options = DownloadOptions(digest: isKnown ? try .sha256(hexadecimal: Self.sha256) : .offered)
            let error = await failure {
                _ = try await bench.client(retries: 2).download(bench.url, to: bench.target, options: options).value
            }
            #expect(error?.code == .digestMismatch)
            #expect(bench.names.isEmpty)
            #expect(bench.server.requestCount == 1)
            let unchecked = DownloadOptions(digest: .unchecked)
            _ = try await bench.client().download(bench.url, to: bench.target, options: unchecked).value
            #expect(bench.names == ["target.bin"])
        }
    }

    @Test("Verifies the digest of the whole file after a resumption")
    func parts() async throws {
        try await DownloadBench.with(Self.hello) { bench async throws in
            try await bench.interrupt(after: 3)
            let options = DownloadOptions(digest: try .sha256(hexadecimal: Self.sha256))
            let file = try await bench.client().download(bench.url, to: bench.target, options: options).value
            #expect(file.resumedFrom == 3)
        }
    }
}
