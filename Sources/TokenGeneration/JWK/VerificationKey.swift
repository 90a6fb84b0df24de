internal import OpenSSLCrypto

/// A public key that verifies with exactly one algorithm.
///
/// It was checked when it was made and never changes.
public struct VerificationKey: Sendable {
    /// The algorithm the key verifies with.
    public let algorithm: JWSAlgorithm
    /// The key as a JWK, fit to be published.
    ///
    /// It states `alg`, and has the other members of the JWK it was made of, without private ones.
    public let jwk: JWK
    /// The thumbprint with SHA-256, in base64url ([RFC 7638](https://www.rfc-editor.org/rfc/rfc7638)).
    public let thumbprint: String

    private let material: Material

    private enum Material: Sendable {
        case ec(ECPublicKey, HashFunction)
    }

    /// Reads a public key from PEM: an SPKI structure (`BEGIN PUBLIC KEY`).
    ///
    /// - Parameters:
    ///   - pem: The PEM text.
    ///   - algorithm: The algorithm the key is for; `nil` takes the only one that a key on its curve can have.
    /// - Throws: ``TokenError`` with the code `malformedKey`, `unsupportedKey`, `publicKeyRequired`, `algorithmMismatch` or
    ///   `unsupportedAlgorithm`.
    public init(pem: String, algorithm: JWSAlgorithm? = nil) throws(TokenError) {
        if pem.contains("PRIVATE KEY-----") {
            throw TokenError(
                .publicKeyRequired,
                "the PEM has a private key: give its public half, which SigningKey(pem:).verificationKey.pem() writes"
            )
        }
        let key = try TokenError.refusingKey { () throws(CryptoError) in try ECPublicKey(pem: pem) }
        let details = try AlgorithmDescription.forKey(on: key.curve, wanted: algorithm)
        switch details.scheme {
        case .ecdsa(_, let hash):
            try self.init(key, hash: hash, document: Self.document(for: key, details))
        }
    }

    /// Makes a key of a JWK, after checking its numbers and that `use`, `key_ops` and `alg` allow verifying.
    ///
    /// - Parameter jwk: A JWK. If it has private members, they are checked and dropped.
    /// - Throws: ``TokenError`` with the code `malformedKey`, `unsupportedKey`, `keyMismatch` or `unsupportedAlgorithm`.
    public init(jwk: JWK) throws(TokenError) {
        let details = try jwk.algorithmDetails(for: .verification)
        switch details.scheme {
        case .ecdsa(let curve, let hash):
            let key: ECPublicKey
            if jwk.isPrivate {
                key = try ECPrivateKey(jwk, on: curve).publicKey
            } else {
                let x = try jwk.octets(of: "x", count: curve.coordinateSize)
                let y = try jwk.octets(of: "y", count: curve.coordinateSize)
                key = try TokenError.refusingKey { () throws(CryptoError) in try ECPublicKey(curve: curve, x: x, y: y) }
            }
            try self.init(key, hash: hash, document: Self.document(for: key, details, from: jwk))
        }
    }

    init(_ key: ECPublicKey, hash: HashFunction, document: JWK) throws(TokenError) {
        guard let algorithm = document.algorithm.flatMap(JWSAlgorithm.init) else {
            throw TokenError(.malformedKey, "the key has no algorithm")
        }
        self.algorithm = algorithm
        jwk = document
        thumbprint = try document.thumbprint
        material = .ec(key, hash)
    }
}

extension VerificationKey {
    /// The `kid` of the JWK the key was made of, or `nil`.
    public var keyID: String? { jwk.keyID }

    /// The thumbprint as a URI ([RFC 9278](https://www.rfc-editor.org/rfc/rfc9278)).
    public var thumbprintURI: String { JWK.thumbprintURI(thumbprint) }

    /// The key as PEM (SPKI, `BEGIN PUBLIC KEY`).
    ///
    /// - Returns: The PEM text.
    public func pem() -> String {
        switch material {
        case .ec(let key, _): key.spkiPEM()
        }
    }

    /// The same key with another ID in its JWK.
    func identified(by keyID: String?) throws(TokenError) -> VerificationKey {
        var document = jwk
        document.keyID = keyID
        switch material {
        case .ec(let key, let hash): return try VerificationKey(key, hash: hash, document: document)
        }
    }

    /// Whether a signature is one by this key over a message.
    ///
    /// A signature of the wrong length is not.
    package func isValidSignature(_ signature: RawSpan, for message: RawSpan) -> Bool {
        switch material {
        case .ec(let key, let hash): key.isValidSignature(signature, for: message, hash: hash)
        }
    }

    /// The JWK that describes a key: its numbers and `alg`, over the public members of the JWK it came in.
    static func document(
        for key: ECPublicKey,
        _ details: AlgorithmDescription,
        from source: JWK? = nil
    ) throws(TokenError) -> JWK {
        var members = source?.publicPart.members ?? JSONObject()
        members["kty"] = .string(details.keyType.rawValue)
        members["crv"] = .string(key.curve.name)
        members["x"] = .string(Base64URL.encode(key.x))
        members["y"] = .string(Base64URL.encode(key.y))
        members["alg"] = .string(details.algorithm.rawValue)
        return try JWK(members)
    }
}

extension VerificationKey: CustomStringConvertible, CustomReflectable {
    /// The algorithm and the thumbprint.
    public var description: String { "VerificationKey(\(algorithm), thumbprint \(thumbprint))" }

    /// The JWK.
    public var customMirror: Mirror {
        Mirror(self, children: ["jwk": jwk], displayStyle: .struct)
    }
}
