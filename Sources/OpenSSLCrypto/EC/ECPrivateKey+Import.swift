extension ECPrivateKey {
    /// Reads a key pair from PEM.
    ///
    /// The supported formats are PKCS#8 (`PRIVATE KEY`), encrypted PKCS#8 (`ENCRYPTED PRIVATE KEY`)
    /// and SEC 1 (`EC PRIVATE KEY`). SEC 1 may be encrypted with OpenSSL's legacy method, and may
    /// follow an `EC PARAMETERS` block, which is ignored. The public point is computed from the
    /// scalar and must match the one in the key, if present.
    ///
    /// - Parameters:
    ///   - pem: Text with exactly one key, at most 64 KiB. Lines before the key are ignored; lines
    ///     after it are rejected.
    ///   - password: The password of an encrypted key, at most 1024 bytes; ignored for other keys.
    ///     OpenSSL never prompts for one.
    /// - Throws: ``CryptoError/Code/malformedKey``, ``CryptoError/Code/wrongKeyType`` (also for a
    ///   public key), ``CryptoError/Code/unsupportedCurve``, ``CryptoError/Code/pointNotOnCurve``,
    ///   ``CryptoError/Code/invalidScalar``, ``CryptoError/Code/keyMismatch``,
    ///   ``CryptoError/Code/passwordRequired``, ``CryptoError/Code/incorrectPassword``,
    ///   ``CryptoError/Code/invalidArgument`` (password too long) or ``CryptoError/Code/openSSL``
    ///   (unknown encryption).
    package init(pem: String, password: SecretBytes? = nil) throws(CryptoError) {
        try self.init(PrivateKey(pem: pem, password: password))
    }

    /// Reads a key pair from DER.
    ///
    /// - Parameter der: A PKCS#8 PrivateKeyInfo or a SEC 1 ECPrivateKey. The caller must clear it.
    /// - Throws: The same errors as ``init(pem:password:)``; ``CryptoError/Code/passwordRequired``
    ///   for an encrypted key.
    package init(der: [UInt8]) throws(CryptoError) {
        try self.init(PrivateKey(der: der))
    }

    private init(_ key: PrivateKey) throws(CryptoError) {
        guard case .ellipticCurve(let key) = key else {
            throw CryptoError(
                .wrongKeyType,
                "Expected an EC key, but the algorithm of this key is \(key.kind)"
            )
        }
        self = key
    }

    /// Creates a key pair after checking the numbers that were read.
    init(_ key: ECKeyReader) throws(CryptoError) {
        guard let scalar = key.scalar else { throw CryptoError(.wrongKeyType, "The key doesn't contain a private key") }
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
