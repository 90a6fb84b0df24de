internal import COpenSSL

/// An operation with a key, prepared once: the owner of an `EVP_PKEY_CTX` that serves as a template
/// for copies.
///
/// The copies are reused: an operation leaves no state in them that could affect the next one.
// reason: the pointer is set once. After initialization it's only passed to EVP_PKEY_CTX_dup, whose
// parameter is const and which changes nothing but reference counts, using atomic operations.
@safe final class EVPKeyOperation: @unchecked Sendable {
    enum Kind {
        case signing, verification, encryption, decryption, agreement
    }

    enum Scheme {
        case ecdsa, keyAgreement
        case rsa(RSASignaturePadding, HashFunction)
        case oaep(HashFunction)
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
        unsafe template = try Self.makeContext(kind, scheme, key)
    }

    deinit {
        unsafe EVP_PKEY_CTX_free(template)
    }

    func sign(_ hash: RawSpan) throws(CryptoError) -> [UInt8] {
        try unsafe result("EVP_PKEY_sign", "Signing failed", hash, EVP_PKEY_sign)
    }

    func encrypt(_ message: RawSpan) throws(CryptoError) -> [UInt8] {
        try unsafe result("EVP_PKEY_encrypt", "Encryption failed", message, EVP_PKEY_encrypt)
    }

    private typealias Function = (
        OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int>?, UnsafePointer<UInt8>?, Int
    ) -> Int32

    private func result(
        _ name: StaticString,
        _ failure: String,
        _ input: RawSpan,
        _ function: Function
    ) throws(CryptoError) -> [UInt8] {
        OpenSSLLibrary.clearErrors()
        let context = try unsafe readyContext()
        let output = unsafe [UInt8](maximumSize: key.maximumSignatureSize) { buffer, size in
            unsafe input.withOctets { unsafe function(context, buffer, &size, $0.baseAddress, $0.count) == 1 }
        }
        guard let output else {
            unsafe EVP_PKEY_CTX_free(context)
            throw CryptoError(failed: name, failure)
        }
        unsafe pool.give(context)
        return output
    }

    /// OpenSSL distinguishes between a mismatch, an unreadable signature and an internal failure;
    /// all of them return `false`.
    func verify(_ signature: RawSpan, of hash: RawSpan) -> Bool {
        OpenSSLLibrary.clearErrors()
        guard let context = try? unsafe readyContext() else { return false }
        let status = unsafe signature.withOctets { signature in
            unsafe hash.withOctets { hash in
                unsafe EVP_PKEY_verify(context, signature.baseAddress, signature.count, hash.baseAddress, hash.count)
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

    /// Returns `nil` for any failure; success and failure take the same steps, and the reason of a
    /// failure is discarded unread.
    func decrypt(_ ciphertext: RawSpan) -> SecretBytes? {
        OpenSSLLibrary.clearErrors()
        guard let context = try? unsafe readyContext() else { return nil }
        // With a smaller buffer, OpenSSL's failure would depend on the plaintext's size.
        let message = unsafe SecretBytes(maximumSize: key.maximumSignatureSize) { buffer, size in
            unsafe ciphertext.withOctets {
                unsafe EVP_PKEY_decrypt(context, buffer, &size, $0.baseAddress, $0.count) == 1
            }
        }
        ERR_clear_error()
        unsafe pool.give(context)
        return message
    }

    /// Returns `nil` if the encoded point of the public key has small order.
    func sharedSecret(with point: [UInt8], size: Int) throws(CryptoError) -> SecretBytes? {
        OpenSSLLibrary.clearErrors()
        let context = try unsafe readyContext()
        do throws(CryptoError) {
            try unsafe setPeer(point, in: context)
        } catch {
            unsafe EVP_PKEY_CTX_free(context)
            throw error
        }
        let secret = unsafe SecretBytes(maximumSize: size) { buffer, count in
            unsafe EVP_PKEY_derive(context, buffer, &count) == 1 && count == size
        }
        OpenSSLLibrary.clearErrors()
        unsafe pool.give(context)
        return secret
    }

    /// A pooled context keeps the key object of its last peer, and only the point changes: a new
    /// object takes 3 µs.
    private func setPeer(_ point: [UInt8], in context: OpaquePointer) throws(CryptoError) {
        let peer: EVPKey
        if let last = unsafe EVP_PKEY_CTX_get0_peerkey(context), unsafe EVP_PKEY_up_ref(last) == 1 {
            peer = unsafe EVPKey(takingOwnershipOf: last)
        } else {
            peer = try key.parameters()
        }
        // Without OpenSSL's validation, which multiplies the point by the order. For a point on a
        // curve with cofactor 1, the result is known.
        let isSet = unsafe peer.withPointer { peer in
            unsafe point.withUnsafeBufferPointer { point in
                unsafe EVP_PKEY_set1_encoded_public_key(peer, point.baseAddress, point.count) == 1
                    && EVP_PKEY_derive_set_peer_ex(context, peer, 0) == 1
            }
        }
        guard isSet else { throw CryptoError(failed: "EVP_PKEY_derive_set_peer_ex", "Can't use the public key") }
    }

    /// Returns a pooled context, a copy of the template (0.1 µs), or, if a provider such as a
    /// hardware module's can't copy, a new one (2 µs).
    ///
    /// Before 3.0.17, OpenSSL reads a null pointer when a copy gets the other party's key.
    private func readyContext() throws(CryptoError) -> OpaquePointer {
        if let context = unsafe pool.take() { return unsafe context }
        if kind != .agreement, let copy = unsafe EVP_PKEY_CTX_dup(template) { return unsafe copy }
        return try unsafe Self.makeContext(kind, scheme, key)
    }

    private static func makeContext(
        _ kind: Kind,
        _ scheme: Scheme,
        _ key: EVPKey
    ) throws(CryptoError) -> OpaquePointer {
        OpenSSLLibrary.clearErrors()
        guard let context = unsafe key.withPointer({ unsafe EVP_PKEY_CTX_new_from_pkey(nil, $0, nil) }) else {
            throw CryptoError(failed: "EVP_PKEY_CTX_new_from_pkey", "Can't use the key")
        }
        do throws(CryptoError) {
            try unsafe start(kind, scheme, in: context)
        } catch {
            unsafe EVP_PKEY_CTX_free(context)
            throw error
        }
        return unsafe context
    }

    private static func start(
        _ kind: Kind,
        _ scheme: Scheme,
        in context: OpaquePointer
    ) throws(CryptoError) {
        let (status, function, task): (Int32, StaticString, String) =
            switch kind {
            case .signing: (unsafe EVP_PKEY_sign_init(context), "EVP_PKEY_sign_init", "sign")
            case .verification: (unsafe EVP_PKEY_verify_init(context), "EVP_PKEY_verify_init", "verify")
            case .encryption: (unsafe EVP_PKEY_encrypt_init(context), "EVP_PKEY_encrypt_init", "encrypt")
            case .decryption: (unsafe EVP_PKEY_decrypt_init(context), "EVP_PKEY_decrypt_init", "decrypt")
            case .agreement: (unsafe EVP_PKEY_derive_init(context), "EVP_PKEY_derive_init", "agree on secrets")
            }
        guard status == 1 else { throw CryptoError(failed: function, "The key can't \(task)") }
        switch scheme {
        case .ecdsa, .keyAgreement: break
        case .rsa(let padding, let hash): try unsafe setRSA(padding, hash, in: context)
        case .oaep(let hash): try unsafe setOAEP(hash, in: context)
        }
    }

    /// OpenSSL's default padding is PKCS #1 v1.5, and its default hash function SHA-1.
    private static func setOAEP(_ hash: HashFunction, in context: OpaquePointer) throws(CryptoError) {
        let digest = try MessageDigest.fetched(for: hash)
        let isSet = unsafe digest.withPointer { digest in
            unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1
                && EVP_PKEY_CTX_set_rsa_oaep_md(context, digest) == 1
                && EVP_PKEY_CTX_set_rsa_mgf1_md(context, digest) == 1
        }
        guard isSet else {
            throw CryptoError(failed: "EVP_PKEY_CTX_set_rsa_padding", "RSA OAEP with \(hash.openSSLName)")
        }
    }

    /// OpenSSL's defaults are too lax: verifying PSS accepts any salt length.
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

    func sign(_ message: RawSpan) throws(CryptoError) -> [UInt8] {
        OpenSSLLibrary.clearErrors()
        let context = try unsafe makeCopy()
        defer { unsafe EVP_MD_CTX_free(context) }
        let signature = unsafe [UInt8](maximumSize: key.maximumSignatureSize) { buffer, size in
            unsafe message.withOctets { unsafe EVP_DigestSign(context, buffer, &size, $0.baseAddress, $0.count) == 1 }
        }
        return try signature.orThrow(failed: "EVP_DigestSign", "Signing failed")
    }

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

    /// Returns a copy of the template, or a new context if a provider can't copy.
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
