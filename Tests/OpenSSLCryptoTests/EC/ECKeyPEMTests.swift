import OpenSSLCrypto
import TestSupport
import Testing

@Suite("EC keys in PEM and DER", .computing) struct ECKeyPEMTests {
    @Test("Accepts missing and compressed points, and EC parameters", .shows("RFC 5915, RFC 5480")) func variants()
        throws
    {
        let expected = try ECPublicKey(pem: TestKey.p256.spki)
        for pem in [TestPEM.sec1WithParameters, TestPEM.sec1WithoutPoint, TestPEM.pkcs8WithoutPoint] {
            #expect(try ECPrivateKey(pem: pem).publicKey == expected)
        }
        #expect(try ECPublicKey(pem: TestPEM.compressedPoint) == expected)
    }

    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let words: String
        let apply: @Sendable (String) -> String

        init(_ name: String, _ words: String = "", _ apply: @escaping @Sendable (String) -> String) {
            testDescription = name
            self.words = words
            self.apply = apply
        }
    }

    static let tolerated = [
        Change("CR LF") { $0.replacing("\n", with: "\r\n") },
        Change("CR") { $0.replacing("\n", with: "\r") },
        Change("no trailing line break") { String($0.dropLast()) },
        Change("blank lines after") { $0 + "\n \n\t\n" },
        Change("blanks around lines") { $0.replacing("\n", with: " \t\n  ") },
        Change("byte order mark") { "\u{FEFF}" + $0 },
        Change("text before") { "Bag Attributes\n    friendlyName: key\nKey Attributes: <No Attributes>\n" + $0 },
        Change("one long line") { pem in
            let lines = pem.split(separator: "\n")
            return "\(lines[0])\n\(lines[1..<lines.count - 1].joined())\n\(lines[lines.count - 1])\n"
        },
    ]

    @Test(
        "Ignores line break style, blanks, a byte order mark and preceding text",
        .shows("RFC 7468, RFC 1421"),
        arguments: tolerated
    )
    func tolerance(change: Change) throws {
        let expected = try ECPublicKey(pem: TestKey.p256.spki)
        #expect(try ECPrivateKey(pem: change.apply(TestKey.p256.pkcs8)).publicKey == expected)
        #expect(try ECPrivateKey(pem: change.apply(TestKey.p256.sec1)).publicKey == expected)
        #expect(try ECPublicKey(pem: change.apply(TestKey.p256.spki)) == expected)
    }

    static let refused = [
        Change("empty", "no PEM block") { _ in "" },
        Change("not PEM", "no PEM block") { _ in "not a key" },
        Change("escaped line breaks", "line breaks") { $0.replacing("\n", with: "\\n") },
        Change("too few dashes", "no PEM block") { $0.replacing("-----", with: "----") },
        Change("text after", "has text after the block") { $0 + "garbage\n" },
        Change("two keys", "only one key") { $0 + $0 },
        Change("no end", "has no end") { $0.replacing("-----END", with: "END") },
        Change("end only", "that wasn't started") { $0.replacing("-----BEGIN", with: "BEGIN") },
        Change("begin twice", "Line 2 isn't the end") { "-----BEGIN PRIVATE KEY-----\n" + $0 },
        Change("another label at the end", "but line 1 started") { $0.replacing("END P", with: "END NO P") },
        Change("not base64", "Line 3 of the PEM text isn't base64") { $0.onThirdLine("!") },
        Change("padding in the middle", "isn't base64") { $0.onThirdLine("=") },
        Change("a digit too few", "truncated") { $0.droppingDigit() },
        Change("no contents", "is empty") { _ in "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n" },
        Change("unreadable label", "label") { $0.replacing("KEY", with: "k\u{7}Y") },
        Change("long label", "label") { $0.replacing("KEY", with: String(repeating: "KEY", count: 30)) },
        Change("header without a blank line", "blank line") { $0.replacing("KEY-----\nM", with: "KEY-----\nA: b\nM") },
        Change("header without an end", "blank line") { _ in "-----BEGIN PRIVATE KEY-----\nA: b" },
        Change("larger than 64 KiB", "65536") { $0 + String(repeating: "\n", count: 65_536) },
    ]

    @Test("Rejects malformed text with the line or the reason", .shows("RFC 7468, RFC 1421"), arguments: refused)
    func malformed(change: Change) throws {
        let pem = change.apply(TestKey.p256.pkcs8)
        let error = try #require(error { _ = try ECPrivateKey(pem: pem) })
        #expect(error.code == .malformedKey)
        #expect(error.message.contains(change.words), "\(error)")
        #expect(!error.description.contains("MIGHAgEAMBMGByqGSM49"))
        #expect(code { _ = try ECPublicKey(pem: change.apply(TestKey.p256.spki)) } == .malformedKey)
    }

    @Test("Doesn't quote key material on the line of the label") func labelWithKey() throws {
        let pem = "-----BEGIN EC PRIVATE KEY-----MHcCAQEEICCgIv4j-----END EC PRIVATE KEY-----"
        let error = try #require(error { _ = try ECPrivateKey(pem: pem) })
        #expect(error.code == .malformedKey)
        #expect(!error.description.contains("MHcCAQEE"))
    }

    @Test("Names the label of a rejected key") func namedLabel() throws {
        #expect(try #require(error { _ = try ECPrivateKey(pem: TestKey.p256.spki) }).message.contains("PUBLIC KEY"))
    }

    @Test("Rejects unsupported curves, explicit parameters and hybrid points") func wrongCurve() {
        for pem in [TestPEM.explicitSEC1, TestPEM.explicitPKCS8, TestPEM.brainpoolSEC1] {
            #expect(code { _ = try ECPrivateKey(pem: pem) } == .unsupportedCurve)
        }
        #expect(code { _ = try ECPublicKey(pem: TestPEM.explicitSPKI) } == .unsupportedCurve)
        #expect(code { _ = try ECPublicKey(pem: TestPEM.hybridPoint) } == .malformedKey)
    }
}

extension String {
    /// Returns the PEM text with a character inserted at the start of its third line.
    func onThirdLine(_ character: String) -> String {
        var lines = split(separator: "\n").map(String.init)
        lines[2] = character + lines[2]
        return lines.joined(separator: "\n")
    }

    /// Returns the PEM text without the last base64 digit.
    fileprivate func droppingDigit() -> String {
        guard let end = firstRange(of: "\n-----END") else { return self }
        return String(self[..<index(before: end.lowerBound)] + self[end.lowerBound...])
    }
}
