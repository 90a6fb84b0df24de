internal import COpenSSL

/// The encryption of private keys with PBES2
/// ([RFC 8018 §6.2](https://www.rfc-editor.org/rfc/rfc8018#section-6.2)), using PBKDF2 with
/// HMAC-SHA-256 and AES-256-CBC, which every implementation supports.
package enum PrivateKeyEncryption {
    /// OWASP's recommendation for PBKDF2 with HMAC-SHA-256 since 2023.
    package static let minimumIterations = 600_000

    static func encrypt(
        _ key: SecretBytes,
        password: SecretBytes,
        iterations: Int
    ) throws(CryptoError) -> [UInt8] {
        let maximumPasswordSize = PrivateKeyDecryption.maximumPasswordSize
        guard (1...maximumPasswordSize).contains(password.count) else {
            throw CryptoError(
                .invalidArgument,
                "The password has \(password.count) bytes, but must have 1 to \(maximumPasswordSize)"
            )
        }
        guard (minimumIterations...KeyDerivationCost.maximumIterations).contains(iterations) else {
            throw CryptoError(
                .invalidArgument,
                "\(iterations) iterations are out of range; use \(minimumIterations) "
                    + "to \(KeyDerivationCost.maximumIterations)"
            )
        }
        OpenSSLLibrary.prepareAndClearErrors()
        let information = unsafe key.withBytes { der in
            unsafe der.decoded { unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, $0, $1) }.object
        }
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(information) }
        guard unsafe information != nil else {
            throw CryptoError(failed: "d2i_PKCS8_PRIV_KEY_INFO", "Can't encrypt the private key")
        }
        let algorithm = try unsafe makeAlgorithm(iterations)
        let encrypted = unsafe password.withPassword { unsafe PKCS8_set0_pbe($0, $1, information, algorithm) }
        guard let encrypted = unsafe encrypted else {
            // Only a successful call takes ownership of the algorithm.
            unsafe X509_ALGOR_free(algorithm)
            throw CryptoError(failed: "PKCS8_set0_pbe", "Can't encrypt the private key")
        }
        defer { unsafe X509_SIG_free(encrypted) }
        return try unsafe [UInt8](encodedBy: { unsafe i2d_X509_SIG(encrypted, $0) })
            .orThrow(failed: "i2d_X509_SIG", "Can't encode the encrypted private key")
    }

    private static let saltSize = 16

    /// The caller must free the result.
    private static func makeAlgorithm(_ iterations: Int) throws(CryptoError) -> UnsafeMutablePointer<X509_ALGOR> {
        // The default salt of OpenSSL 3.0 has only 8 bytes.
        var salt = try SecureRandom.bytes(count: saltSize)
        let (cipher, size) = unsafe (EVP_aes_256_cbc(), Int32(salt.count))
        let algorithm = unsafe PKCS5_pbe2_set_iv(cipher, Int32(iterations), &salt, size, nil, NID_hmacWithSHA256)
        guard let algorithm = unsafe algorithm else {
            throw CryptoError(failed: "PKCS5_pbe2_set_iv", "Can't encrypt the private key")
        }
        return unsafe algorithm
    }
}

enum PrivateKeyDecryption {
    static func contents(of block: PEMBlock, password: SecretBytes?) throws(CryptoError) -> SecretBytes {
        let name = "The private key in line \(block.line)"
        guard block.header.isEmpty else { return try legacy(block, password: checked(password, name)) }
        return try block.contents.withBytes { der throws(CryptoError) in
            try contents(ofPKCS8: der, password: password, name)
        }
    }

    /// [RFC 5958 §3](https://www.rfc-editor.org/rfc/rfc5958#section-3); `name` is for error
    /// messages.
    static func contents(
        ofPKCS8 der: RawSpan,
        password: SecretBytes?,
        _ name: String = "The private key"
    ) throws(CryptoError) -> SecretBytes {
        let password = try checked(password, name)
        var cost = KeyDerivationCost()
        try cost.add(encryptedKey: der)
        OpenSSLLibrary.prepareAndClearErrors()
        // Successful decoding may still queue errors, which other code on this thread could mistake
        // for its own.
        defer { OpenSSLLibrary.clearErrors() }
        let encrypted = unsafe der.decoded { unsafe d2i_X509_SIG(nil, $0, $1) }.object
        defer { unsafe X509_SIG_free(encrypted) }
        guard unsafe encrypted != nil else {
            throw CryptoError(.malformedKey, failed: "d2i_X509_SIG", "Can't decode the encrypted private key")
        }
        let key = unsafe password.withPassword { unsafe PKCS8_decrypt(encrypted, $0, $1) }
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(key) }
        guard unsafe key != nil else { throw failure("PKCS8_decrypt") }
        return try unsafe SecretBytes(encodedBy: { unsafe i2d_PKCS8_PRIV_KEY_INFO(key, $0) })
            .orThrow(.malformedKey, failed: "i2d_PKCS8_PRIV_KEY_INFO", "Can't decode the decrypted private key")
    }

    /// 1 in 256 wrong passwords gives valid padding.
    static func notAKey(_ name: String) -> CryptoError {
        CryptoError(
            .incorrectPassword,
            "\(name) decrypts to invalid data; the password is wrong or the key is damaged"
        )
    }

    private static func checked(_ password: SecretBytes?, _ name: String) throws(CryptoError) -> SecretBytes {
        guard let password else {
            throw CryptoError(.passwordRequired, "\(name) is encrypted: a password is needed")
        }
        guard password.count <= maximumPasswordSize else {
            throw CryptoError(
                .invalidArgument,
                "The password has \(password.count) bytes, but the limit is \(maximumPasswordSize)"
            )
        }
        return password
    }

    /// The limit of OpenSSL's legacy method, applied to both methods for consistency.
    static let maximumPasswordSize = Int(PEM_BUFSIZE)

    /// As written by `openssl ec -aes256`: the header states the cipher.
    private static func legacy(_ block: PEMBlock, password: SecretBytes) throws(CryptoError) -> SecretBytes {
        OpenSSLLibrary.prepareAndClearErrors()
        defer { OpenSSLLibrary.clearErrors() }
        var header = Array(block.header.utf8CString)
        var cipher = unsafe EVP_CIPHER_INFO()
        let isRead = unsafe header.withUnsafeMutableBufferPointer { header in
            unsafe PEM_get_EVP_CIPHER_INFO(header.baseAddress, &cipher) == 1
        }
        guard isRead, unsafe cipher.cipher != nil else {
            let errors = OpenSSLLibrary.drainedErrors()
            throw CryptoError(
                errors.contains(where: \.isUnsupported) ? .openSSL : .malformedKey,
                failed: "PEM_get_EVP_CIPHER_INFO",
                "The header after line \(block.line) doesn't state how the private key is encrypted",
                errors: errors
            )
        }
        return try SecretBytes(capacity: block.contents.count) { output throws(CryptoError) in
            block.contents.withBytes { output.append($0) }
            let isDecrypted = unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
                var size = initializedCount
                let status = password.withBytes { password in
                    unsafe password.withUnsafeBytes { password in
                        var password = unsafe password
                        return unsafe PEM_do_header(&cipher, buffer.baseAddress, &size, copyPassword, &password)
                    }
                }
                guard status == 1, (0...initializedCount).contains(size) else { return false }
                initializedCount = size
                return true
            }
            guard isDecrypted else { throw failure("PEM_do_header") }
        }
    }

    private static func failure(_ function: StaticString) -> CryptoError {
        let errors = OpenSSLLibrary.drainedErrors()
        guard !errors.contains(where: \.isUnsupported) else {
            return CryptoError(
                failed: function,
                "This OpenSSL doesn't support the private key's encryption or its cost; encrypt it again, "
                    + "for example with “openssl pkcs8 -topk8”",
                errors: errors
            )
        }
        return CryptoError(
            .incorrectPassword,
            failed: function,
            "Can't decrypt the private key; the password is wrong or the key is damaged",
            errors: errors
        )
    }
}

/// Passes the password to OpenSSL, which would otherwise prompt on the terminal.
private func copyPassword(
    to buffer: UnsafeMutablePointer<CChar>?,
    size: Int32,
    isForWriting: Int32,
    context: UnsafeMutableRawPointer?
) -> Int32 {
    guard
        let buffer = unsafe buffer,
        let password = unsafe context?.assumingMemoryBound(to: UnsafeRawBufferPointer.self).pointee,
        password.count <= size
    else { return -1 }
    unsafe UnsafeMutableRawBufferPointer(start: buffer, count: Int(size)).copyBytes(from: password)
    return Int32(password.count)
}

/// The total cost of the key derivations that an encrypted key or file requires, and its limit:
/// without one, a forged file would keep a thread busy for days.
///
/// A malformed algorithm and a total beyond the limit are errors with the budget's code. Iterations
/// of different functions differ in cost. Therefore the unit is a quarter of an iteration of PBKDF2
/// with HMAC-SHA-256, about 0.1 µs.
struct KeyDerivationCost {
    /// In iterations of PBKDF2 with HMAC-SHA-256; about a second of work.
    ///
    /// It's enough for a PKCS#12 file whose MAC, certificates and key take 600,000 iterations each,
    /// and for 1,300,000 iterations with HMAC-SHA-1.
    static let maximumIterations = 2_000_000
    /// The cost of an iteration of PBKDF2 with HMAC-SHA-256 or of a legacy method.
    private static let iteration = 4
    /// The cost of one of scrypt's N · r · p blocks.
    private static let scryptBlock = 3
    /// The cost of scrypt's two PBKDF2 calls for each of r · p, in scrypt blocks.
    private static let scryptOverhead = 8

    private let name: StaticString
    private let code: CryptoError.Code
    /// In quarters of an iteration.
    private var total = 0

    init(_ name: StaticString = "encrypted private key", code: CryptoError.Code = .malformedKey) {
        self.name = name
        self.code = code
    }

    mutating func add(encryptedKey bytes: RawSpan) throws(CryptoError) {
        var reader = try DERReader.sequence(name, in: bytes, code: code)
        let (identifier, parameters) = try algorithm(&reader, in: bytes)
        try add(identifier, parameters, in: bytes)
    }

    mutating func add(algorithm bytes: RawSpan) throws(CryptoError) {
        var whole = DERReader(bytes.byteOffsets, code: code)
        let (identifier, parameters) = try algorithm(&whole, in: bytes)
        try whole.finish("encryption's algorithm")
        try add(identifier, parameters, in: bytes)
    }

    /// The MAC of a PKCS#12 file ([RFC 7292
    /// §B](https://www.rfc-editor.org/rfc/rfc7292#appendix-B)).
    mutating func add(iterations: Int, digest: ObjectIdentifier) throws(CryptoError) {
        let isFast = [.sha1, .sha256, .sha384, .sha512].contains(digest)
        try add(iterations, times: isFast ? Self.iteration : 2 * Self.iteration)
    }

    /// PBKDF2 ([RFC 8018 §A](https://www.rfc-editor.org/rfc/rfc8018#appendix-A)), scrypt ([RFC 7914
    /// §7](https://www.rfc-editor.org/rfc/rfc7914#section-7)) or a legacy method, whose parameters
    /// have the iteration count at the same position as PBKDF2's.
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

    /// Returns the cost of an iteration for all blocks of the key.
    private func pseudorandomBlocks(_ parameters: inout DERReader, in bytes: RawSpan) throws(CryptoError) -> Int {
        // The longest key of the ciphers that OpenSSL supports for encrypted files.
        var keySize = 32
        if parameters.nextTag(in: bytes) == DERReader.Tag.integer {
            keySize = max(try parameters.smallInteger("key derivation's key length", in: bytes), 1)
        }
        var function = ObjectIdentifier.hmacSHA1
        if parameters.nextTag(in: bytes) == DERReader.Tag.sequence {
            var reader = try parameters.reader(DERReader.Tag.sequence, "key derivation's function", in: bytes)
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

    private func algorithm(
        _ reader: inout DERReader,
        in bytes: RawSpan
    ) throws(CryptoError) -> (ObjectIdentifier, DERReader) {
        var algorithm = try reader.reader(DERReader.Tag.sequence, "encryption's algorithm", in: bytes)
        return try (
            algorithm.identifier("encryption's identifier", in: bytes),
            algorithm.reader(DERReader.Tag.sequence, "encryption's parameters", in: bytes)
        )
    }
}
