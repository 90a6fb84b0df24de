internal import OpenSSLCrypto

extension JWK {
    /// Reads and checks the members of a public key, and ignores private members.
    ///
    /// - Throws: ``TokenError`` with the code `malformedKey`, `weakKey`, `unsupportedKey` or
    ///   `tooLarge`.
    func publicKey(maximumRSAKeySize: Int = RSAKeyLimit.configuration) throws(TokenError) -> PublicKey {
        switch KeyType(rawValue: keyType) {
        case .ec:
            let curve = try supportedCurve(EllipticCurve.init(name:))
            let x = try octets(of: "x", count: curve.coordinateSize)
            let y = try octets(of: "y", count: curve.coordinateSize)
            return try TokenError.refusingKey(.ellipticCurve(ECPublicKey(curve: curve, x: x, y: y)))
        case .rsa:
            let modulus = try number("n")
            let exponent = try number("e")
            return try TokenError.refusingKey(
                .rsa(RSAPublicKey(modulus: modulus, exponent: exponent, maximumBitCount: maximumRSAKeySize))
            )
        case .okp:
            if let curve = montgomeryCurve {
                let octets = try octets(of: "x", count: curve.keySize)
                return try TokenError.refusingKey(.montgomery(MontgomeryPublicKey(curve: curve, octets: octets)))
            }
            let curve = try supportedCurve(EdwardsCurve.init(name:))
            let octets = try octets(of: "x", count: curve.keySize)
            return try TokenError.refusingKey(.edwards(EdwardsPublicKey(curve: curve, octets: octets)))
        case .akp:
            let parameters = try mldsaParameters()
            let octets = try octets(of: "pub", count: parameters.keySize)
            return try TokenError.refusingKey(.mldsa(MLDSAPublicKey(parameters: parameters, octets: octets)))
        default:
            throw TokenError(.unsupportedKey, "a key of kty \(TokenError.shown(keyType)) has no public part")
        }
    }

    /// Reads and checks the members of a key pair.
    ///
    /// - Throws: ``TokenError`` with the code `malformedKey`, `weakKey`, `keyMismatch`,
    ///   `unsupportedKey` or `tooLarge`.
    func keyPair() throws(TokenError) -> PrivateKey {
        switch KeyType(rawValue: keyType) {
        case .ec:
            let curve = try supportedCurve(EllipticCurve.init(name:))
            let x = try octets(of: "x", count: curve.coordinateSize)
            let y = try octets(of: "y", count: curve.coordinateSize)
            let scalar = try secretOctets(of: "d", count: curve.coordinateSize)
            return try TokenError.refusingKey(.ellipticCurve(ECPrivateKey(curve: curve, scalar: scalar, x: x, y: y)))
        case .rsa:
            let modulus = try number("n")
            let exponent = try number("e")
            let privateExponent = try secretNumber("d")
            let factors = try rsaFactors()
            return try TokenError.refusingKey(
                .rsa(
                    RSAPrivateKey(
                        modulus: modulus,
                        exponent: exponent,
                        privateExponent: privateExponent,
                        factors: factors
                    )
                )
            )
        case .okp:
            if let curve = montgomeryCurve {
                let octets = try octets(of: "x", count: curve.keySize)
                let seed = try secretOctets(of: "d", count: curve.keySize)
                return try TokenError.refusingKey(
                    .montgomery(MontgomeryPrivateKey(curve: curve, seed: seed, expecting: octets))
                )
            }
            let curve = try supportedCurve(EdwardsCurve.init(name:))
            let octets = try octets(of: "x", count: curve.keySize)
            let seed = try secretOctets(of: "d", count: curve.keySize)
            return try TokenError.refusingKey(.edwards(EdwardsPrivateKey(curve: curve, seed: seed, expecting: octets)))
        case .akp:
            let parameters = try mldsaParameters()
            let octets = try octets(of: "pub", count: parameters.keySize)
            let seed = try secretOctets(of: "priv", count: MLDSAParameters.seedSize)
            return try TokenError.refusingKey(
                .mldsa(MLDSAPrivateKey(parameters: parameters, seed: seed, expecting: octets))
            )
        default:
            throw TokenError(.unsupportedKey, "a key of kty \(TokenError.shown(keyType)) isn't a key pair")
        }
    }

    private var montgomeryCurve: MontgomeryCurve? { curve.flatMap(MontgomeryCurve.init(name:)) }

    private func secretOctets(of name: String, count: Int) throws(TokenError) -> SecretBytes {
        try octets(of: name, count: count).withBytes { SecretBytes(copying: $0) }
    }
}

extension PublicKey {
    /// The public members of a JWK that define the key, without `kty`.
    var jwkMembers: JSONObject {
        switch self {
        case .ellipticCurve(let key):
            ["crv": .string(key.curve.name), "x": .base64URL(key.x), "y": .base64URL(key.y)]
        case .rsa(let key): ["n": .base64URL(key.modulus), "e": .base64URL(key.exponent)]
        case .edwards(let key): ["crv": .string(key.curve.name), "x": .base64URL(key.octets)]
        case .montgomery(let key): ["crv": .string(key.curve.name), "x": .base64URL(key.octets)]
        case .mldsa(let key): ["alg": .string(key.parameters.name), "pub": .base64URL(key.octets)]
        }
    }
}

extension PrivateKey {
    /// The private members of a JWK.
    ///
    /// - Throws: ``CryptoError`` if OpenSSL can't export the key.
    func jwkPrivateMembers() throws(CryptoError) -> JSONObject {
        switch self {
        case .ellipticCurve(let key): return ["d": .base64URL(try key.scalar())]
        case .rsa(let key):
            let factors = try key.factors()
            return [
                "d": .base64URL(try key.privateExponent()), "p": .base64URL(factors.p), "q": .base64URL(factors.q),
                "dp": .base64URL(factors.dp), "dq": .base64URL(factors.dq), "qi": .base64URL(factors.qi),
            ]
        case .edwards(let key): return ["d": .base64URL(try key.seed())]
        case .montgomery(let key): return ["d": .base64URL(try key.seed())]
        case .mldsa(let key): return ["priv": .base64URL(try key.seed())]
        }
    }
}

extension JSONValue {
    /// Returns the base64url text of bytes.
    static func base64URL(_ bytes: [UInt8]) -> JSONValue { .string(Base64URL.encode(bytes)) }

    /// Returns the base64url text of a secret.
    static func base64URL(_ bytes: SecretBytes) -> JSONValue {
        .string(bytes.withBytes { Base64URL.encode(Span<UInt8>(_bytes: $0)) })
    }
}
