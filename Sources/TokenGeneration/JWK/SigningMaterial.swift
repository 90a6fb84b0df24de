internal import OpenSSLCrypto

/// What signs: the cryptographic key of one algorithm, prepared.
indirect enum SigningMaterial: Sendable {
    case hmac(HMAC, SharedSecret)
    case ec(ECPrivateKey, HashFunction)

    /// Makes a new key.
    ///
    /// - Throws: ``TokenError`` with the code `signingFailed` if the system can't make a key.
    init(generating details: AlgorithmDescription) throws(TokenError) {
        do throws(CryptoError) {
            switch details.scheme {
            case .hmac(let hash):
                let secret = try SharedSecret(generatedFor: details)
                self = .hmac(try HMAC(hash, key: secret.bytes), secret)
            case .ecdsa(let hash):
                guard let curve = details.curves.first.flatMap(EllipticCurve.init(name:)) else {
                    throw CryptoError(.unsupportedCurve, "\(details.algorithm) has no curve")
                }
                self = .ec(try ECPrivateKey.generate(curve), hash)
            }
        } catch {
            throw TokenError(.signingFailed, "the key could not be generated: \(error.message)", cause: error)
        }
    }

    /// Takes a secret.
    ///
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` if the algorithm is not one for secrets.
    init(_ secret: SharedSecret, _ details: AlgorithmDescription) throws(TokenError) {
        guard case .hmac(let hash) = details.scheme else { throw TokenError(mismatched: details, "a secret") }
        self = .hmac(
            try TokenError.refusingKey { () throws(CryptoError) in try HMAC(hash, key: secret.bytes) },
            secret
        )
    }

    /// Takes an elliptic-curve key for an algorithm on its curve.
    ///
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` if the algorithm is not one for such keys.
    init(_ key: ECPrivateKey, _ details: AlgorithmDescription) throws(TokenError) {
        guard case .ecdsa(let hash) = details.scheme else { throw TokenError(mismatched: details, "an EC key") }
        self = .ec(key, hash)
    }

    /// Reads the members of a private JWK whose statements have been found to fit the algorithm.
    ///
    /// - Throws: ``TokenError`` with the code `malformedKey`, `weakKey` or `keyMismatch`.
    init(_ jwk: JWK, _ details: AlgorithmDescription) throws(TokenError) {
        switch details.scheme {
        case .hmac:
            try self.init(SharedSecret(jwk.octets(of: "k"), for: details, length: .standard), details)
        case .ecdsa(let hash):
            let curve = try jwk.ellipticCurve()
            let x = try jwk.octets(of: "x", count: curve.coordinateSize)
            let y = try jwk.octets(of: "y", count: curve.coordinateSize)
            let scalar = try jwk.octets(of: "d", count: curve.coordinateSize).withBytes { SecretBytes(copying: $0) }
            self = .ec(
                try TokenError.refusingKey { () throws(CryptoError) in
                    try ECPrivateKey(curve: curve, scalar: scalar, x: x, y: y)
                },
                hash
            )
        }
    }

    /// What verifies the signatures.
    var verification: VerificationMaterial {
        switch self {
        case .hmac(let code, _): .hmac(code)
        case .ec(let key, let hash): .ec(key.publicKey, hash)
        }
    }

    /// The private members of the JWK.
    ///
    /// - Throws: ``TokenError`` with the code `malformedKey` if OpenSSL can't give the key out.
    func privateMembers() throws(TokenError) -> JSONObject {
        switch self {
        case .hmac(_, let secret):
            return ["k": .string(secret.bytes.withBytes { Base64URL.encode($0) })]
        case .ec(let key, _):
            let scalar = try TokenError.refusingKey { () throws(CryptoError) in try key.scalar() }
            return ["d": .string(scalar.withBytes { Base64URL.encode($0) })]
        }
    }

    /// The thumbprint of a secret, which its public members don't make.
    func secretThumbprint() throws(TokenError) -> String? {
        guard case .hmac = self else { return nil }
        var members = try privateMembers()
        members["kty"] = .string(KeyType.oct.rawValue)
        return try JWK(members).thumbprint
    }

    /// Signs a message.
    func signature(for message: RawSpan) throws(CryptoError) -> [UInt8] {
        switch self {
        case .hmac(let code, _): try code.authenticationCode(for: message)
        case .ec(let key, let hash): try key.signature(for: message, hash: hash)
        }
    }

    /// Writes the key as PKCS#8 in PEM.
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedKey` for a secret.
    func pem() throws(TokenError) -> String {
        switch self {
        case .hmac: throw TokenError(.unsupportedKey, "a secret has no PEM form: write it as a JWK")
        case .ec(let key, _): try TokenError.refusingKey { () throws(CryptoError) in try key.pkcs8PEM() }
        }
    }
}
