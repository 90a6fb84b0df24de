import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Certificates of a JWK", .computing)
struct JWKCertificateTests {
    private static let date = Date(timeIntervalSince1970: 1_900_000_000)

    private static func der(_ pem: String) throws -> Data {
        try #require(Data(base64Encoded: pem.split(separator: "\n").dropFirst().dropLast().joined()))
    }

    private static func certified() throws -> JWK {
        try SigningKey(pem: TestCertificates.leafKey).verificationKey.jwk.certified(by: [der(TestCertificates.leaf)])
    }

    @Test("Reads the key of a certificate from PEM and DER without verifying the certificate", .shows("J11"))
    func keyOfCertificate() throws {
        let key = try SigningKey(pem: TestCertificates.leafKey).verificationKey
        #expect(try VerificationKey(pem: TestCertificates.leaf).thumbprint == key.thumbprint)
        #expect(try VerificationKey(der: Self.der(TestCertificates.leaf)).thumbprint == key.thumbprint)
        #expect(code { try SigningKey(pem: TestCertificates.leaf) } == .privateKeyRequired)
    }

    @Test("Accepts a chain to the caller's root at the caller's time", .shows("J17", "RFC 7517 §4.7–4.9"))
    func verified() throws {
        let jwk = try Self.certified()
        #expect(try jwk.certificateChain == [Self.der(TestCertificates.leaf)])
        #expect(jwk.members["x5t#S256"]?.string?.utf8.count == 43)
        #expect(throws: Never.self) {
            try jwk.verifyCertificates(roots: CertificateRoots(pem: TestCertificates.root), at: Self.date)
        }
        let roots = try CertificateRoots(der: [Self.der(TestCertificates.root)])
        #expect(throws: Never.self) { try jwk.verifyCertificates(roots: roots, at: Self.date) }
        #expect(try VerificationKey(jwk: jwk).jwk.members["x5c"] == jwk.members["x5c"])
        #expect(
            try SigningKey(jwk: SigningKey(jwk: Self.privateJWK()).privateJWK()).verificationKey.jwk
                == VerificationKey(jwk: jwk).jwk
        )
    }

    private static func privateJWK() throws -> JWK {
        try SigningKey(pem: TestCertificates.leafKey).privateJWK().certified(by: [der(TestCertificates.leaf)])
    }

    @Test("Rejects another root, another time, and a missing root", .shows("B3", "RFC 7517 §4.7–4.9"))
    func rejected() throws {
        let jwk = try Self.certified()
        let root = try CertificateRoots(pem: TestCertificates.root)
        for seconds in [0, 1_600_000_000, 9_000_000_000, -1e300, 1e300, .infinity, .nan] {
            let time = Date(timeIntervalSince1970: seconds)
            #expect(code { try jwk.verifyCertificates(roots: root, at: time) } == .certificateRejected)
        }
        let other = try CertificateRoots(pem: TestCertificates.otherRoot)
        #expect(code { try jwk.verifyCertificates(roots: other, at: Self.date) } == .certificateRejected)
        let none = try CertificateRoots(der: [Data]())
        #expect(code { try jwk.verifyCertificates(roots: none, at: Self.date) } == .certificateRejected)
        let selfSigned = try VerificationKey(pem: TestCertificates.otherRoot).jwk.certified(by: [
            Self.der(TestCertificates.otherRoot)
        ])
        #expect(code { try selfSigned.verifyCertificates(roots: root, at: Self.date) } == .certificateRejected)
    }

    @Test("Rejects a certificate of another key, and a thumbprint of another certificate", .shows("B3"))
    func mismatched() throws {
        let root = try CertificateRoots(pem: TestCertificates.root)
        let stranger = try SigningKey.generate(.es256).verificationKey.jwk
        #expect(code { try stranger.certified(by: [Self.der(TestCertificates.leaf)]) } == .keyMismatch)
        var jwk = stranger
        jwk.members["x5c"] = try Self.certified().members["x5c"]
        #expect(code { try jwk.verifyCertificates(roots: root, at: Self.date) } == .keyMismatch)
        #expect(code { try VerificationKey(jwk: jwk) } == .keyMismatch)
        for name in ["x5t", "x5t#S256"] {
            var jwk = try Self.certified()
            jwk.members[name] = .string(Base64URL.encode([UInt8](repeating: 1, count: name == "x5t" ? 20 : 32)))
            #expect(code { try jwk.verifyCertificates(roots: root, at: Self.date) } == .keyMismatch)
        }
    }

    @Test("Rejects malformed certificates and too many certificates")
    func malformed() throws {
        let root = try CertificateRoots(pem: TestCertificates.root)
        let key = try SigningKey(pem: TestCertificates.leafKey).verificationKey.jwk
        #expect(code { try key.verifyCertificates(roots: root, at: Self.date) } == .malformedKey)
        for entries: JSONValue in [[], ["AAAA"], ["!!!!"], [""], ["MIIB\nAAAA"]] {
            var jwk = key
            jwk.members["x5c"] = entries
            #expect(code { try jwk.verifyCertificates(roots: root, at: Self.date) } == .malformedKey)
            if entries != [] { #expect(code { try VerificationKey(jwk: jwk) } == .malformedKey) }
        }
        let leaf = try Self.der(TestCertificates.leaf)
        #expect(code { try key.certified(by: [Data](repeating: leaf, count: 11)) } == .tooLarge)
        #expect(code { try CertificateRoots(pem: "") } != nil)
        #expect(code { try CertificateRoots(der: [[0x30, 0x00]]) } == .malformedKey)
    }
}

/// Certificates for P-256 keys, valid for 100 years from November 2026.
enum TestCertificates {
    /// A root certificate.
    static let root = """
        MIIBkDCCATWgAwIBAgIUF9tGg/8CnFKgPZlv7FQ9/F2GZHMwCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJVGVzdCBSb290MCAXDTI2MTEyMTA1MzM1
        OFoYDzIxMjYxMDI4MDUzMzU4WjAUMRIwEAYDVQQDDAlUZXN0IFJvb3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASjKSIiBwbxN3N4tRX7ja4+
        xKPi1OS/6krfJbsYkdHO0HUW1HJCL64FeVa8lH4B+JwMcVo5VvKdWARS3rnKt/Yto2MwYTAdBgNVHQ4EFgQUSnqjla0Rh2r1WKLXipiJTzbnBq4w
        HwYDVR0jBBgwFoAUSnqjla0Rh2r1WKLXipiJTzbnBq4wDwYDVR0TAQH/BAUwAwEB/zAOBgNVHQ8BAf8EBAMCAgQwCgYIKoZIzj0EAwIDSQAwRgIh
        AOe9nC1VZt/QVfrqWK0LCRgPGrZC1B1miLFfQwV5/DfSAiEAnck4FfOVuS+/U+9QZV+FIpqssgROFti78sdEAPVW1EQ=
        """.pem("CERTIFICATE")

    /// A certificate for digital signatures that the root issued.
    static let leaf = """
        MIIBdjCCARygAwIBAgIBAjAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlUZXN0IFJvb3QwIBcNMjYxMTIxMDUzMzU4WhgPMjEyNjEwMjgwNTMzNTha
        MBExDzANBgNVBAMMBlNpZ25lcjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJdOc69tf/AeK7c0Dsj8pMHLqimrk8DiBdwtrlIBSqHGwDkBbOiB
        GDsQ1qpAtFIeKJc5KrVCp4bG02dRJn9A9kCjYDBeMAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeAMB0GA1UdDgQWBBQftJKYMv6hrIZ0gVxC
        cDBEKF1v0zAfBgNVHSMEGDAWgBRKeqOVrRGHavVYoteKmIlPNucGrjAKBggqhkjOPQQDAgNIADBFAiEA0/MYerM6Txjq2Uhj+fB1pdTWqtAQXjAA
        EeZXeyByNRQCIED3lByRqMxy8jliix9FuJPS9cXTWQZ8hxyHV2O2qNnT
        """.pem("CERTIFICATE")

    /// The private key of the leaf.
    static let leafKey = """
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgvICtUg+esFd2nqZuc/sZkS/DawkmhQzJVyD48QoXTYqhRANCAASXTnOvbX/wHiu3
        NA7I/KTBy6opq5PA4gXcLa5SAUqhxsA5AWzogRg7ENaqQLRSHiiXOSq1QqeGxtNnUSZ/QPZA
        """.pem("PRIVATE KEY")

    /// A root certificate with the same name and another key.
    static let otherRoot = """
        MIIBgDCCASWgAwIBAgIUV6HKXoOTLfLB5bKkJQJGXHX41uAwCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJVGVzdCBSb290MCAXDTI2MTEyMTA1MzM1
        OFoYDzIxMjYxMDI4MDUzMzU4WjAUMRIwEAYDVQQDDAlUZXN0IFJvb3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASbSqJdVDmAmzWf8GZnnu9V
        WFIn6pTZ5i5bLcs3akfGLnkJ714LIeXIkVPurmbiHFgQTeKK5u6+9a+/G+WUJ6uVo1MwUTAdBgNVHQ4EFgQUlrgvrpZ4KX6KQHj5dsM+nFDdc14w
        HwYDVR0jBBgwFoAUlrgvrpZ4KX6KQHj5dsM+nFDdc14wDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEAwjmaK4GAqPnl85h/+Hb2
        x+3ulZpKcGuMXBummkJ0lBcCIQCgVYv9ShSfG3QQMSuzDTFV/URNB7CWvRM9z1Kab8jNow==
        """.pem("CERTIFICATE")
}
