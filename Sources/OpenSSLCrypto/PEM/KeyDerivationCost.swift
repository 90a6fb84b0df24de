/// How much work an encrypted key asks for before its password can be checked.
///
/// The numbers come from the file: without a limit, a forged one would keep a thread busy for days.
enum KeyDerivationCost {
    /// Checks the numbers of PBKDF2 and scrypt ([RFC 8018 §A](https://www.rfc-editor.org/rfc/rfc8018#appendix-A),
    /// [RFC 7914 §7](https://www.rfc-editor.org/rfc/rfc7914#section-7)) and of the older methods, which have an
    /// iteration count in the same place as PBKDF2.
    static func check(encryptedKey bytes: RawSpan) throws(CryptoError) {
        var whole = DERReader(bytes.byteOffsets, code: .malformedKey)
        let sequence = try whole.contents(DERReader.Tag.sequence, "encrypted private key", in: bytes)
        try whole.finish("encrypted private key")
        var reader = DERReader(sequence, code: .malformedKey)
        var (identifier, parameters) = try algorithm(&reader, in: bytes)
        if identifier == .pbes2 {
            (identifier, parameters) = try algorithm(&parameters, in: bytes)
        }
        _ = try parameters.contents(DERReader.Tag.octetString, "key derivation's salt", in: bytes)
        var cost = try parameters.smallInteger("key derivation's cost", in: bytes)
        var limit = maximumIterations
        if identifier == .scrypt {
            let blockSize = try parameters.smallInteger("scrypt block size", in: bytes)
            let parallelization = try parameters.smallInteger("scrypt parallelization", in: bytes)
            let (first, overflow) = cost.multipliedReportingOverflow(by: blockSize)
            let (second, secondOverflow) = first.multipliedReportingOverflow(by: parallelization)
            cost = overflow || secondOverflow ? .max : second
            limit = maximumScryptCost
        }
        guard cost <= limit else {
            throw CryptoError(
                .malformedKey,
                "The encrypted private key asks for a key derivation of cost \(cost): at most \(limit) is accepted"
            )
        }
    }

    /// Sixteen times what OWASP recommends for PBKDF2 with SHA-256; some seconds of work.
    static let maximumIterations = 10_000_000
    /// N · r · p; 128 times OpenSSL's default.
    private static let maximumScryptCost = 1 << 24

    /// Reads an algorithm with a SEQUENCE of parameters.
    private static func algorithm(
        _ reader: inout DERReader,
        in bytes: RawSpan
    ) throws(CryptoError) -> (ObjectIdentifier, DERReader) {
        let contents = try reader.contents(DERReader.Tag.sequence, "encryption's algorithm", in: bytes)
        var algorithm = DERReader(contents, code: .malformedKey)
        let identifier = try algorithm.contents(DERReader.Tag.objectIdentifier, "encryption's identifier", in: bytes)
        let parameters = try algorithm.contents(DERReader.Tag.sequence, "encryption's parameters", in: bytes)
        return (
            ObjectIdentifier(octets: identifier.map { bytes[$0] }), DERReader(parameters, code: .malformedKey)
        )
    }
}
