extension ProtectedHeader {
    /// Returns the header's algorithm, which must be asymmetric and accepted.
    func asymmetricAlgorithm(
        among accepted: Set<JWSAlgorithm>,
        for purpose: String
    ) throws(TokenError) -> JWSAlgorithm {
        guard let algorithm = JWSAlgorithm(rawValue: self.algorithm), accepted.contains(algorithm),
            !algorithm.isSymmetric
        else {
            throw TokenError(
                .unsupportedAlgorithm,
                "\(TokenError.shown(self.algorithm)) isn't an accepted algorithm for \(purpose)"
            )
        }
        return algorithm
    }
}

extension VerificationKey {
    /// Returns only the members that define a public key, to be sent with a message.
    ///
    /// Receivers don't need the rest of the JWK.
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm` for a shared secret.
    func jwkForMessages(of purpose: String) throws(TokenError) -> JSONObject {
        guard !algorithm.isSymmetric, let names = KeyType(rawValue: jwk.keyType).thumbprintMembers else {
            throw TokenError(.unsupportedAlgorithm, "\(algorithm) isn't an algorithm for \(purpose); use a key pair")
        }
        return JSONObject(names.compactMap { name in jwk.members[name].map { (name, $0) } })
    }

    /// Creates the public key of a sender from a JWK that came with a message.
    ///
    /// The algorithm is that of the message's header. Certificates and their thumbprints (`x5c`,
    /// `x5u`, `x5t`) are ignored: the sender chose them, and decoding them is work. Errors have the
    /// name of the JWK.
    ///
    /// - Throws: ``TokenError`` with the code `publicKeyRequired` for a private or symmetric key,
    ///   `algorithmMismatch`, or the code for another problem with the key.
    init(sentAs members: JSONObject, for algorithm: JWSAlgorithm, _ name: String) throws(TokenError) {
        var jwk = try JWK(members)
        guard !jwk.isPrivate, KeyType(rawValue: jwk.keyType) != .oct else {
            throw TokenError(.publicKeyRequired, "\(name) is a private key; its owner must replace that key")
        }
        for name in ["x5c", "x5u", "x5t", "x5t#S256"] { jwk.members[name] = nil }
        let key = try VerificationKey(jwk: jwk, algorithm: algorithm, maximumRSAKeySize: RSAKeyLimit.message)
        guard key.accepts(algorithm: algorithm.rawValue) else {
            throw TokenError(
                .algorithmMismatch,
                "“alg” of the header is \(algorithm), but \(name) is a key for \(key.algorithm)"
            )
        }
        self = key
    }
}
