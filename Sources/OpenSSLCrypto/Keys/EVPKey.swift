internal import COpenSSL

/// A key: the owner of an `EVP_PKEY`.
// reason: the pointer is set once, the key never changes after its creation, and OpenSSL's
// reference count is atomic.
@safe final class EVPKey: @unchecked Sendable {
    private let pointer: OpaquePointer

    init(takingOwnershipOf pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }

    /// Generates a key pair of one of OpenSSL's types, with the parameters that a closure sets;
    /// `name` is for error messages.
    static func generate(
        _ type: String,
        _ name: String,
        configure: (OpaquePointer?) -> Bool = { _ in true }
    ) throws(CryptoError) -> EVPKey {
        let key = unsafe make(type) { context, key in
            unsafe EVP_PKEY_keygen_init(context) == 1 && configure(context) && EVP_PKEY_generate(context, &key) == 1
        }
        return try key.orThrow(failed: "EVP_PKEY_generate", "Can't generate \(name)")
    }

    /// Creates a key from parameters, or returns `nil` if OpenSSL rejects them.
    static func make(
        _ type: String,
        _ selection: Int32,
        _ parameters: UnsafeMutablePointer<OSSL_PARAM>?
    ) -> EVPKey? {
        unsafe make(type) { context, key in
            unsafe EVP_PKEY_fromdata_init(context) == 1
                && EVP_PKEY_fromdata(context, &key, selection, parameters) == 1
        }
    }

    private static func make(_ type: String, _ body: (OpaquePointer?, inout OpaquePointer?) -> Bool) -> EVPKey? {
        OpenSSLLibrary.prepareAndClearErrors()
        let context = unsafe EVP_PKEY_CTX_new_from_name(nil, type, nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard unsafe body(context, &key), let key = unsafe key else { return nil }
        return unsafe EVPKey(takingOwnershipOf: key)
    }

    /// Calls a closure with the pointer, which is valid only during the call.
    func withPointer<Result, Failure: Error>(
        _ body: (OpaquePointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(pointer)
    }

    /// Creates a key with the same parameters, for a public key to be set.
    func parameters() throws(CryptoError) -> EVPKey {
        guard let new = unsafe EVP_PKEY_new() else { throw CryptoError(failed: "EVP_PKEY_new", "No memory") }
        let key = unsafe EVPKey(takingOwnershipOf: new)
        guard unsafe EVP_PKEY_copy_parameters(new, pointer) == 1 else {
            throw CryptoError(failed: "EVP_PKEY_copy_parameters", "Can't copy the parameters of the key")
        }
        return key
    }

    /// The maximum size of a signature by the key, in bytes.
    var maximumSignatureSize: Int { unsafe Int(EVP_PKEY_get_size(pointer)) }
}
