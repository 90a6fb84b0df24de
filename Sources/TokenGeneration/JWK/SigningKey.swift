internal import OpenSSLCrypto

/// A private key that signs with exactly one algorithm.
///
/// It was checked when it was made and never changes. Descriptions and reflections don't show it.
///
/// ```swift
/// let key = try SigningKey.generate(.es256)
/// try key.pem().write(toFile: "key.pem", atomically: true, encoding: .utf8)
/// ```
public struct SigningKey: Sendable {
    /// The public half.
    public let verificationKey: VerificationKey

    private let material: Material

    private enum Material: Sendable {
        case ec(ECPrivateKey, HashFunction)
    }

    /// Makes a new key.
    ///
    /// - Parameter algorithm: The algorithm the key is for.
    /// - Returns: The key.
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm`, or `signingFailed` if the system can't make a key.
    public static func generate(_ algorithm: JWSAlgorithm) throws(TokenError) -> SigningKey {
        let details = try algorithm.supportedDetails()
        switch details.scheme {
        case .ecdsa(let curve, let hash):
            let key: ECPrivateKey
            do throws(CryptoError) {
                key = try ECPrivateKey.generate(curve)
            } catch {
                throw TokenError(.signingFailed, "the key could not be generated: \(error.message)", cause: error)
            }
            return try SigningKey(key, hash: hash, document: VerificationKey.document(for: key.publicKey, details))
        }
    }

    /// Reads a private key from PEM: PKCS#8, encrypted PKCS#8, or the older SEC1 form.
    ///
    /// - Parameters:
    ///   - pem: The PEM text.
    ///   - password: The password of an encrypted key.
    ///   - algorithm: The algorithm the key is for; `nil` takes the only one that a key on its curve can have.
    /// - Throws: ``TokenError`` with the code `malformedKey`, `unsupportedKey`, `privateKeyRequired`, `passwordRequired`,
    ///   `incorrectPassword`, `algorithmMismatch` or `unsupportedAlgorithm`.
    public init(pem: String, password: String? = nil, algorithm: JWSAlgorithm? = nil) throws(TokenError) {
        if pem.contains("BEGIN PUBLIC KEY-----"), !pem.contains("PRIVATE KEY-----") {
            throw TokenError(.privateKeyRequired, "the PEM has a public key: give the private key that belongs to it")
        }
        let secret = password.map { Array($0.utf8).withBytes { SecretBytes(copying: $0) } }
        let key = try TokenError.refusingKey { () throws(CryptoError) in try ECPrivateKey(pem: pem, password: secret) }
        let details = try AlgorithmDescription.forKey(on: key.curve, wanted: algorithm)
        switch details.scheme {
        case .ecdsa(_, let hash):
            try self.init(key, hash: hash, document: VerificationKey.document(for: key.publicKey, details))
        }
    }

    /// Makes a key of a private JWK, after checking its numbers, that its private and public parts belong together, and that
    /// `use`, `key_ops` and `alg` allow signing.
    ///
    /// - Parameter jwk: A JWK with its private members.
    /// - Throws: ``TokenError`` with the code `malformedKey`, `unsupportedKey`, `keyMismatch`, `privateKeyRequired` or
    ///   `unsupportedAlgorithm`.
    public init(jwk: JWK) throws(TokenError) {
        let details = try jwk.algorithmDetails(for: .signing)
        guard jwk.isPrivate else {
            throw TokenError(.privateKeyRequired, "the JWK has a public key: give the private key that belongs to it")
        }
        switch details.scheme {
        case .ecdsa(let curve, let hash):
            let key = try ECPrivateKey(jwk, on: curve)
            try self.init(key, hash: hash, document: VerificationKey.document(for: key.publicKey, details, from: jwk))
        }
    }

    private init(_ key: ECPrivateKey, hash: HashFunction, document: JWK) throws(TokenError) {
        verificationKey = try VerificationKey(key.publicKey, hash: hash, document: document)
        material = .ec(key, hash)
    }
}

extension SigningKey {
    /// The algorithm the key signs with.
    public var algorithm: JWSAlgorithm { verificationKey.algorithm }

    /// The ID that the JWK had from which the key was made, or `nil`.
    public var keyID: String? { verificationKey.keyID }

    /// The private key as PEM (PKCS#8), not encrypted.
    ///
    /// - Returns: The PEM text. Keep it secret.
    /// - Throws: ``TokenError`` with the code `malformedKey` if OpenSSL can't write the key.
    public func pem() throws(TokenError) -> String {
        switch material {
        case .ec(let key, _): try TokenError.refusingKey { () throws(CryptoError) in try key.pkcs8PEM() }
        }
    }

    /// The private key as a JWK, private members included.
    ///
    /// - Returns: The JWK. Keep it secret; ``VerificationKey/jwk`` is the one to publish.
    /// - Throws: ``TokenError`` with the code `malformedKey` if OpenSSL can't give the key out.
    public func privateJWK() throws(TokenError) -> JWK {
        var members = verificationKey.jwk.members
        switch material {
        case .ec(let key, _):
            let scalar = try TokenError.refusingKey { () throws(CryptoError) in try key.scalar() }
            members["d"] = .string(scalar.withBytes { Base64URL.encode($0) })
        }
        // What the public half is declared for is not what the private one is for.
        if members["key_ops"] != nil { members["key_ops"] = ["sign"] }
        return try JWK(members)
    }

    /// Signs a message with the key's algorithm.
    ///
    /// - Throws: ``TokenError`` with the code `signingFailed`.
    package func signature(for message: RawSpan) throws(TokenError) -> [UInt8] {
        switch material {
        case .ec(let key, let hash):
            do throws(CryptoError) {
                return try key.signature(for: message, hash: hash)
            } catch {
                throw TokenError(
                    .signingFailed,
                    "the \(algorithm) signature could not be made: \(error.message)",
                    cause: error
                )
            }
        }
    }
}

extension ECPrivateKey {
    /// Reads the numbers of a JWK.
    init(_ jwk: JWK, on curve: EllipticCurve) throws(TokenError) {
        let size = curve.coordinateSize
        let x = try jwk.octets(of: "x", count: size)
        let y = try jwk.octets(of: "y", count: size)
        let scalar = try jwk.octets(of: "d", count: size).withBytes { SecretBytes(copying: $0) }
        self = try TokenError.refusingKey { () throws(CryptoError) in
            try ECPrivateKey(curve: curve, scalar: scalar, x: x, y: y)
        }
    }
}

extension SigningKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The algorithm and the thumbprint of the public half; nothing private.
    public var description: String {
        "SigningKey(\(algorithm), thumbprint \(verificationKey.thumbprint), private part not shown)"
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// The public half.
    public var customMirror: Mirror {
        Mirror(self, children: ["verificationKey": verificationKey], displayStyle: .struct)
    }
}
