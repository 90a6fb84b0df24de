internal import OpenSSLCrypto

/// A cryptographic key that is prepared to verify with one algorithm.
indirect enum VerificationMaterial: Sendable {
    case hmac(HMAC)
    case ec(ECPublicKey, HashFunction)
    case rsa(RSAPublicKey, RSAVerifier)
    case edwards(EdwardsPublicKey)

    /// Reads the members of a public JWK whose declarations have been checked against the
    /// algorithm.
    ///
    /// - Throws: ``TokenError`` with the code `malformedKey`, `weakKey`, `unsupportedKey` or
    ///   `tooLarge`.
    init(
        _ jwk: JWK,
        _ details: AlgorithmDescription,
        maximumRSAKeySize: Int = RSAKeyLimit.configuration
    ) throws(TokenError) {
        switch details.scheme {
        case .hmac:
            throw TokenError(.malformedKey, "the JWK must have “k”, the secret, as a base64url string")
        case .ecdsa:
            let curve = try jwk.ellipticCurve()
            let x = try jwk.octets(of: "x", count: curve.coordinateSize)
            let y = try jwk.octets(of: "y", count: curve.coordinateSize)
            let key = try TokenError.refusingKey { () throws(CryptoError) in try ECPublicKey(curve: curve, x: x, y: y) }
            try self.init(.ellipticCurve(key), details)
        case .rsa:
            let modulus = try jwk.number("n")
            let exponent = try jwk.number("e")
            let key = try TokenError.refusingKey { () throws(CryptoError) in
                try RSAPublicKey(modulus: modulus, exponent: exponent, maximumBitCount: maximumRSAKeySize)
            }
            try self.init(.rsa(key), details)
        case .edwards:
            let curve = try jwk.edwardsCurve()
            let octets = try jwk.octets(of: "x", count: curve.keySize)
            let key = try TokenError.refusingKey { () throws(CryptoError) in
                try EdwardsPublicKey(curve: curve, octets: octets)
            }
            try self.init(.edwards(key), details)
        }
    }

    /// Prepares a key for an algorithm.
    ///
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` if the algorithm can't use the
    ///   key.
    init(_ key: PublicKey, _ details: AlgorithmDescription) throws(TokenError) {
        switch (key, details.scheme) {
        case (.ellipticCurve(let key), .ecdsa(let hash)):
            self = .ec(key, hash)
        case (.rsa(let key), .rsa(let padding, let hash)):
            let verifier = try TokenError.refusingKey { () throws(CryptoError) in
                try key.verifier(padding, hash: hash)
            }
            self = .rsa(key, verifier)
        case (.edwards(let key), .edwards):
            self = .edwards(key)
        default:
            throw TokenError(mismatched: details, key.kind)
        }
    }

    /// The public key, or `nil` for a secret.
    var publicKey: PublicKey? {
        switch self {
        case .hmac: nil
        case .ec(let key, _): .ellipticCurve(key)
        case .rsa(let key, _): .rsa(key)
        case .edwards(let key): .edwards(key)
        }
    }

    /// The public members of a JWK that define the key.
    var members: JSONObject {
        switch self {
        case .hmac:
            [:]
        case .ec(let key, _):
            [
                "crv": .string(key.curve.name),
                "x": .string(Base64URL.encode(key.x)),
                "y": .string(Base64URL.encode(key.y)),
            ]
        case .rsa(let key, _):
            [
                "n": .string(Base64URL.encode(key.modulus)),
                "e": .string(Base64URL.encode(key.exponent)),
            ]
        case .edwards(let key):
            [
                "crv": .string(key.curve.name),
                "x": .string(Base64URL.encode(key.octets)),
            ]
        }
    }

    /// Returns a Boolean value that indicates whether the key verifies a signature over a message.
    ///
    /// A signature of the wrong length isn't valid.
    func isValidSignature(_ signature: RawSpan, for message: RawSpan) -> Bool {
        switch self {
        case .hmac(let code): code.isValid(signature, for: message)
        case .ec(let key, let hash): key.isValidSignature(signature, for: message, hash: hash)
        case .rsa(_, let verifier): verifier.isValidSignature(signature, for: message)
        case .edwards(let key): key.isValidSignature(signature, for: message)
        }
    }
}
