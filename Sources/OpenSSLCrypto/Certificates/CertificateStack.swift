internal import COpenSSL

/// OpenSSL's list of certificates: the owner of the list, which keeps the certificates alive.
@safe struct CertificateStack: ~Copyable {
    private let pointer: OpaquePointer?
    private let certificates: [Certificate]

    init(_ certificates: some Sequence<Certificate>) throws(CryptoError) {
        self.certificates = Array(certificates)
        unsafe pointer = OPENSSL_sk_new_null()
        for certificate in certificates {
            let isPushed = unsafe certificate.x509.withPointer {
                unsafe OPENSSL_sk_push(pointer, UnsafeRawPointer($0)) > 0
            }
            guard isPushed else { throw CryptoError(failed: "OPENSSL_sk_push", "No memory") }
        }
    }

    deinit {
        unsafe OPENSSL_sk_free(pointer)
    }

    /// Calls a closure with the pointer, which is valid only during the call.
    func withPointer<Result, Failure: Error>(
        _ body: (OpaquePointer?) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(pointer)
    }
}

extension OpenSSLLibrary {
    /// Returns the elements of a stack, which still owns them.
    static func elements(of stack: OpaquePointer?) -> [OpaquePointer] {
        unsafe (0..<max(OPENSSL_sk_num(stack), 0)).compactMap { index in
            unsafe OPENSSL_sk_value(stack, index).map { OpaquePointer($0) }
        }
    }
}
