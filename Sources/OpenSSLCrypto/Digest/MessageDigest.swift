internal import COpenSSL

/// A fetched hash implementation: the owner of an `EVP_MD`.
// reason: the pointer is set once, and a fetched EVP_MD never changes apart from its atomic
// reference count.
@safe final class MessageDigest: @unchecked Sendable {
    private let pointer: OpaquePointer
    private let function: HashFunction

    /// Returns the implementation of a hash function, fetched from OpenSSL's providers once per
    /// process.
    static func fetched(for function: HashFunction) throws(CryptoError) -> MessageDigest {
        switch function {
        case .md5: try md5.get()
        case .sha1: try sha1.get()
        case .sha256: try sha256.get()
        case .sha384: try sha384.get()
        case .sha512: try sha512.get()
        }
    }

    // Each is fetched on its own first use: a provider can lack MD5.
    private static let md5 = fetch(.md5)
    private static let sha1 = fetch(.sha1)
    private static let sha256 = fetch(.sha256)
    private static let sha384 = fetch(.sha384)
    private static let sha512 = fetch(.sha512)

    private static func fetch(_ function: HashFunction) -> Result<MessageDigest, CryptoError> {
        Result { () throws(CryptoError) in try MessageDigest(function) }
    }

    /// Hashes bytes.
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

    /// Calls a closure with the pointer, which is valid only during the call.
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
