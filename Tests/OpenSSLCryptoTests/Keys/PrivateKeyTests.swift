import OpenSSLCrypto
import TestSupport
import Testing

@Suite("Key pairs of any kind", .computing) struct PrivateKeyTests {
    /// A key pair in several formats.
    struct Formats: Sendable, CustomTestStringConvertible {
        let kind, pkcs8, spki: String
        var traditional: String?
        var traditionalPublic: String?

        var testDescription: String { kind }

        static let all =
            TestKey.all.map { Formats(kind: $0.curve.name, pkcs8: $0.pkcs8, spki: $0.spki, traditional: $0.sec1) } + [
                Formats(
                    kind: "RSA",
                    pkcs8: KeyPEM.rsaPKCS8,
                    spki: KeyPEM.rsaSPKI,
                    traditional: KeyPEM.rsaPKCS1,
                    traditionalPublic: KeyPEM.rsaPKCS1Public
                ),
                Formats(kind: "Ed25519", pkcs8: KeyPEM.ed25519PKCS8, spki: KeyPEM.ed25519SPKI),
                Formats(kind: "Ed448", pkcs8: KeyPEM.ed448PKCS8, spki: KeyPEM.ed448SPKI),
                Formats(kind: "X25519", pkcs8: KeyPEM.x25519, spki: KeyPEM.x25519Public),
                Formats(kind: "X448", pkcs8: KeyPEM.x448, spki: KeyPEM.x448Public),
            ]
    }

    @Test("Reads each OpenSSL format and writes identical bytes", arguments: Formats.all)
    func roundTrip(formats: Formats) throws {
        let publicKey = try PublicKey(pem: formats.spki)
        #expect(publicKey.kind == formats.kind)
        #expect(try PublicKey(der: [UInt8](pem: formats.spki)) == publicKey)
        #expect(publicKey.spkiPEM() == formats.spki)
        #expect(publicKey.spkiDER() == [UInt8](pem: formats.spki))
        #expect(publicKey.traditionalPEM() == formats.traditionalPublic)
        #expect(publicKey.traditionalDER() == formats.traditionalPublic.map { [UInt8](pem: $0) })
        if let pem = formats.traditionalPublic {
            #expect(try PublicKey(pem: pem) == publicKey)
            #expect(try PublicKey(der: [UInt8](pem: pem)) == publicKey)
        }
        for pem in [formats.pkcs8, formats.traditional].compactMap(\.self) {
            for key in [try PrivateKey(pem: pem), try PrivateKey(der: [UInt8](pem: pem))] {
                #expect(key.kind == formats.kind)
                #expect(key.publicKey == publicKey)
                #expect(try key.pkcs8PEM() == formats.pkcs8)
                #expect(try key.pkcs8DER().exposed == [UInt8](pem: formats.pkcs8))
                #expect(try key.traditionalPEM() == formats.traditional)
                #expect(try key.traditionalDER()?.exposed == formats.traditional.map { [UInt8](pem: $0) })
            }
        }
    }

    @Test("Rejects private keys as public keys and vice versa", arguments: Formats.all)
    func halves(formats: Formats) {
        for pem in [formats.pkcs8, formats.traditional].compactMap(\.self) {
            #expect(code { _ = try PublicKey(pem: pem) } == .wrongKeyType)
            #expect(code { _ = try PublicKey(der: [UInt8](pem: pem)) } == .wrongKeyType)
        }
        for pem in [formats.spki, formats.traditionalPublic, TestCertificate.leaf].compactMap(\.self) {
            #expect(code { _ = try PrivateKey(pem: pem) } == .wrongKeyType)
            #expect(code { _ = try PrivateKey(der: [UInt8](pem: pem)) } == .wrongKeyType)
        }
    }

    @Test("Reads the public key of a certificate") func certificates() throws {
        #expect(try PublicKey(pem: TestCertificate.leaf).kind == "P-256")
        let key = try PublicKey(pem: KeyPEM.rsaSPKI)
        #expect(try PublicKey(pem: TestCertificate.rsa) == key)
        #expect(try PublicKey(der: [UInt8](pem: TestCertificate.rsa)) == key)
    }

    @Test(
        "Rejects unsupported kinds of keys by name",
        arguments: [
            (UnsupportedKeyPEM.rsaPSS, "RSA-PSS"), (UnsupportedKeyPEM.rsaPSSPublic, "RSA-PSS"),
            (UnsupportedKeyPEM.multiPrime, "primes"), (UnsupportedKeyPEM.multiPrimePKCS1, "primes"),
            (UnsupportedKeyPEM.dsa, "DSA"), (UnsupportedKeyPEM.dsaPublic, "DSA"),
            (UnsupportedKeyPEM.dsaTraditional, "DSA"), (UnsupportedKeyPEM.dh, "DH"),
            (UnsupportedKeyPEM.openSSH, "ssh-keygen"),
        ]
    )
    func unsupportedKinds(pem: String, name: String) throws {
        let isPublic = pem.contains("BEGIN PUBLIC KEY")
        let error = try #require(error { _ = try isPublic ? PublicKey(pem: pem).kind : PrivateKey(pem: pem).kind })
        #expect(error.code == .wrongKeyType)
        #expect(error.message.contains(name), "\(error)")
    }

    @Test("Rejects RSA keys under 2048 bits", .shows("C9", "RFC 7518 §3.3")) func weak() {
        #expect(code { _ = try PrivateKey(pem: UnsupportedKeyPEM.rsa1024) } == .weakKey)
        #expect(code { _ = try PublicKey(pem: UnsupportedKeyPEM.rsa1024Public) } == .weakKey)
        #expect(code { _ = try PublicKey(pem: TestCertificate.weakKey) } == .weakKey)
    }

    @Test("Rejects text that isn't a key", arguments: ["", "key", "-----BEGIN RSA PRIVATE KEY-----\n"])
    func malformed(text: String) {
        #expect(code { _ = try PrivateKey(pem: text) } == .malformedKey)
        #expect(code { _ = try PublicKey(pem: text) } == .malformedKey)
    }

    @Test("Rejects truncated keys and detects changed bytes without trapping", arguments: Formats.all)
    func mutations(formats: Formats) throws {
        let expected = try PublicKey(pem: formats.spki)
        for pem in [formats.pkcs8, formats.traditional].compactMap(\.self) {
            let der = [UInt8](pem: pem)
            let isRSA = formats.kind == "RSA"
            for count in stride(from: 0, to: der.count, by: isRSA ? 7 : 1) {
                #expect(code { _ = try PrivateKey(der: Array(der.prefix(count))) } == .malformedKey)
            }
            for index in stride(from: 0, to: der.count, by: isRSA ? 5 : 1) {
                for mask: UInt8 in isRSA ? [0x01, 0x80] : [0x01, 0x20, 0x80, 0xFF] {
                    var changed = der
                    changed[index] ^= mask
                    guard let key = try? PrivateKey(der: changed) else { continue }
                    // Any change of a seed on Edwards and Montgomery curves gives another valid
                    // key. All other bytes are tied to the public key.
                    #expect(key.publicKey == expected || ["Ed", "X"].contains { formats.kind.hasPrefix($0) })
                }
            }
        }
        let der = [UInt8](pem: formats.spki)
        for count in der.indices {
            #expect(code { _ = try PublicKey(der: Array(der.prefix(count))) } == .malformedKey)
        }
    }
}
