internal import COpenSSL

/// Message authentication with HMAC ([RFC 2104](https://www.rfc-editor.org/rfc/rfc2104)) and a
/// fixed key: the owner of an `EVP_MAC_CTX`.
///
/// The key is processed once; each computation starts from a copy of that state. The copies are
/// reused after a reset to it.
// reason: the pointer is set once. After initialization it's only passed to EVP_MAC_CTX_dup, whose
// parameter is const and which changes nothing but reference counts, using atomic operations.
@safe package final class HMAC: @unchecked Sendable {
    package let keySize: Int

    private let template: OpaquePointer
    private let hash: HashFunction
    private let key: SecretBytes
    private let pool = unsafe ContextPool { unsafe EVP_MAC_CTX_free($0) }
    /// Early releases of OpenSSL 3.0 lose the key when a context is reset.
    private let canSetBack: Bool

    /// The caller must check the minimum that a protocol requires.
    ///
    /// A broken hash function and an empty key, which OpenSSL would accept, are an
    /// `invalidArgument`.
    package init(_ hash: HashFunction, key: SecretBytes) throws(CryptoError) {
        guard hash.isCollisionResistant else {
            throw CryptoError(.invalidArgument, "HMAC with \(hash.openSSLName) isn't supported; use SHA-256 or longer")
        }
        guard key.count > 0 else {
            throw CryptoError(.invalidArgument, "The HMAC key is empty, so anyone could compute codes")
        }
        self.hash = hash
        self.key = key
        keySize = key.withBytes { Self.keySize(of: $0) }
        unsafe template = try key.withBytes { key throws(CryptoError) in try unsafe Self.makeContext(hash, key) }
        canSetBack = unsafe Self.canSetBack(template, hash)
    }

    deinit {
        unsafe EVP_MAC_CTX_free(template)
    }

    /// Returns the size without the trailing zeros if there are more than four.
    ///
    /// HMAC pads a key with zeros up to its block size ([RFC 2104
    /// §2](https://www.rfc-editor.org/rfc/rfc2104#section-2)), so a key makes the same codes with
    /// and without them. Up to four count, because random keys end with zeros, too.
    package static func keySize(of key: RawSpan) -> Int {
        var size = key.byteCount
        while size > 0, key[size - 1] == 0 { size -= 1 }
        return key.byteCount - size > 4 ? size : key.byteCount
    }

    package func authenticationCode(for message: RawSpan) throws(CryptoError) -> [UInt8] {
        OpenSSLLibrary.clearErrors()
        let context = try unsafe readyContext()
        let code = unsafe Self.compute(message, hash.digestSize, in: context)
        // Don't keep the state of this message any longer than necessary.
        if canSetBack, code != nil, unsafe EVP_MAC_init(context, nil, 0, nil) == 1 {
            unsafe pool.give(context)
        } else {
            unsafe EVP_MAC_CTX_free(context)
        }
        return try code.orThrow(failed: "EVP_MAC_final", "HMAC with \(hash.openSSLName)")
    }

    /// Compares in constant time; `false` also for a truncated code, or if OpenSSL fails.
    package func isValid(_ code: RawSpan, for message: RawSpan) -> Bool {
        guard code.byteCount == hash.digestSize, let expected = try? authenticationCode(for: message) else {
            return false
        }
        return expected.withBytes { ConstantTime.areEqual(code, $0) }
    }

    static func code(
        _ hash: HashFunction,
        key: RawSpan,
        of first: RawSpan,
        _ second: [UInt8],
        _ third: RawSpan,
        _ fourth: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        let context = try unsafe makeContext(hash, key)
        defer { unsafe EVP_MAC_CTX_free(context) }
        let isUpdated =
            unsafe update(context, first) && second.withBytes { unsafe update(context, $0) }
            && update(context, third) && fourth.withBytes { unsafe update(context, $0) }
        guard isUpdated, let code = unsafe finish(hash.digestSize, in: context) else {
            throw CryptoError(failed: "EVP_MAC_final", "HMAC with \(hash.openSSLName)")
        }
        return code
    }

    private static func compute(_ message: RawSpan, _ size: Int, in context: OpaquePointer) -> [UInt8]? {
        unsafe update(context, message) ? finish(size, in: context) : nil
    }

    private static func update(_ context: OpaquePointer, _ message: RawSpan) -> Bool {
        unsafe message.withOctets { unsafe EVP_MAC_update(context, $0.baseAddress, $0.count) == 1 }
    }

    private static func finish(_ size: Int, in context: OpaquePointer) -> [UInt8]? {
        unsafe [UInt8](maximumSize: size) { buffer, count in
            unsafe EVP_MAC_final(context, buffer, &count, size) == 1 && count == size
        }
    }

    private static func canSetBack(_ template: OpaquePointer, _ hash: HashFunction) -> Bool {
        guard let context = unsafe EVP_MAC_CTX_dup(template) else { return false }
        defer { unsafe EVP_MAC_CTX_free(context) }
        defer { OpenSSLLibrary.clearErrors() }
        let message: [UInt8] = [1, 2, 3]
        return message.withBytes { message in
            guard
                let first = unsafe compute(message, hash.digestSize, in: context),
                unsafe EVP_MAC_init(context, nil, 0, nil) == 1
            else { return false }
            return unsafe compute(message, hash.digestSize, in: context) == first
        }
    }

    /// Returns a pooled context, a copy of the template, or a new one if a provider can't copy.
    private func readyContext() throws(CryptoError) -> OpaquePointer {
        if let context = unsafe pool.take() { return unsafe context }
        if let copy = unsafe EVP_MAC_CTX_dup(template) { return unsafe copy }
        return try unsafe key.withBytes { key throws(CryptoError) in try unsafe Self.makeContext(hash, key) }
    }

    private static func makeContext(_ hash: HashFunction, _ key: RawSpan) throws(CryptoError) -> OpaquePointer {
        OpenSSLLibrary.prepareAndClearErrors()
        guard let implementation = unsafe EVP_MAC_fetch(nil, "HMAC", nil) else {
            throw CryptoError(failed: "EVP_MAC_fetch", "HMAC isn't available")
        }
        // The context keeps its own reference.
        defer { unsafe EVP_MAC_free(implementation) }
        guard let context = unsafe EVP_MAC_CTX_new(implementation) else {
            throw CryptoError(failed: "EVP_MAC_CTX_new", "HMAC isn't available")
        }
        var name = Array(hash.openSSLName.utf8CString)
        let status = unsafe name.withUnsafeMutableBufferPointer { name in
            let parameters = unsafe [COpenSSL_digest_param(name.baseAddress), OSSL_PARAM_construct_end()]
            return unsafe key.withOctets { unsafe EVP_MAC_init(context, $0.baseAddress, $0.count, parameters) }
        }
        guard status == 1 else {
            unsafe EVP_MAC_CTX_free(context)
            throw CryptoError(failed: "EVP_MAC_init", "HMAC with \(hash.openSSLName)")
        }
        return unsafe context
    }
}
