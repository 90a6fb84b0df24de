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
