extension ECPublicKey {
    /// Reads a key from PEM.
    ///
    /// - Parameter pem: A text with exactly one block, a SubjectPublicKeyInfo; lines before it are ignored.
    /// - Throws: ``CryptoError/Code/malformedKey``, ``CryptoError/Code/wrongKeyType`` (also for a private key),
    ///   ``CryptoError/Code/unsupportedCurve`` or ``CryptoError/Code/pointNotOnCurve``.
    package init(pem: String) throws(CryptoError) {
        let block = try PEMBlock.only(in: pem)
        guard block.label == "PUBLIC KEY" else {
            throw CryptoError(
                .wrongKeyType,
                "Line \(block.line) begins a block “\(block.label)”: a public key is in a block “PUBLIC KEY”"
            )
        }
        self = try block.contents.withBytes { bytes throws(CryptoError) in try ECPublicKey(spki: bytes) }
    }

    /// Reads a key from DER.
    ///
    /// - Parameter der: A SubjectPublicKeyInfo.
    /// - Throws: As ``init(pem:)``.
    package init(der: [UInt8]) throws(CryptoError) {
        self = try der.withBytes { bytes throws(CryptoError) in
            switch try KeyFormat(detectedIn: bytes) {
            case .publicKey: try ECPublicKey(spki: bytes)
            case let other: throw CryptoError(.wrongKeyType, "A public key is needed, and this is \(other)")
            }
        }
    }

    /// Writes the key as PEM.
    ///
    /// - Returns: A `PUBLIC KEY` block, equal to what `openssl pkey -pubout` writes.
    package func spkiPEM() -> String {
        spkiDER().withBytes { PEMWriter.text("PUBLIC KEY", $0) }
    }

    /// Writes the key as DER.
    ///
    /// - Returns: The SubjectPublicKeyInfo, with a named curve and an uncompressed point.
    package func spkiDER() -> [UInt8] {
        ECKeyWriter(curve: curve, point: point).publicKey()
    }

    private init(spki bytes: RawSpan) throws(CryptoError) {
        let key = try SubjectPublicKeyInfo(bytes)
        guard key.algorithm == .ellipticCurveKey else {
            throw CryptoError(.wrongKeyType, "An EC key is needed, and the algorithm of this one is \(key.algorithm)")
        }
        try self.init(ECKeyReader(key, in: bytes))
    }

    /// Checks the point that was read.
    init(_ key: ECKeyReader) throws(CryptoError) {
        guard let encoded = key.points.first else { throw CryptoError(.malformedKey, "The key has no public point") }
        let group = try CurveGroup.shared(for: key.curve)
        let point = try encoded.withBytes { encoded throws(CryptoError) in try group.point(decoding: encoded) }
        try self.init(key.curve, checked: point)
    }
}
