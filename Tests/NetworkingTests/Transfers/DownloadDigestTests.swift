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
            let both = "sha-256=:\(Self.base64):, \(try HTTPDigest(of: Self.hello, by: .sha512).fieldValue)"
            for digest in [DownloadDigest.offered, .required, .known(try HTTPDigest(of: Self.hello, by: .sha512))] {
                for field in HTTPDigest.Field.allCases {
                    bench.resource.change { $0.headers = HTTPHeaders([.init(name: field.rawValue, value: both)]) }
                    let options = DownloadOptions(existing: .replace, digest: digest)
                    _ = try await bench.client().download(bench.url, to: bench.target, options: options).value
                }
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

    @Test("Each offered algorithm and field has to match", arguments: [200, 206])
    func everyDigest(status: Int) async throws {
        let (right, wrong) = ("sha-256=:\(Self.base64):", "sha-512=:AAAA:")
        for field in HTTPDigest.Field.allCases {
            try await DownloadBench.with(Self.hello) { bench async throws in
                if status == 206 { try await bench.interrupt(after: 3) }
                bench.resource.change { $0.headers[field.rawValue] = "\(right), \(wrong)" }
                let error = await failure { _ = try await bench.client().download(bench.url, to: bench.target).value }
                #expect(error?.code == .digestMismatch)
                #expect(bench.names.isEmpty)
            }
        }
    }

    @Test("A part's Content-Digest is about the part", arguments: ["lo", "hello", "l"])
    func partDigest(digested: String) async throws {
        try await DownloadBench.with(Self.hello) { bench async throws in
            try await bench.interrupt(after: 3)
            let value = try HTTPDigest(of: Data(digested.utf8)).fieldValue
            bench.resource.change { $0.headers["Content-Digest"] = value }
            let error = await failure { _ = try await bench.client().download(bench.url, to: bench.target).value }
            #expect(error?.code == (digested == "lo" ? nil : .digestMismatch))
            #expect(bench.names == (digested == "lo" ? ["target.bin"] : []))
        }
    }

    @Test("The digest of the first response is remembered for the resumed file", arguments: HTTPDigest.Field.allCases)
    func remembered(field: HTTPDigest.Field) async throws {
        for isRight in [true, false] {
            try await DownloadBench.with(Self.hello) { bench async throws in
                let value = try HTTPDigest(of: Data((isRight ? "hello" : "other").utf8)).fieldValue
                bench.resource.change { $0.headers[field.rawValue] = value }
                try await bench.interrupt(after: 3)
                bench.resource.change { $0.headers = [:] }
                let options = DownloadOptions(digest: .required)
                let error = await failure {
                    _ = try await bench.client().download(bench.url, to: bench.target, options: options).value
                }
                #expect(error?.code == (isRight ? nil : .digestMismatch))
                #expect(bench.resource.ranges == [nil, "bytes=3-"])
            }
        }
    }

    @Test("A required digest is asked for, and missing is an error")
    func required() async throws {
        try await DownloadBench.with(Self.hello) { bench async throws in
            for value in [nil, "md5=:AAAA:"] {
                bench.resource.change { $0.headers["Repr-Digest"] = value }
                let options = DownloadOptions(digest: .required)
                let error = await failure {
                    _ = try await bench.client().download(bench.url, to: bench.target, options: options).value
                }
                #expect(error?.code == .digestMissing)
                #expect(bench.names.isEmpty)
                #expect(bench.server.requests.last?.headers["Want-Repr-Digest"] == "sha-256=10, sha-512=9")
            }
            _ = try await bench.client().download(bench.url, to: bench.target).value
            #expect(bench.server.requests.last?.headers["Want-Repr-Digest"] == nil)
        }
    }

    @Test("A malformed digest fails the download", arguments: ["sha-256=1", "sha-256=:\(base64)=:", "sha-256"])
    func malformed(value: String) async throws {
        try await DownloadBench.with(Self.hello) { bench async throws in
            bench.resource.change { $0.headers["Repr-Digest"] = value }
            let error = await failure { _ = try await bench.client().download(bench.url, to: bench.target).value }
            #expect(error?.code == .invalidField)
            #expect(bench.names.isEmpty)
        }
    }

    @Test("The obsolete Digest field is ignored")
    func obsolete() async throws {
        try await DownloadBench.with(Self.hello) { bench async throws in
            bench.resource.change { $0.headers["Digest"] = "sha-256=AAAA" }
            _ = try await bench.client().download(bench.url, to: bench.target).value
            #expect(bench.names == ["target.bin"])
        }
    }

    @Test("The digest of content that was decoded can't be verified")
    func decoded() async throws {
        let coded = Data(GzipText.coded("hello"))
        let headers: HTTPHeaders = [
            "Content-Encoding": "gzip", "Repr-Digest": try HTTPDigest(of: coded).fieldValue,
        ]
        try await DownloadBench.with { bench async throws in
            bench.resource.change { $0.lie = { _, _ in LoopbackResponse(headers: headers, body: coded) } }
            let error = await failure { _ = try await bench.client().download(bench.url, to: bench.target).value }
            #expect(error?.code == .digestUnverifiable)
            #expect(bench.names.isEmpty)
            // A known digest is of the file.
            let options = DownloadOptions(digest: try .sha256(hexadecimal: Self.sha256))
            _ = try await bench.client().download(bench.url, to: bench.target, options: options).value
            #expect(try Data(contentsOf: bench.target) == Self.hello)
        }
    }

    @Test("A digest in the trailer fields counts", arguments: [true, false])
    func trailers(isRight: Bool) async throws {
        let value = try HTTPDigest(of: Data((isRight ? "hello" : "other").utf8)).fieldValue
        try await DownloadBench.with { bench async throws in
            bench.resource.change {
                $0.lie = { _, _ in .chunked([Self.hello], trailers: ["Repr-Digest": value]) }
            }
            let options = DownloadOptions(digest: .required)
            let error = await failure {
                let file = try await bench.client().download(bench.url, to: bench.target, options: options).value
                #expect(file.response.trailers["Repr-Digest"] == value)
            }
            #expect(error?.code == (isRight ? nil : .digestMismatch))
        }
    }
}
