internal import COpenSSL

/// A keyed HMAC state that is only ever copied: the owner of an `EVP_MAC_CTX`.
///
/// The copies are used again, after they were set back to the state after the key.
// reason: the pointer is set once and, after the initializer, is only the source of EVP_MAC_CTX_dup, whose parameter
// is const: it reads the state and changes nothing but reference counts, which OpenSSL keeps with atomic operations.
@safe final class MACContext: @unchecked Sendable {
    private let template: OpaquePointer
    private let hash: HashFunction
    private let key: SecretBytes
    private let pool = unsafe ContextPool { unsafe EVP_MAC_CTX_free($0) }
    /// Whether a context that was used can be set back; the first releases of OpenSSL 3.0 forgot the key.
    private let canSetBack: Bool

    init(_ hash: HashFunction, key: SecretBytes) throws(CryptoError) {
        unsafe template = try Self.makeContext()
        self.hash = hash
        self.key = key
        do throws(CryptoError) {
            try unsafe Self.start(template, hash: hash, key: key)
            canSetBack = try unsafe Self.canSetBack(template, hash)
        } catch {
            // A class that fails in its initializer does not come to its deinitializer.
            unsafe EVP_MAC_CTX_free(template)
            throw error
        }
    }

    deinit {
        unsafe EVP_MAC_CTX_free(template)
    }

    /// Appends the code of `message`.
    @_lifetime(output: copy output)
    func authenticate(_ message: RawSpan, into output: inout OutputSpan<UInt8>) throws(CryptoError) {
        OpenSSLLibrary.clearErrors()
        let context = try unsafe readyContext()
        let size = hash.digestSize
        let isComputed = unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
            guard unsafe Self.compute(message, size, in: context, into: buffer, at: initializedCount) else {
                return false
            }
            initializedCount += size
            return true
        }
        // The state of this message goes at once.
        if canSetBack, isComputed, unsafe EVP_MAC_init(context, nil, 0, nil) == 1 {
            unsafe pool.give(context)
        } else {
            unsafe EVP_MAC_CTX_free(context)
        }
        guard isComputed else { throw CryptoError(failed: "EVP_MAC_final", "HMAC with \(hash.openSSLName)") }
    }

    private static func compute(
        _ message: RawSpan,
        _ size: Int,
        in context: OpaquePointer,
        into buffer: UnsafeMutableBufferPointer<UInt8>,
        at place: Int
    ) -> Bool {
        let free = buffer.count - place
        guard free >= size, let start = buffer.baseAddress else { return false }
        var written = 0
        let isUpdated = unsafe message.withUnsafeBytes { input in
            unsafe EVP_MAC_update(context, input.baseAddress?.assumingMemoryBound(to: UInt8.self), input.count) == 1
        }
        guard isUpdated, unsafe EVP_MAC_final(context, start + place, &written, free) == 1 else { return false }
        return written == size
    }

    /// Computes the same code before and after setting a context back.
    private static func canSetBack(_ template: OpaquePointer, _ hash: HashFunction) throws(CryptoError) -> Bool {
        guard let context = unsafe EVP_MAC_CTX_dup(template) else { return false }
        defer { unsafe EVP_MAC_CTX_free(context) }
        var codes = [UInt8](repeating: 0, count: 2 * hash.digestSize)
        let message: [UInt8] = [1, 2, 3]
        let isComputed = message.withBytes { message in
            unsafe codes.withUnsafeMutableBufferPointer { codes in
                unsafe compute(message, hash.digestSize, in: context, into: codes, at: 0)
                    && EVP_MAC_init(context, nil, 0, nil) == 1
                    && compute(message, hash.digestSize, in: context, into: codes, at: hash.digestSize)
            }
        }
        OpenSSLLibrary.clearErrors()
        return isComputed && codes[..<hash.digestSize] == codes[hash.digestSize...]
    }

    /// A context in the state after the key: one that was set back, a copy of the template, or set up afresh where a
    /// provider can't copy.
    private func readyContext() throws(CryptoError) -> OpaquePointer {
        if let context = unsafe pool.take() { return unsafe context }
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
