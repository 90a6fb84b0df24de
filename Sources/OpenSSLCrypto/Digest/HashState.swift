internal import COpenSSL

/// An incremental hash, for data that doesn't fit into memory.
@safe package final class HashState {
    private let pointer: OpaquePointer
    private let function: HashFunction

    /// Starts a hash.
    package init(_ function: HashFunction) throws(CryptoError) {
        let digest = try MessageDigest.fetched(for: function)
        OpenSSLLibrary.clearErrors()
        guard let pointer = unsafe EVP_MD_CTX_new() else { throw CryptoError(failed: "EVP_MD_CTX_new", "No memory") }
        unsafe self.pointer = pointer
        self.function = function
        let status = unsafe digest.withPointer { digest in unsafe EVP_DigestInit_ex(pointer, digest, nil) }
        guard status == 1 else { throw CryptoError(failed: "EVP_DigestInit_ex", "\(function.openSSLName) hash") }
    }

    deinit {
        unsafe EVP_MD_CTX_free(pointer)
    }

    /// Appends bytes to the input.
    package func update(_ bytes: RawSpan) throws(CryptoError) {
        OpenSSLLibrary.clearErrors()
        let status = unsafe bytes.withOctets { unsafe EVP_DigestUpdate(pointer, $0.baseAddress, $0.count) }
        guard status == 1 else { throw CryptoError(failed: "EVP_DigestUpdate", "\(function.openSSLName) hash") }
    }

    /// Returns the hash of all bytes; don't update it afterwards.
    package func finish() throws(CryptoError) -> [UInt8] {
        OpenSSLLibrary.clearErrors()
        let hash = unsafe [UInt8](maximumSize: function.digestSize) { buffer, size in
            var written: UInt32 = 0
            let status = unsafe EVP_DigestFinal_ex(pointer, buffer, &written)
            size = Int(written)
            return status == 1 && size == function.digestSize
        }
        return try hash.orThrow(failed: "EVP_DigestFinal_ex", "\(function.openSSLName) hash")
    }
}
