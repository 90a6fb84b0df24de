internal import COpenSSL
import Synchronization

/// A keyed HMAC state: the owner of two `EVP_MAC_CTX`, one that is only ever copied and one that is started again.
///
/// Starting again takes half the time of copying; whoever finds that context in use takes a copy instead of waiting.
// reason: the pointers are set by the initializer only. The template is, from then on, only the source of
// EVP_MAC_CTX_dup, whose parameter is const: it reads the state and changes nothing but reference counts, which OpenSSL
// keeps with atomic operations. The other context is used only by whoever has set the flag.
@safe final class MACContext: @unchecked Sendable {
    private let template: OpaquePointer
    private let hash: HashFunction
    private let key: SecretBytes
    private var restartable: OpaquePointer?
    private let isInUse = Atomic(false)

    init(_ hash: HashFunction, key: SecretBytes) throws(CryptoError) {
        unsafe template = try Self.makeContext()
        self.hash = hash
        self.key = key
        try unsafe Self.start(template, hash: hash, key: key)
        unsafe restartable = try makeRestartable()
    }

    deinit {
        unsafe EVP_MAC_CTX_free(template)
        unsafe EVP_MAC_CTX_free(restartable)
    }

    /// Appends the code of `message`.
    @_lifetime(output: copy output)
    func authenticate(_ message: RawSpan, into output: inout OutputSpan<UInt8>) throws(CryptoError) {
        OpenSSLLibrary.clearErrors()
        if let context = unsafe restartable, !isInUse.exchange(true, ordering: .acquiring) {
            defer { isInUse.store(false, ordering: .releasing) }
            guard unsafe EVP_MAC_init(context, nil, 0, nil) == 1 else {
                throw CryptoError(failed: "EVP_MAC_init", "HMAC with \(hash.openSSLName)")
            }
            return try unsafe authenticate(message, in: context, into: &output)
        }
        let context = try unsafe makeCopy()
        defer { unsafe EVP_MAC_CTX_free(context) }
        try unsafe authenticate(message, in: context, into: &output)
    }

    @_lifetime(output: copy output)
    private func authenticate(
        _ message: RawSpan,
        in context: OpaquePointer,
        into output: inout OutputSpan<UInt8>
    ) throws(CryptoError) {
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

    /// A context that gives the same codes when it is started again without a key; `nil` where that does not work, as
    /// in the first versions of OpenSSL 3.0 or with a provider of somebody else's.
    private func makeRestartable() throws(CryptoError) -> OpaquePointer? {
        let probe: [UInt8] = [1, 2, 3]
        func code(_ context: OpaquePointer) throws(CryptoError) -> [UInt8] {
            try probe.withBytes { probe throws(CryptoError) in
                try [UInt8](capacity: hash.digestSize) { output throws(CryptoError) in
                    try unsafe authenticate(probe, in: context, into: &output)
                }
            }
        }
        let context = try unsafe makeCopy()
        do throws(CryptoError) {
            let expected = try unsafe code(context)
            for _ in 0..<2 {
                if unsafe EVP_MAC_init(context, nil, 0, nil) == 1, try unsafe code(context) == expected { continue }
                unsafe EVP_MAC_CTX_free(context)
                OpenSSLLibrary.clearErrors()
                return nil
            }
            return unsafe context
        } catch {
            unsafe EVP_MAC_CTX_free(context)
            throw error
        }
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
