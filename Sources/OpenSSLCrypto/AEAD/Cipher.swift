internal import COpenSSL

/// A fetched cipher implementation: the owner of an `EVP_CIPHER`.
// reason: the pointer is set once, and a fetched EVP_CIPHER never changes apart from its atomic
// reference count.
@safe final class Cipher: @unchecked Sendable {
    /// The ciphers, by OpenSSL's names.
    enum Name: String, CaseIterable {
        case aes128CBC = "AES-128-CBC"
        case aes192CBC = "AES-192-CBC"
        case aes256CBC = "AES-256-CBC"
        case aes128GCM = "AES-128-GCM"
        case aes192GCM = "AES-192-GCM"
        case aes256GCM = "AES-256-GCM"
        case aes128Wrap = "AES-128-WRAP"
        case aes192Wrap = "AES-192-WRAP"
        case aes256Wrap = "AES-256-WRAP"
    }

    let name: Name
    private let pointer: OpaquePointer

    /// Returns a cipher, fetched from OpenSSL's providers once per process.
    static func fetched(_ name: Name) throws(CryptoError) -> Cipher {
        try ciphers[name]
    }

    private static let ciphers = FetchedValues(Name.allCases) { name throws(CryptoError) in try Cipher(name) }

    private init(_ name: Name) throws(CryptoError) {
        OpenSSLLibrary.prepareAndClearErrors()
        guard let pointer = unsafe EVP_CIPHER_fetch(nil, name.rawValue, nil) else {
            throw CryptoError(failed: "EVP_CIPHER_fetch", "\(name.rawValue) isn't available")
        }
        unsafe self.pointer = pointer
        self.name = name
    }

    deinit {
        unsafe EVP_CIPHER_free(pointer)
    }

    /// The size of a key in bytes.
    var keySize: Int { unsafe Int(EVP_CIPHER_get_key_length(pointer)) }
    /// The default size of an initialization vector in bytes.
    var vectorSize: Int { unsafe Int(EVP_CIPHER_get_iv_length(pointer)) }

    /// Calls a closure with the pointer, which is valid only during the call.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        unsafe body(pointer)
    }
}
