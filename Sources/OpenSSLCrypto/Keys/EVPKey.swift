internal import COpenSSL

/// A key: the owner of an `EVP_PKEY`.
// reason: the pointer is set once and the key is not changed after it was made; OpenSSL's reference count is atomic.
@safe final class EVPKey: @unchecked Sendable {
    private let pointer: OpaquePointer

    init(takingOwnershipOf pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }

    /// Lends the pointer for the time of a call.
    func withPointer<Result, Failure: Error>(
        _ body: (OpaquePointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(pointer)
    }

    /// The maximum size of a signature with the key, in bytes.
    var maximumSignatureSize: Int { unsafe Int(EVP_PKEY_get_size(pointer)) }
}
