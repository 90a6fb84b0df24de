internal import OpenSSLCrypto

/// What verifies: the cryptographic key of one algorithm, prepared.
indirect enum VerificationMaterial: Sendable {
    case hmac(HMAC)
    case ec(ECPublicKey, HashFunction)

    /// Reads the members of a public JWK whose statements have been found to fit the algorithm.
    ///
    /// - Throws: ``TokenError`` with the code `malformedKey` or `weakKey`.
    init(_ jwk: JWK, _ details: AlgorithmDescription) throws(TokenError) {
        switch details.scheme {
        case .hmac:
            throw TokenError(.malformedKey, "the JWK needs “k”, the secret, as a base64url string")
        case .ecdsa(let hash):
            let curve = try jwk.ellipticCurve()
            let x = try jwk.octets(of: "x", count: curve.coordinateSize)
            let y = try jwk.octets(of: "y", count: curve.coordinateSize)
            self = .ec(
                try TokenError.refusingKey { () throws(CryptoError) in try ECPublicKey(curve: curve, x: x, y: y) },
                hash
            )
        }
    }

    /// Takes an elliptic-curve key for an algorithm on its curve.
    init(_ key: ECPublicKey, _ details: AlgorithmDescription) throws(TokenError) {
        guard case .ecdsa(let hash) = details.scheme else { throw TokenError(mismatched: details, "an EC key") }
        self = .ec(key, hash)
    }

    /// The members of a JWK that make the key what it is, as far as they may be published.
    var members: JSONObject {
        switch self {
        case .hmac:
            return [:]
        case .ec(let key, _):
            return [
                "crv": .string(key.curve.name),
                "x": .string(Base64URL.encode(key.x)),
                "y": .string(Base64URL.encode(key.y)),
            ]
        }
    }

    /// Whether a signature is one by this key over a message.
    ///
    /// A signature of the wrong length is not.
    func isValidSignature(_ signature: RawSpan, for message: RawSpan) -> Bool {
        switch self {
        case .hmac(let code): code.isValid(signature, for: message)
        case .ec(let key, let hash): key.isValidSignature(signature, for: message, hash: hash)
        }
    }

    /// Writes the key as SPKI in PEM.
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedKey` for a secret.
    func pem() throws(TokenError) -> String {
        switch self {
        case .hmac: throw TokenError(.unsupportedKey, "a secret has no PEM form: write the signing key as a JWK")
        case .ec(let key, _): key.spkiPEM()
        }
    }
}
