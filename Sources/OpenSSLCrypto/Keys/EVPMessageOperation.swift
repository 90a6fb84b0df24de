internal import COpenSSL

/// Signing or verifying whole messages with a key, prepared once: the owner of an `EVP_MD_CTX` that
/// serves as a template for copies.
///
/// EdDSA hashes a message twice, so it can't work on a hash.
// reason: the pointer is set once. After initialization it's only passed to EVP_MD_CTX_copy_ex,
// whose parameter is const and which changes nothing but reference counts, using atomic operations.
@safe final class EVPMessageOperation: @unchecked Sendable {
    enum Kind {
        case signing, verification
    }

    let key: EVPKey
    private let kind: Kind
    private let template: OpaquePointer

    init(_ kind: Kind, with key: EVPKey) throws(CryptoError) {
        self.key = key
        self.kind = kind
        unsafe template = try Self.makeContext(kind, key)
    }

    deinit {
        unsafe EVP_MD_CTX_free(template)
    }

    /// Signs a message.
    func sign(_ message: RawSpan) throws(CryptoError) -> [UInt8] {
        OpenSSLLibrary.clearErrors()
        let context = try unsafe makeCopy()
        defer { unsafe EVP_MD_CTX_free(context) }
        let signature = unsafe [UInt8](maximumSize: key.maximumSignatureSize) { buffer, size in
            unsafe message.withOctets { unsafe EVP_DigestSign(context, buffer, &size, $0.baseAddress, $0.count) == 1 }
        }
        return try signature.orThrow(failed: "EVP_DigestSign", "Signing failed")
    }

    /// Returns whether `signature` is valid for `message`.
    func verify(_ signature: RawSpan, of message: RawSpan) -> Bool {
        OpenSSLLibrary.clearErrors()
        guard let context = try? unsafe makeCopy() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        let status = unsafe signature.withOctets { signature in
            unsafe message.withOctets { message in
                unsafe EVP_DigestVerify(
                    context,
                    signature.baseAddress,
                    signature.count,
                    message.baseAddress,
                    message.count
                )
            }
        }
        OpenSSLLibrary.clearErrors()
        return status == 1
    }

    /// Returns a context for one use: a copy of the template, or a new one if a provider can't
    /// copy.
    ///
    /// The template itself isn't reusable: since OpenSSL 3.4, the first signature finishes a
    /// context.
    private func makeCopy() throws(CryptoError) -> OpaquePointer {
        let context = unsafe EVP_MD_CTX_new()
        if let context = unsafe context, unsafe EVP_MD_CTX_copy_ex(context, template) == 1 { return unsafe context }
        unsafe EVP_MD_CTX_free(context)
        return try unsafe Self.makeContext(kind, key)
    }

    private static func makeContext(_ kind: Kind, _ key: EVPKey) throws(CryptoError) -> OpaquePointer {
        OpenSSLLibrary.clearErrors()
        guard let context = unsafe EVP_MD_CTX_new() else { throw CryptoError(failed: "EVP_MD_CTX_new", "No memory") }
        let status = unsafe key.withPointer { key in
            switch kind {
            case .signing: unsafe EVP_DigestSignInit_ex(context, nil, nil, nil, nil, key, nil)
            case .verification: unsafe EVP_DigestVerifyInit_ex(context, nil, nil, nil, nil, key, nil)
            }
        }
        guard status == 1 else {
            unsafe EVP_MD_CTX_free(context)
            throw CryptoError(failed: "EVP_DigestSignInit_ex", "The key can't sign or verify")
        }
        return unsafe context
    }
}
