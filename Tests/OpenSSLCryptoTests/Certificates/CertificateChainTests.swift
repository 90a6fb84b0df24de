import OpenSSLCrypto
import TestSupport
import Testing

@Suite("Certificate chains", .computing, .tags(.concurrency)) struct CertificateChainTests {
    private static func verify(
        _ pems: [String],
        roots: [String] = [TestCertificate.root],
        at time: Int64 = TestCertificate.time
    ) throws -> [String] {
        let chain = try CertificateChain(pems.map { pem throws(CryptoError) in try Certificate(pem: pem) })
        let roots = try roots.map { try Certificate(pem: $0) }
        return try chain.verified(roots: roots, at: time).map { $0.pem() }
    }

    @Test("Verifies a chain to a root, with or without the root in it", .shows("RFC 5280")) func valid() throws {
        let path = [TestCertificate.leaf, TestCertificate.intermediate, TestCertificate.root]
        #expect(try Self.verify(path) == path)
        #expect(try Self.verify(Array(path.dropLast())) == path)
        #expect(try Self.verify([path[0], path[2], path[1]]) == path, "the order doesn't matter")
        #expect(try Self.verify(path, roots: [TestCertificate.otherRoot, TestCertificate.root]) == path)
        let withoutUsage = [TestCertificate.leafWithoutUsage, path[1], path[2]]
        #expect(try Self.verify(withoutUsage) == withoutUsage)
        #expect(try Self.verify([TestCertificate.rsa]) == [TestCertificate.rsa, TestCertificate.root])
    }

    @Test("Accepts a self-signed certificate only if it's a root") func selfSigned() throws {
        #expect(
            try Self.verify([TestCertificate.selfSigned], roots: [TestCertificate.selfSigned])
                == [TestCertificate.selfSigned]
        )
        #expect(code { _ = try Self.verify([TestCertificate.selfSigned]) } == .certificateNotTrusted)
    }

    @Test("Trusts only the given roots") func untrusted() {
        let path = [TestCertificate.leaf, TestCertificate.intermediate, TestCertificate.root]
        #expect(code { _ = try Self.verify(path, roots: []) } == .certificateNotTrusted)
        #expect(code { _ = try Self.verify(path, roots: [TestCertificate.selfSigned]) } == .certificateNotTrusted)
        #expect(code { _ = try Self.verify(path, roots: [TestCertificate.otherRoot]) } == .certificateNotTrusted)
        #expect(code { _ = try Self.verify(path, roots: [TestCertificate.intermediate]) } == .certificateNotTrusted)
        #expect(code { _ = try Self.verify([TestCertificate.leaf]) } == .certificateNotTrusted)
    }

    struct Refused: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let pems: [String]
        let words: String

        init(_ name: String, _ pems: [String], _ words: String) {
            testDescription = name
            self.pems = pems
            self.words = words
        }
    }

    static let refused = [
        Refused(
            "issued by a leaf",
            [TestCertificate.issuedByLeaf, TestCertificate.leaf, TestCertificate.intermediate],
            "CA"
        ),
        Refused(
            "path too long",
            [TestCertificate.leafTooDeep, TestCertificate.secondIntermediate, TestCertificate.intermediate],
            "path length"
        ),
        Refused("SHA-1", [TestCertificate.sha1], "too weak"),
        Refused("RSA with 1024 bits", [TestCertificate.weakKey], "too weak"),
        Refused("unknown critical extension", [TestCertificate.unknownCritical], "critical extension"),
        Refused(
            "outside a name constraint",
            [TestCertificate.outsideConstraint, TestCertificate.constrained],
            "subtree"
        ),
        Refused(
            "key usage without signatures",
            [TestCertificate.leafForEncryption, TestCertificate.intermediate],
            "digital signatures"
        ),
    ]

    @Test("Rejects an invalid chain with the reason", .shows("B3"), arguments: refused)
    func refusedChains(chain: Refused) throws {
        let error = try #require(error { _ = try Self.verify(chain.pems) })
        #expect(error.code == .certificateNotTrusted)
        #expect(error.message.contains(chain.words), "\(error)")
    }

    @Test("Checks the validity at the caller's time", .shows("B3")) func time() throws {
        let path = [TestCertificate.shortLived, TestCertificate.intermediate]
        let (first, last) = (TestCertificate.shortLivedNotBefore, TestCertificate.shortLivedNotAfter)
        #expect(try Self.verify(path, at: first).count == 3)
        // OpenSSL considers the last second to be after the validity period.
        #expect(try Self.verify(path, at: last - 1).count == 3)
        for time in [first - 86_400 * 400, last + 1, TestCertificate.time, 0, -1, 1 << 40] {
            let error = try #require(error { _ = try Self.verify(path, at: time) })
            #expect(error.code == .certificateNotValid)
        }
    }

    @Test("Rejects a chain after a change of any byte of the leaf") func mutations() throws {
        let der = [UInt8](pem: TestCertificate.leaf)
        let intermediate = try Certificate(pem: TestCertificate.intermediate)
        let root = try Certificate(pem: TestCertificate.root)
        for index in der.indices {
            var changed = der
            changed[index] ^= 0x01
            guard let leaf = try? Certificate(der: changed) else { continue }
            let chain = try CertificateChain([leaf, intermediate])
            #expect(code { _ = try chain.verified(roots: [root], at: TestCertificate.time) } != nil, "byte \(index)")
        }
    }

    @Test("Rejects chains that are empty or too long") func counts() throws {
        let leaf = try Certificate(pem: TestCertificate.leaf)
        #expect(code { _ = try CertificateChain([]) } == .invalidArgument)
        #expect(code { _ = try CertificateChain(Array(repeating: leaf, count: 11)) } == .invalidArgument)
        #expect(try CertificateChain(Array(repeating: leaf, count: 10)).certificates.count == 10)
    }

    @Test("Verifies one chain from many tasks concurrently") func concurrency() async throws {
        let path = [TestCertificate.leaf, TestCertificate.intermediate]
        let chain = try CertificateChain(path.map { pem throws(CryptoError) in try Certificate(pem: pem) })
        let root = try Certificate(pem: TestCertificate.root)
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask { @concurrent in
                    try (0..<20).count { _ in
                        try chain.verified(roots: [root], at: TestCertificate.time).count == 3
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(count == 160)
    }
}
