/// How much work encrypted keys and files ask for before a password can be checked, and the most that is done.
///
/// The numbers come from the file: without a limit, a forged one would keep a thread busy for days. A file that asks for
/// several key derivations has one budget for all of them.
struct KeyDerivationCost {
    /// Sixteen times what OWASP recommends for PBKDF2 with SHA-256; some seconds of work.
    static let maximumIterations = 10_000_000
    /// N · r · p; 128 times OpenSSL's default.
    private static let maximumScryptCost = 1 << 24

    private let name: StaticString
    private let code: CryptoError.Code
    /// The iterations so far.
    private var total = 0

    /// Starts with nothing spent.
    ///
    /// - Parameters:
    ///   - name: What asks for the key derivations, for the error.
    ///   - code: The code of the errors to throw.
    init(_ name: StaticString = "encrypted private key", code: CryptoError.Code = .malformedKey) {
        self.name = name
        self.code = code
    }

    /// Adds the key derivation of an EncryptedPrivateKeyInfo.
    ///
    /// - Throws: The code if it can't be read, or the total is more than the limit.
    mutating func add(encryptedKey bytes: RawSpan) throws(CryptoError) {
        var whole = DERReader(bytes.byteOffsets, code: code)
        let sequence = try whole.contents(DERReader.Tag.sequence, name, in: bytes)
        try whole.finish(name)
        var reader = DERReader(sequence, code: code)
        let (identifier, parameters) = try algorithm(&reader, in: bytes)
        try add(identifier, parameters, in: bytes)
    }

    /// Adds the key derivation of an AlgorithmIdentifier.
    ///
    /// - Throws: The code if it can't be read, or the total is more than the limit.
    mutating func add(algorithm bytes: RawSpan) throws(CryptoError) {
        var whole = DERReader(bytes.byteOffsets, code: code)
        let (identifier, parameters) = try algorithm(&whole, in: bytes)
        try whole.finish("encryption's algorithm")
        try add(identifier, parameters, in: bytes)
    }

    /// Adds a key derivation.
    ///
    /// - Throws: The code if the total is more than the limit.
    mutating func add(iterations: Int) throws(CryptoError) {
        let (sum, overflow) = total.addingReportingOverflow(iterations)
        total = overflow ? .max : sum
        guard iterations >= 0, total <= Self.maximumIterations else {
            throw CryptoError(
                code,
                "The \(name) asks for key derivations of \(total) iterations: at most \(Self.maximumIterations) are accepted"
            )
        }
    }

    /// Checks the numbers of PBKDF2 and scrypt ([RFC 8018 §A](https://www.rfc-editor.org/rfc/rfc8018#appendix-A),
    /// [RFC 7914 §7](https://www.rfc-editor.org/rfc/rfc7914#section-7)) and of the older methods, which have an
    /// iteration count in the same place as PBKDF2.
    private mutating func add(
        _ identifier: ObjectIdentifier,
        _ parameters: DERReader,
        in bytes: RawSpan
    ) throws(CryptoError) {
        var identifier = identifier
        var parameters = parameters
        if identifier == .pbes2 || identifier == .pbmac1 {
            (identifier, parameters) = try algorithm(&parameters, in: bytes)
        }
        _ = try parameters.contents(DERReader.Tag.octetString, "key derivation's salt", in: bytes)
        let cost = try parameters.smallInteger("key derivation's cost", in: bytes)
        guard identifier == .scrypt else { return try add(iterations: cost) }
        let blockSize = try parameters.smallInteger("scrypt block size", in: bytes)
        let parallelization = try parameters.smallInteger("scrypt parallelization", in: bytes)
        let (first, overflow) = cost.multipliedReportingOverflow(by: blockSize)
        let (second, secondOverflow) = first.multipliedReportingOverflow(by: parallelization)
        guard !overflow, !secondOverflow, second <= Self.maximumScryptCost else {
            throw CryptoError(
                code,
                "The \(name) asks for a key derivation with scrypt of more than \(Self.maximumScryptCost) blocks"
            )
        }
        // A block of scrypt takes about as long as 0.6 iterations of PBKDF2: the two limits are the same time.
        try add(iterations: second * (Self.maximumIterations / 1_000) / (Self.maximumScryptCost / 1_000))
    }

    /// Reads an algorithm with a SEQUENCE of parameters.
    private func algorithm(
        _ reader: inout DERReader,
        in bytes: RawSpan
    ) throws(CryptoError) -> (ObjectIdentifier, DERReader) {
        let contents = try reader.contents(DERReader.Tag.sequence, "encryption's algorithm", in: bytes)
        var algorithm = DERReader(contents, code: code)
        let identifier = try algorithm.contents(DERReader.Tag.objectIdentifier, "encryption's identifier", in: bytes)
        let parameters = try algorithm.contents(DERReader.Tag.sequence, "encryption's parameters", in: bytes)
        return (ObjectIdentifier(octets: identifier.map { bytes[$0] }), DERReader(parameters, code: code))
    }
}
