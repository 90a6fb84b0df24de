import Foundation
import OpenSSLCrypto
import TestVectors

/// Keys and certificates in DER, below the public types.
enum KeyFuzzing {
    /// Reads bytes as each type of key and as a certificate, and reads the result again after
    /// writing it.
    static func run(_ bytes: [UInt8]) {
        let password = Array("password".utf8).withBytes { SecretBytes(copying: $0) }
        if let key = try? PrivateKey(der: bytes, password: password) { check(key) }
        if let key = try? PublicKey(der: bytes) { check(key) }
        guard let certificate = try? Certificate(der: bytes) else { return }
        guard certificate.der == bytes, (try? Certificate(pem: certificate.pem())) == certificate else {
            defect("a certificate changes")
        }
        _ = (certificate.subject, certificate.issuer)
        if let key = try? certificate.publicKey() { check(key) }
        let chain = try? CertificateChain([certificate])
        if let path = try? chain?.verified(roots: [certificate], at: certificate.notBefore), path != [certificate] {
            defect("a chain has an unknown certificate")
        }
    }

    /// Returns a Boolean value that indicates whether the bytes are a single SEQUENCE, like every
    /// key and certificate.
    static func isSequence(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 2, bytes[0] == 0x30 else { return false }
        guard bytes[1] >= 0x80 else { return bytes.count == 2 + Int(bytes[1]) }
        let count = Int(bytes[1] & 0x7F)
        guard (1...3).contains(count), bytes.count >= 2 + count else { return false }
        return bytes.count == 2 + count + bytes[2..<2 + count].reduce(0) { $0 << 8 | Int($1) }
    }

    /// Returns keys in each format and a certificate.
    static func seeds() throws -> [Data] {
        let rsa = try rsaKey()
        let edwards = try EdwardsPrivateKey(curve: .ed448, seed: secret([UInt8](repeating: 7, count: 57)))
        var seeds: [[UInt8]] = []
        for key in [PrivateKey.rsa(rsa), .edwards(edwards)] {
            seeds += try [key.pkcs8DER(), key.traditionalDER()].compactMap(\.self).map(octets)
            seeds += [key.publicKey.spkiDER(), key.publicKey.traditionalDER()].compactMap(\.self)
        }
        guard let chain = try (Vector.object("rfc7517-b-x5c")["jwk"] as? [String: Any])?["x5c"] as? [String],
            let certificate = chain.first.flatMap({ Data(base64Encoded: $0) }),
            let encrypted = Data(base64Encoded: encryptedKey)
        else { throw CryptoError(.malformedCertificate, "rfc7517-b-x5c has no certificate") }
        return seeds.map { Data($0) } + [certificate, encrypted]
    }

    /// An Ed25519 key, encrypted with the password `password` and, for speed, one iteration.
    private static let encryptedKey = """
        MIGaMFYGCSqGSIb3DQEFDTBJMCgGCSqGSIb3DQEFDDAbBAhnPN7f9UNTlwIBATAMBggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQ
        5PpiSE1qPPH1NBb5Fiu/kwRAxW7ajwpfUfGzfS5qYZrpd3SeRPi55z6zBIhhykC2p+1To2YYvzYAAlbLKnvEPIYk5uW/7uuUEY3m
        GxZmGDbvkQ==
        """.replacing("\n", with: "")

    private static func check(_ key: PrivateKey) {
        guard let der = try? key.pkcs8DER().withBytes({ bytes throws(CryptoError) in try PrivateKey(der: bytes) }),
            der.publicKey == key.publicKey
        else { defect("an accepted key pair can't be written and read") }
        check(key.publicKey)
    }

    private static func check(_ key: PublicKey) {
        guard (try? PublicKey(der: key.spkiDER())) == key, (try? PublicKey(pem: key.spkiPEM())) == key else {
            defect("an accepted key can't be written and read")
        }
    }

    /// Returns the key of RFC 7515 A.2.
    private static func rsaKey() throws -> RSAPrivateKey {
        let members = try Vector.object("rfc7515-a2-rs256")["key"] as? [String: String] ?? [:]
        func number(_ name: String) -> [UInt8] {
            let text = (members[name] ?? "").replacing("-", with: "+").replacing("_", with: "/")
            return [UInt8](
                Data(base64Encoded: text + String(repeating: "=", count: (4 - text.count % 4) % 4)) ?? Data()
            )
        }
        return try RSAPrivateKey(modulus: number("n"), exponent: number("e"), privateExponent: secret(number("d")))
    }

    private static func secret(_ octets: [UInt8]) -> SecretBytes { octets.withBytes { SecretBytes(copying: $0) } }

    private static func octets(_ secret: SecretBytes) -> [UInt8] {
        secret.withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe Array($0) } }
    }

    private static func defect(_ text: String) -> Never {
        fatalError(text)  // reason: a trap reports a defect to libFuzzer, which saves the input.
    }
}
