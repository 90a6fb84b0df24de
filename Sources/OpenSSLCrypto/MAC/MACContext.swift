internal import COpenSSL

/// A keyed HMAC state that is only ever copied: the owner of an `EVP_MAC_CTX`.
// reason: the pointer is set once and, after the initializer, is only the source of EVP_MAC_CTX_dup, whose parameter
// is const: it reads the state and changes nothing but reference counts, which OpenSSL keeps with atomic operations.
@safe final class MACContext: @unchecked Sendable {
    private let template: OpaquePointer
    private let hash: HashFunction
    private let key: SecretBytes

    init(_ hash: HashFunction, key: SecretBytes) throws(CryptoError) {
        unsafe template = try Self.makeContext()
        self.hash = hash
        self.key = key
        try unsafe Self.start(template, hash: hash, key: key)
    }

    deinit {
        unsafe EVP_MAC_CTX_free(template)
    }

    /// Appends the code of `message`.
    @_lifetime(output: copy output)
    func authenticate(_ message: RawSpan, into output: inout OutputSpan<UInt8>) throws(CryptoError) {
        OpenSSLLibrary.clearErrors()
        let context = try unsafe makeCopy()
        defer { unsafe EVP_MAC_CTX_free(context) }
        let size = hash.digestSize
        let isComputed = unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
            let free = buffer.count - initializedCount
            guard free >= size, let start = buffer.baseAddress else { return false }
            var written = 0
            let isUpdated = unsafe message.withUnsafeBytes { input in
                unsafe EVP_MAC_update(context, input.baseAddress?.assumingMemoryBound(to: UInt8.self), input.count) == 1
            }
            guard isUpdated, unsafe EVP_MAC_final(context, start + initializedCount, &written, free) == 1,
                written == size
            else { return false }
            initializedCount += size
            return true
        }
        guard isComputed else { throw CryptoError(failed: "EVP_MAC_final", "HMAC with \(hash.openSSLName)") }
    }

    /// A context to use up: a copy of the template, or set up afresh where a provider can't copy.
    private func makeCopy() throws(CryptoError) -> OpaquePointer {
        if let copy = unsafe EVP_MAC_CTX_dup(template) { return unsafe copy }
        OpenSSLLibrary.clearErrors()
        let context = try unsafe Self.makeContext()
        do throws(CryptoError) {
            try unsafe Self.start(context, hash: hash, key: key)
        } catch {
            unsafe EVP_MAC_CTX_free(context)
            throw error
        }
        return unsafe context
    }

    private static func makeContext() throws(CryptoError) -> OpaquePointer {
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.clearErrors()
        guard let implementation = unsafe EVP_MAC_fetch(nil, "HMAC", nil) else {
            throw CryptoError(failed: "EVP_MAC_fetch", "HMAC is not available")
        }
        // The context keeps a reference of its own.
        defer { unsafe EVP_MAC_free(implementation) }
        guard let context = unsafe EVP_MAC_CTX_new(implementation) else {
            throw CryptoError(failed: "EVP_MAC_CTX_new", "HMAC is not available")
        }
        return unsafe context
    }

    private static func start(
        _ context: OpaquePointer,
        hash: HashFunction,
        key: SecretBytes
    ) throws(CryptoError) {
        var name = Array(hash.openSSLName.utf8CString)
        let status = unsafe name.withUnsafeMutableBufferPointer { name in
            let parameters = unsafe [COpenSSL_digest_param(name.baseAddress), OSSL_PARAM_construct_end()]
            return key.withBytes { key in
                unsafe key.withUnsafeBytes { key in
                    unsafe EVP_MAC_init(
                        context,
                        key.baseAddress?.assumingMemoryBound(to: UInt8.self),
                        key.count,
                        parameters
                    )
                }
            }
        }
        guard status == 1 else { throw CryptoError(failed: "EVP_MAC_init", "HMAC with \(hash.openSSLName)") }
    }
}
