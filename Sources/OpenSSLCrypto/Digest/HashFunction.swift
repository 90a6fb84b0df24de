internal import COpenSSL

package enum HashFunction: Sendable, Hashable, CaseIterable {
    /// Broken, only for identifiers that an existing system computes with it.
    case md5
    /// Broken, only for identifiers that an existing system computes with it.
    case sha1
    case sha256
    case sha384
    case sha512

    package var digestSize: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    /// Throws `openSSL` if OpenSSL doesn't offer the function, such as MD5 in a FIPS configuration.
    package func hash(_ bytes: RawSpan) throws(CryptoError) -> [UInt8] {
        try MessageDigest.fetched(for: self).hash(bytes)
    }

    /// `false` for functions that are unsuitable for signatures and message authentication codes.
    var isCollisionResistant: Bool {
        switch self {
        case .md5, .sha1: false
        case .sha256, .sha384, .sha512: true
        }
    }

    var openSSLName: String {
        switch self {
        case .md5: "MD5"
        case .sha1: "SHA1"
        case .sha256: "SHA2-256"
        case .sha384: "SHA2-384"
        case .sha512: "SHA2-512"
        }
    }
}

/// An incremental hash, for data that doesn't fit into memory.
@safe package final class HashState {
    private let pointer: OpaquePointer
    private let function: HashFunction

    package init(_ function: HashFunction) throws(CryptoError) {
        let digest = try MessageDigest.fetched(for: function)
        OpenSSLLibrary.clearErrors()
        guard let pointer = unsafe EVP_MD_CTX_new() else { throw CryptoError(failed: "EVP_MD_CTX_new", "No memory") }
        unsafe self.pointer = pointer
        self.function = function
        let status = unsafe digest.withPointer { digest in unsafe EVP_DigestInit_ex(pointer, digest, nil) }
        guard status == 1 else { throw CryptoError(failed: "EVP_DigestInit_ex", "\(function.openSSLName) hash") }
    }

    deinit {
        unsafe EVP_MD_CTX_free(pointer)
    }

    package func update(_ bytes: RawSpan) throws(CryptoError) {
        OpenSSLLibrary.clearErrors()
        let status = unsafe bytes.withOctets { unsafe EVP_DigestUpdate(pointer, $0.baseAddress, $0.count) }
        guard status == 1 else { throw CryptoError(failed: "EVP_DigestUpdate", "\(function.openSSLName) hash") }
    }

    /// Don't update the state afterwards.
    package func finish() throws(CryptoError) -> [UInt8] {
        OpenSSLLibrary.clearErrors()
        let hash = unsafe [UInt8](maximumSize: function.digestSize) { buffer, size in
            var written: UInt32 = 0
            let status = unsafe EVP_DigestFinal_ex(pointer, buffer, &written)
            size = Int(written)
            return status == 1 && size == function.digestSize
        }
        return try hash.orThrow(failed: "EVP_DigestFinal_ex", "\(function.openSSLName) hash")
    }
}

/// A fetched hash implementation: the owner of an `EVP_MD`.
// reason: the pointer is set once, and a fetched EVP_MD never changes apart from its atomic
// reference count.
@safe final class MessageDigest: @unchecked Sendable {
    private let pointer: OpaquePointer
    private let function: HashFunction

    static func fetched(for function: HashFunction) throws(CryptoError) -> MessageDigest {
        try digests[function]
    }

    private static let digests = FetchedValues(HashFunction.allCases) { function throws(CryptoError) in
        try MessageDigest(function)
    }

    func hash(_ bytes: RawSpan) throws(CryptoError) -> [UInt8] {
        OpenSSLLibrary.clearErrors()
        let hash = unsafe [UInt8](maximumSize: function.digestSize) { buffer, size in
            var written: UInt32 = 0
            let status = unsafe bytes.withOctets { input in
                unsafe EVP_Digest(input.baseAddress, input.count, buffer, &written, pointer, nil)
            }
            size = Int(written)
            return status == 1 && size == function.digestSize
        }
        return try hash.orThrow(failed: "EVP_Digest", "\(function.openSSLName) hash")
    }

    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        unsafe body(pointer)
    }

    private init(_ function: HashFunction) throws(CryptoError) {
        OpenSSLLibrary.prepareAndClearErrors()
        guard let pointer = unsafe EVP_MD_fetch(nil, function.openSSLName, nil) else {
            throw CryptoError(failed: "EVP_MD_fetch", "The hash function \(function.openSSLName) isn't available")
        }
        unsafe self.pointer = pointer
        self.function = function
    }

    deinit {
        unsafe EVP_MD_free(pointer)
    }
}

/// A hash function with output of any length
/// ([FIPS 202 §6.2](https://doi.org/10.6028/NIST.FIPS.202)).
package enum ExtendableOutputFunction {
    /// A size of 0 or less is an `invalidArgument`.
    package static func shake256(_ bytes: RawSpan, count: Int) throws(CryptoError) -> [UInt8] {
        guard count > 0 else { throw CryptoError(.invalidArgument, "The size of a hash must be at least 1 byte") }
        OpenSSLLibrary.prepareAndClearErrors()
        guard let function = unsafe EVP_MD_fetch(nil, "SHAKE256", nil) else {
            throw CryptoError(failed: "EVP_MD_fetch", "The hash function SHAKE256 isn't available")
        }
        defer { unsafe EVP_MD_free(function) }
        guard let context = unsafe EVP_MD_CTX_new() else { throw CryptoError(failed: "EVP_MD_CTX_new", "No memory") }
        defer { unsafe EVP_MD_CTX_free(context) }
        let hash = unsafe [UInt8](maximumSize: count) { buffer, size in
            size = count
            return unsafe bytes.withOctets { bytes in
                unsafe EVP_DigestInit_ex(context, function, nil) == 1
                    && EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1
                    && EVP_DigestFinalXOF(context, buffer, count) == 1
            }
        }
        return try hash.orThrow(failed: "EVP_DigestFinalXOF", "SHAKE256 hash")
    }
}
