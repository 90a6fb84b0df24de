/// The total cost of the key derivations that an encrypted key or file requires, and its limit.
///
/// The counts come from the file. Without a limit, a forged file would keep a thread busy for days.
/// All key derivations of a file share one budget.
///
/// A malformed algorithm and a total beyond the limit are errors with the budget's code.
///
/// Iterations of different functions differ in cost. Therefore the unit is a quarter of an
/// iteration of PBKDF2 with HMAC-SHA-256, about 0.1 µs.
struct KeyDerivationCost {
    /// The maximum cost, in iterations of PBKDF2 with HMAC-SHA-256; about a second of work.
    ///
    /// It's enough for a PKCS#12 file whose MAC, certificates and key take 600,000 iterations each,
    /// which is what OWASP recommends, and for 1,300,000 iterations with HMAC-SHA-1.
    static let maximumIterations = 2_000_000
    /// The cost of an iteration of PBKDF2 with HMAC-SHA-256 or of a legacy method.
    private static let iteration = 4
    /// The cost of one of scrypt's N · r · p blocks.
    private static let scryptBlock = 3
    /// The cost of scrypt's two PBKDF2 calls for each of r · p, in scrypt blocks.
    private static let scryptOverhead = 8

    private let name: StaticString
    private let code: CryptoError.Code
    /// The cost so far, in quarters of an iteration.
    private var total = 0

    /// Creates an empty budget; `name` is for error messages.
    init(_ name: StaticString = "encrypted private key", code: CryptoError.Code = .malformedKey) {
        self.name = name
        self.code = code
    }

    /// Adds the key derivation of an EncryptedPrivateKeyInfo.
    mutating func add(encryptedKey bytes: RawSpan) throws(CryptoError) {
        var reader = try DERReader.sequence(name, in: bytes, code: code)
        let (identifier, parameters) = try algorithm(&reader, in: bytes)
        try add(identifier, parameters, in: bytes)
    }

    /// Adds the key derivation of an AlgorithmIdentifier.
    mutating func add(algorithm bytes: RawSpan) throws(CryptoError) {
        var whole = DERReader(bytes.byteOffsets, code: code)
        let (identifier, parameters) = try algorithm(&whole, in: bytes)
        try whole.finish("encryption's algorithm")
        try add(identifier, parameters, in: bytes)
    }

    /// Adds the key derivation of a PKCS#12 file's MAC
    /// ([RFC 7292 §B](https://www.rfc-editor.org/rfc/rfc7292#appendix-B)).
    mutating func add(iterations: Int, digest: ObjectIdentifier) throws(CryptoError) {
        let isFast = [.sha1, .sha256, .sha384, .sha512].contains(digest)
        try add(iterations, times: isFast ? Self.iteration : 2 * Self.iteration)
    }

    /// Adds the cost of PBKDF2 ([RFC 8018 §A](https://www.rfc-editor.org/rfc/rfc8018#appendix-A)),
    /// scrypt ([RFC 7914 §7](https://www.rfc-editor.org/rfc/rfc7914#section-7)) or a legacy method,
    /// whose parameters have the iteration count at the same position as PBKDF2's.
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
        switch identifier {
        case .scrypt:
            let blockSize = try parameters.smallInteger("scrypt block size", in: bytes)
            let parallelization = try parameters.smallInteger("scrypt parallelization", in: bytes)
            try add(cost + Self.scryptOverhead, times: blockSize, parallelization, Self.scryptBlock)
        case .pbkdf2:
            try add(cost, times: pseudorandomBlocks(&parameters, in: bytes))
        default:
            try add(cost, times: Self.iteration)
        }
    }

    /// Reads the remaining parameters of PBKDF2 and returns the cost of an iteration for all blocks
    /// of the key.
    private func pseudorandomBlocks(_ parameters: inout DERReader, in bytes: RawSpan) throws(CryptoError) -> Int {
        // The longest key of the ciphers that OpenSSL supports for encrypted files.
        var keySize = 32
        if parameters.nextTag(in: bytes) == DERReader.Tag.integer {
            keySize = max(try parameters.smallInteger("key derivation's key length", in: bytes), 1)
        }
        var function = ObjectIdentifier.hmacSHA1
        if parameters.nextTag(in: bytes) == DERReader.Tag.sequence {
            let contents = try parameters.contents(DERReader.Tag.sequence, "key derivation's function", in: bytes)
            var reader = DERReader(contents, code: code)
            function = try reader.identifier("key derivation's function", in: bytes)
        }
        let (cost, size) =
            switch function {
            case .hmacSHA1: (3, 20)
            case .hmacSHA256: (Self.iteration, 32)
            case .hmacSHA384: (8, 48)
            case .hmacSHA512: (8, 64)
            // The cost of HMAC-SHA3-512, the slowest supported function.
            default: (12, 32)
            }
        return Self.product(cost, (keySize - 1) / size + 1)
    }

    private mutating func add(_ count: Int, times factors: Int...) throws(CryptoError) {
        let (sum, overflow) = total.addingReportingOverflow(factors.reduce(count, Self.product))
        total = overflow ? .max : sum
        guard count >= 0, total <= Self.maximumIterations * Self.iteration else {
            throw CryptoError(
                code,
                "The \(name) requires key derivations as costly as \(total / Self.iteration) iterations of PBKDF2 "
                    + "with SHA-256, but the limit is \(Self.maximumIterations)"
            )
        }
    }

    private static func product(_ first: Int, _ second: Int) -> Int {
        let (product, overflow) = first.multipliedReportingOverflow(by: second)
        return overflow ? .max : product
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
