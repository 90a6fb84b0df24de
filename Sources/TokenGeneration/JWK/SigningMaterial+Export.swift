internal import OpenSSLCrypto

extension SigningMaterial {
    /// Returns the material that verifies the signatures.
    ///
    /// - Throws: ``TokenError`` if OpenSSL can't prepare it.
    func verification(_ details: AlgorithmDescription) throws(TokenError) -> VerificationMaterial {
        if case .hmac(let code, _) = self { return .hmac(code) }
        guard let key = keyPair?.publicKey else { throw TokenError(mismatched: details, "a secret") }
        return try VerificationMaterial(key, details)
    }

    /// Returns the private members of the JWK.
    ///
    /// - Throws: ``TokenError`` with the code `malformedKey` if OpenSSL can't export the key.
    func privateMembers() throws(TokenError) -> JSONObject {
        try TokenError.refusingKey { () throws(CryptoError) in
            switch self {
            case .hmac(_, let secret):
                return ["k": Self.text(secret.bytes)]
            case .ec(let key, _):
                return ["d": Self.text(try key.scalar())]
            case .rsa(let key, _):
                let factors = try key.factors()
                return [
                    "d": Self.text(try key.privateExponent()), "p": Self.text(factors.p), "q": Self.text(factors.q),
                    "dp": Self.text(factors.dp), "dq": Self.text(factors.dq), "qi": Self.text(factors.qi),
                ]
            case .edwards(let key):
                return ["d": Self.text(try key.seed())]
            }
        }
    }

    /// Returns the thumbprint of a secret, which can't be computed from public members, or `nil`
    /// for other keys.
    func secretThumbprint() throws(TokenError) -> String? {
        guard case .hmac = self else { return nil }
        var members = try privateMembers()
        members["kty"] = .string(KeyType.oct.rawValue)
        return try JWK(members).thumbprint
    }

    private static func text(_ bytes: SecretBytes) -> JSONValue {
        .string(bytes.withBytes { Base64URL.encode($0) })
    }
}
