import OpenSSLCrypto
import Testing

@Suite("Key pairs of any kind", .serialized) struct PrivateKeyTests {
    /// A key pair in several formats.
    struct Formats: Sendable, CustomTestStringConvertible {
        let kind: String
        let pkcs8: String
        let traditional: String?
        let spki: String
        let traditionalPublic: String?

        var testDescription: String { kind }

        static let all =
            TestKey.all.map { key in
                Formats(
                    kind: key.curve.name,
                    pkcs8: key.pkcs8,
                    traditional: key.sec1,
                    spki: key.spki,
                    traditionalPublic: nil
                )
            } + [
                Formats(
                    kind: "RSA",
                    pkcs8: KeyPEM.rsaPKCS8,
                    traditional: KeyPEM.rsaPKCS1,
                    spki: KeyPEM.rsaSPKI,
                    traditionalPublic: KeyPEM.rsaPKCS1Public
                ),
                Formats(
                    kind: "Ed25519",
                    pkcs8: KeyPEM.ed25519PKCS8,
                    traditional: nil,
                    spki: KeyPEM.ed25519SPKI,
                    traditionalPublic: nil
                ),
                Formats(
                    kind: "Ed448",
                    pkcs8: KeyPEM.ed448PKCS8,
                    traditional: nil,
                    spki: KeyPEM.ed448SPKI,
                    traditionalPublic: nil
                ),
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

    static let unsupported = [
        (UnsupportedKeyPEM.rsaPSS, "RSA-PSS"), (UnsupportedKeyPEM.multiPrime, "primes"),
        (UnsupportedKeyPEM.multiPrimePKCS1, "primes"), (UnsupportedKeyPEM.dsa, "DSA"),
        (UnsupportedKeyPEM.dsaTraditional, "DSA"), (UnsupportedKeyPEM.dh, "DH"),
        (UnsupportedKeyPEM.openSSH, "ssh-keygen"),
    ]

    @Test("Rejects unsupported private keys by name", arguments: unsupported)
    func unsupportedKinds(pem: String, name: String) throws {
        let error = try #require(error { _ = try PrivateKey(pem: pem) })
        #expect(error.code == .wrongKeyType)
        #expect(error.message.contains(name), "\(error)")
    }

    @Test(
        "Rejects unsupported public keys by name",
        arguments: [
            (UnsupportedKeyPEM.rsaPSSPublic, "RSA-PSS"), (UnsupportedKeyPEM.dsaPublic, "DSA"),
        ]
    )
    func unsupportedPublicKinds(pem: String, name: String) throws {
        let error = try #require(error { _ = try PublicKey(pem: pem) })
        #expect(error.code == .wrongKeyType)
        #expect(error.message.contains(name), "\(error)")
    }

    @Test("Reads and writes X25519 and X448 keys", arguments: ["X25519", "X448"])
    func montgomery(name: String) throws {
        let isShort = name == "X25519"
        let pem = isShort ? UnsupportedKeyPEM.x25519 : UnsupportedKeyPEM.x448
        let publicPEM = isShort ? UnsupportedKeyPEM.x25519Public : UnsupportedKeyPEM.x448Public
        let key = try PrivateKey(pem: pem)
        #expect(key.kind == name)
        #expect(try key.pkcs8PEM() == pem)
        #expect(try PublicKey(pem: publicPEM).spkiPEM() == publicPEM)
        #expect(try PublicKey(pem: TestCertificate.x25519).kind == "X25519")
    }

    @Test("Rejects RSA keys under 2048 bits") func weak() {
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
                for mask: UInt8 in [0x01, 0x80] {
                    var changed = der
                    changed[index] ^= mask
                    guard let key = try? PrivateKey(der: changed) else { continue }
                    // Any change of an Edwards seed gives another valid key. All other bytes are
                    // tied to the public key.
                    #expect(key.publicKey == expected || formats.kind.hasPrefix("Ed"))
                }
            }
        }
        let der = [UInt8](pem: formats.spki)
        for count in der.indices {
            #expect(code { _ = try PublicKey(der: Array(der.prefix(count))) } == .malformedKey)
        }
    }
}
