extension ECPrivateKey {
    /// Reads a key pair from PEM.
    ///
    /// Taken are PKCS#8 (`PRIVATE KEY`), encrypted PKCS#8 (`ENCRYPTED PRIVATE KEY`) and SEC 1 (`EC PRIVATE KEY`, also
    /// encrypted by OpenSSL's older method, and after an `EC PARAMETERS` block, which is ignored). The public point is
    /// computed from the scalar and must equal the one in the key, if there is one.
    ///
    /// - Parameters:
    ///   - pem: A text with exactly one key; lines before it are ignored, others after it are refused. At most 64 KiB.
    ///   - password: The password of an encrypted key, at most 1024 octets; not used for other keys. Nobody is ever
    ///     asked for one.
    /// - Throws: ``CryptoError/Code/malformedKey``, ``CryptoError/Code/wrongKeyType`` (also for a public key),
    ///   ``CryptoError/Code/unsupportedCurve``, ``CryptoError/Code/pointNotOnCurve``,
    ///   ``CryptoError/Code/invalidScalar``, ``CryptoError/Code/keyMismatch``, ``CryptoError/Code/passwordRequired``,
    ///   ``CryptoError/Code/incorrectPassword``, ``CryptoError/Code/invalidArgument`` (password too long) or
    ///   ``CryptoError/Code/openSSL`` (unknown encryption).
    package init(pem: String, password: SecretBytes? = nil) throws(CryptoError) {
        try self.init(PrivateKey(pem: pem, password: password))
    }

    /// Reads a key pair from DER.
    ///
    /// - Parameter der: A PKCS#8 PrivateKeyInfo or a SEC 1 ECPrivateKey; the caller's to clear.
    /// - Throws: As ``init(pem:password:)``; an encrypted key is ``CryptoError/Code/passwordRequired``.
    package init(der: [UInt8]) throws(CryptoError) {
        try self.init(PrivateKey(der: der))
    }

    private init(_ key: PrivateKey) throws(CryptoError) {
        guard case .ellipticCurve(let key) = key else {
            throw CryptoError(
                .wrongKeyType,
                "An EC key is needed, and the algorithm of this one is \(key.kind)"
            )
        }
        self = key
    }

    /// Checks the numbers that were read.
    init(_ key: ECKeyReader) throws(CryptoError) {
        guard let scalar = key.scalar else { throw CryptoError(.wrongKeyType, "The key has no private part") }
        let group = try CurveGroup.shared(for: key.curve)
        var expected: CurvePoint?
        for encoded in key.points {
            let point = try encoded.withBytes { encoded throws(CryptoError) in try group.point(decoding: encoded) }
            guard expected == nil || expected == point else {
                throw CryptoError(.keyMismatch, "The key has two different public points")
            }
            expected = point
        }
        try self.init(key.curve, scalar: scalar, expecting: expected)
    }
}
