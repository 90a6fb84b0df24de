extension ECPublicKey {
    /// Reads a key from PEM.
    ///
    /// - Parameter pem: Text with exactly one block, a SubjectPublicKeyInfo. Lines before it are
    ///   ignored.
    /// - Throws: ``CryptoError/Code/malformedKey``, ``CryptoError/Code/wrongKeyType`` (also for a
    ///   private key), ``CryptoError/Code/unsupportedCurve`` or
    ///   ``CryptoError/Code/pointNotOnCurve``.
    package init(pem: String) throws(CryptoError) {
        let block = try PEMBlock.only(in: pem)
        guard block.label == "PUBLIC KEY" else {
            throw CryptoError(
                .wrongKeyType,
                "Line \(block.line) starts a “\(block.label)” block, but a public key requires “PUBLIC KEY”"
            )
        }
        self = try block.contents.withBytes { bytes throws(CryptoError) in try ECPublicKey(spki: bytes) }
    }

    /// Reads a key from DER.
    ///
    /// - Parameter der: A SubjectPublicKeyInfo.
    /// - Throws: The same errors as ``init(pem:)``.
    package init(der: [UInt8]) throws(CryptoError) {
        self = try der.withBytes { bytes throws(CryptoError) in
            switch try KeyFormat(detectedIn: bytes) {
            case .publicKey: try ECPublicKey(spki: bytes)
            case let other: throw CryptoError(.wrongKeyType, "Expected a public key, but this is \(other)")
            }
        }
    }

    /// Returns a PEM block with the label `PUBLIC KEY`, identical to the output of
    /// `openssl pkey -pubout`.
    package func spkiPEM() -> String {
        spkiDER().withBytes { PEMWriter.text("PUBLIC KEY", $0) }
    }

    /// Returns the SubjectPublicKeyInfo, with a named curve and an uncompressed point.
    package func spkiDER() -> [UInt8] {
        ECKeyWriter(curve: curve, point: point).publicKey()
    }

    private init(spki bytes: RawSpan) throws(CryptoError) {
        let key = try SubjectPublicKeyInfo(bytes)
        guard key.algorithm == .ellipticCurveKey else {
            throw CryptoError(.wrongKeyType, "Expected an EC key, but the algorithm of this key is \(key.algorithm)")
        }
        try self.init(ECKeyReader(key, in: bytes))
    }

    /// Creates a key after checking the point that was read.
    init(_ key: ECKeyReader) throws(CryptoError) {
        guard let encoded = key.points.first else { throw CryptoError(.malformedKey, "The key has no public point") }
        let group = try CurveGroup.shared(for: key.curve)
        let point = try encoded.withBytes { encoded throws(CryptoError) in try group.point(decoding: encoded) }
        self.init(key.curve, checked: point)
    }
}
