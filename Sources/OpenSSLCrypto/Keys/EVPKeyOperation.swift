internal import COpenSSL

/// An operation with a key, prepared once: the owner of an `EVP_PKEY_CTX` that serves as a template
/// for copies.
///
/// The copies are reused: an operation leaves no state in them that could affect the next one.
// reason: the pointer is set once. After initialization it's only passed to EVP_PKEY_CTX_dup, whose
// parameter is const and which changes nothing but reference counts, using atomic operations.
@safe final class EVPKeyOperation: @unchecked Sendable {
    enum Kind {
        case signing, verification
    }

    /// The signature scheme and its fixed parameters.
    enum Scheme {
        case ecdsa
        case rsa(RSASignaturePadding, HashFunction)
    }

    let key: EVPKey
    private let kind: Kind
    private let scheme: Scheme
    private let template: OpaquePointer
    private let pool = unsafe ContextPool { unsafe EVP_PKEY_CTX_free($0) }

    init(_ kind: Kind, _ scheme: Scheme, with key: EVPKey) throws(CryptoError) {
        self.key = key
        self.kind = kind
        self.scheme = scheme
        unsafe template = try Self.makeContext(for: key)
        try unsafe Self.start(kind, scheme, in: template)
    }

    deinit {
        unsafe EVP_PKEY_CTX_free(template)
    }

    /// Signs a hash.
    func sign(_ hash: RawSpan) throws(CryptoError) -> [UInt8] {
        OpenSSLLibrary.clearErrors()
        let context = try unsafe readyContext()
        var isSigned = false
        let signature = [UInt8](capacity: key.maximumSignatureSize) { output in
            unsafe output.withUnsafeMutableBufferPointer { buffer, count in
                var size = buffer.count
                let status = unsafe hash.withUnsafeBytes { hash in
                    unsafe EVP_PKEY_sign(
                        context,
                        buffer.baseAddress,
                        &size,
                        hash.baseAddress?.assumingMemoryBound(to: UInt8.self),
                        hash.count
                    )
                }
                isSigned = status == 1
                count = isSigned ? size : 0
            }
        }
        guard isSigned else {
            unsafe EVP_PKEY_CTX_free(context)
            throw CryptoError(failed: "EVP_PKEY_sign", "Signing failed")
        }
        unsafe pool.give(context)
        return signature
    }

    /// Returns whether `signature` is valid for `hash`.
    ///
    /// OpenSSL distinguishes between a mismatch, an unreadable signature and an internal failure.
    /// All of them return `false`.
    func verify(_ signature: RawSpan, of hash: RawSpan) -> Bool {
        OpenSSLLibrary.clearErrors()
        guard let context = try? unsafe readyContext() else { return false }
        let status = unsafe signature.withUnsafeBytes { signature in
            unsafe hash.withUnsafeBytes { hash in
                unsafe EVP_PKEY_verify(
                    context,
                    signature.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    signature.count,
                    hash.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    hash.count
                )
            }
        }
        guard status == 1 else {
            unsafe EVP_PKEY_CTX_free(context)
            OpenSSLLibrary.clearErrors()
            return false
        }
        unsafe pool.give(context)
        return true
    }

    /// Returns a context that's ready for the operation: a pooled one, a copy of the template (0.1
    /// µs), or, if a provider such as a hardware module's can't copy, a new one (2 µs).
    private func readyContext() throws(CryptoError) -> OpaquePointer {
        if let context = unsafe pool.take() { return unsafe context }
        if let copy = unsafe EVP_PKEY_CTX_dup(template) { return unsafe copy }
        OpenSSLLibrary.clearErrors()
        let context = try unsafe Self.makeContext(for: key)
        do throws(CryptoError) {
            try unsafe Self.start(kind, scheme, in: context)
        } catch {
            unsafe EVP_PKEY_CTX_free(context)
            throw error
        }
        return unsafe context
    }

    private static func makeContext(for key: EVPKey) throws(CryptoError) -> OpaquePointer {
        OpenSSLLibrary.clearErrors()
        guard let context = unsafe key.withPointer({ unsafe EVP_PKEY_CTX_new_from_pkey(nil, $0, nil) }) else {
            throw CryptoError(failed: "EVP_PKEY_CTX_new_from_pkey", "Can't use the key")
        }
        return unsafe context
    }

    private static func start(
        _ kind: Kind,
        _ scheme: Scheme,
        in context: OpaquePointer
    ) throws(CryptoError) {
        switch kind {
        case .signing:
            guard unsafe EVP_PKEY_sign_init(context) == 1 else {
                throw CryptoError(failed: "EVP_PKEY_sign_init", "The key can't sign")
            }
        case .verification:
            guard unsafe EVP_PKEY_verify_init(context) == 1 else {
                throw CryptoError(failed: "EVP_PKEY_verify_init", "The key can't verify")
            }
        }
        if case .rsa(let padding, let hash) = scheme {
            try unsafe setRSA(padding, hash, in: context)
        }
    }

    /// Sets padding, hash and salt length explicitly, because OpenSSL's defaults are too lax:
    /// verifying PSS accepts any salt length.
    private static func setRSA(
        _ padding: RSASignaturePadding,
        _ hash: HashFunction,
        in context: OpaquePointer
    ) throws(CryptoError) {
        let digest = try MessageDigest.fetched(for: hash)
        let isSet = unsafe digest.withPointer { digest in
            switch padding {
            case .pkcs1v15:
                unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1
                    && EVP_PKEY_CTX_set_signature_md(context, digest) == 1
            case .pss:
                unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1
                    && EVP_PKEY_CTX_set_signature_md(context, digest) == 1
                    && EVP_PKEY_CTX_set_rsa_mgf1_md(context, digest) == 1
                    && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, Int32(hash.digestSize)) == 1
            }
        }
        guard isSet else {
            throw CryptoError(failed: "EVP_PKEY_CTX_set_rsa_padding", "RSA \(padding) with \(hash.openSSLName)")
        }
    }
}
