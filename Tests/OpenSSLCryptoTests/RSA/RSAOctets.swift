import OpenSSLCrypto

extension RSAPrivateKey {
    /// Creates the key pair of ``RSATestNumbers``.
    static func test() throws -> RSAPrivateKey { try RSATestKeyNumbers().key() }
}

/// The numbers of a key pair, for modification by tests.
struct RSATestKeyNumbers {
    var n = [UInt8](hex: RSATestNumbers.n)
    var e = [UInt8](hex: RSATestNumbers.e)
    var d = [UInt8](hex: RSATestNumbers.d)
    var p = [UInt8](hex: RSATestNumbers.p)
    var q = [UInt8](hex: RSATestNumbers.q)
    var dp = [UInt8](hex: RSATestNumbers.dp)
    var dq = [UInt8](hex: RSATestNumbers.dq)
    var qi = [UInt8](hex: RSATestNumbers.qi)

    func key() throws -> RSAPrivateKey {
        try RSAPrivateKey(
            modulus: n,
            exponent: e,
            privateExponent: d.secret,
            factors: RSAFactors(p: p.secret, q: q.secret, dp: dp.secret, dq: dq.secret, qi: qi.secret)
        )
    }

    func keyWithoutFactors() throws -> RSAPrivateKey {
        try RSAPrivateKey(modulus: n, exponent: e, privateExponent: d.secret)
    }

    func publicKey() throws -> RSAPublicKey { try RSAPublicKey(modulus: n, exponent: e) }
}

extension RSASigner {
    func signature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
        try message.withBytes { message throws(CryptoError) in try signature(for: message) }
    }
}

extension RSAVerifier {
    func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        signature.withBytes { signature in message.withBytes { message in isValidSignature(signature, for: message) } }
    }
}

extension EdwardsPrivateKey {
    func signature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
        try message.withBytes { message throws(CryptoError) in try signature(for: message) }
    }
}

extension EdwardsPublicKey {
    func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        signature.withBytes { signature in message.withBytes { message in isValidSignature(signature, for: message) } }
    }
}
