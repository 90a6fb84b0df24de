internal import OpenSSLCrypto

indirect enum SigningMaterial: Sendable {
    case hmac(HMAC, SecretBytes)
    case ec(ECPrivateKey, HashFunction)
    case rsa(RSAPrivateKey, RSASigner)
    case edwards(EdwardsPrivateKey)
    case mldsa(MLDSAPrivateKey)

    init(generating details: AlgorithmDescription, rsaKeySize: Int) throws(TokenError) {
        self = try TokenError.generating(orFailWith: .signingFailed) { () throws(CryptoError) in
            switch details.scheme {
            case .hmac(let hash):
                let secret = try SecureRandom.secret(count: details.minimumSecretSize)
                return .hmac(try HMAC(hash, key: secret), secret)
            case .ecdsa(let curve, let hash): return .ec(try .generate(curve), hash)
            case .rsa(let padding, let hash):
                let key = try RSAPrivateKey.generate(bitCount: rsaKeySize)
                return .rsa(key, try key.signer(padding, hash: hash))
            case .edwards(let curve): return .edwards(try .generate(curve ?? .ed25519))
            case .mldsa(let parameters): return .mldsa(try .generate(parameters))
            }
        }
    }

    init(_ secret: SecretBytes, _ details: AlgorithmDescription) throws(TokenError) {
        guard case .hmac(let hash) = details.scheme else { throw TokenError(mismatched: details.algorithm, "a secret") }
        self = .hmac(try TokenError.refusingKey(HMAC(hash, key: secret)), secret)
    }

    init(_ key: PrivateKey, _ details: AlgorithmDescription) throws(TokenError) {
        switch (key, details.scheme) {
        case (.ellipticCurve(let key), .ecdsa(_, let hash)):
            self = .ec(key, hash)
        case (.rsa(let key), .rsa(let padding, let hash)):
            let signer = try TokenError.refusingKey(key.signer(padding, hash: hash))
            self = .rsa(key, signer)
        case (.edwards(let key), .edwards):
            self = .edwards(key)
        case (.mldsa(let key), .mldsa):
            self = .mldsa(key)
        default:
            throw TokenError(mismatched: details.algorithm, key.kind)
        }
    }

    /// The JWK's declarations must have been checked.
    init(_ jwk: JWK, _ details: AlgorithmDescription) throws(TokenError) {
        switch details.scheme {
        case .hmac:
            try self.init(SharedSecret.checked(jwk.octets(of: "k"), for: details, isLongEnough: true), details)
        case .ecdsa, .rsa, .edwards, .mldsa:
            try self.init(jwk.keyPair(), details)
        }
    }

    var keyPair: PrivateKey? {
        switch self {
        case .hmac: nil
        case .ec(let key, _): .ellipticCurve(key)
        case .rsa(let key, _): .rsa(key)
        case .edwards(let key): .edwards(key)
        case .mldsa(let key): .mldsa(key)
        }
    }

    func signature(for message: RawSpan) throws(CryptoError) -> [UInt8] {
        switch self {
        case .hmac(let code, _): try code.authenticationCode(for: message)
        case .ec(let key, let hash): try key.signature(for: message, hash: hash)
        case .rsa(_, let signer): try signer.signature(for: message)
        case .edwards(let key): try key.signature(for: message)
        case .mldsa(let key): try key.signature(for: message)
        }
    }

    func verification(_ details: AlgorithmDescription) throws(TokenError) -> VerificationMaterial {
        if case .hmac(let code, _) = self { return .hmac(code) }
        guard let key = keyPair?.publicKey else { throw TokenError(mismatched: details.algorithm, "a secret") }
        return try VerificationMaterial(key, details)
    }

    func privateMembers() throws(TokenError) -> JSONObject {
        if case .hmac(_, let secret) = self { return ["k": .base64URL(secret)] }
        return try TokenError.refusingKey(keyPair?.jwkPrivateMembers() ?? [:])
    }

    /// `nil` for keys whose thumbprint follows from their public members.
    func secretThumbprint() throws(TokenError) -> String? {
        guard case .hmac = self else { return nil }
        var members = try privateMembers()
        members["kty"] = .string(KeyType.oct.rawValue)
        return try JWK(members).thumbprint
    }
}

indirect enum VerificationMaterial: Sendable {
    case hmac(HMAC)
    case ec(ECPublicKey, HashFunction)
    case rsa(RSAPublicKey, RSAVerifier)
    case edwards(EdwardsPublicKey)
    case mldsa(MLDSAPublicKey)

    init(_ key: PublicKey, _ details: AlgorithmDescription) throws(TokenError) {
        switch (key, details.scheme) {
        case (.ellipticCurve(let key), .ecdsa(_, let hash)):
            self = .ec(key, hash)
        case (.rsa(let key), .rsa(let padding, let hash)):
            let verifier = try TokenError.refusingKey(key.verifier(padding, hash: hash))
            self = .rsa(key, verifier)
        case (.edwards(let key), .edwards):
            self = .edwards(key)
        case (.mldsa(let key), .mldsa):
            self = .mldsa(key)
        default:
            throw TokenError(mismatched: details.algorithm, key.kind)
        }
    }

    var publicKey: PublicKey? {
        switch self {
        case .hmac: nil
        case .ec(let key, _): .ellipticCurve(key)
        case .rsa(let key, _): .rsa(key)
        case .edwards(let key): .edwards(key)
        case .mldsa(let key): .mldsa(key)
        }
    }

    var secretSize: Int? {
        if case .hmac(let code) = self { code.keySize } else { nil }
    }

    /// A signature of the wrong length isn't valid.
    func isValidSignature(_ signature: RawSpan, for message: RawSpan) -> Bool {
        switch self {
        case .hmac(let code): code.isValid(signature, for: message)
        case .ec(let key, let hash): key.isValidSignature(signature, for: message, hash: hash)
        case .rsa(_, let verifier): verifier.isValidSignature(signature, for: message)
        case .edwards(let key): key.isValidSignature(signature, for: message)
        case .mldsa(let key): key.isValidSignature(signature, for: message)
        }
    }
}

/// The checks of an HMAC algorithm's key.
enum SharedSecret {
    /// A long enough secret has at least the size of [RFC 7518
    /// §3.2](https://www.rfc-editor.org/rfc/rfc7518#section-3.2).
    static func checked(
        _ octets: [UInt8],
        for details: AlgorithmDescription,
        isLongEnough: Bool
    ) throws(TokenError) -> SecretBytes {
        guard !octets.isEmpty else {
            throw TokenError(.weakKey, "the secret is empty, so anyone could sign with it")
        }
        guard !octets.allSatisfy(\.isBlank) else {
            throw TokenError(.weakKey, "the secret is blank; check that its variable is set")
        }
        guard octets.count <= Self.maximumSize else {
            throw TokenError(.tooLarge, "the secret has \(octets.count) bytes, but the limit is \(Self.maximumSize)")
        }
        if let format = KeyText.format(of: octets) {
            throw TokenError(
                .malformedKey,
                "the secret is \(format), so anyone who has that text could sign with it. Import the text as a key, or use "
                    + "the secret's own bytes"
            )
        }
        guard octets.contains(where: { $0 != 0 }) else {
            throw TokenError(.weakKey, "the secret is all zeros, so anyone could sign with it")
        }
        let size = HMAC.keySize(of: octets.span.octets)
        let minimum = details.minimumSecretSize
        guard !isLongEnough || size >= minimum else {
            let padding = size < octets.count ? " before its trailing zeros, which equal HMAC's padding" : ""
            throw TokenError(
                .weakKey,
                "the secret has \(size) bytes\(padding), but \(details.algorithm) needs at least \(minimum) (RFC 7518 §3.2)"
            )
        }
        return SecretBytes(copying: octets.span.octets)
    }

    private static let maximumSize = 65_536
}
