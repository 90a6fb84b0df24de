internal import COpenSSL

/// A hash function with output of any length
/// ([FIPS 202 §6.2](https://doi.org/10.6028/NIST.FIPS.202)).
package enum ExtendableOutputFunction {
    /// Returns the SHAKE256 hash of bytes, in a size of at least 1 byte; 0 or less is an
    /// `invalidArgument`.
    package static func shake256(_ bytes: RawSpan, count: Int) throws(CryptoError) -> [UInt8] {
        guard count > 0 else { throw CryptoError(.invalidArgument, "The size of a hash must be at least 1 byte") }
        OpenSSLLibrary.prepareAndClearErrors()
        guard let function = unsafe EVP_MD_fetch(nil, "SHAKE256", nil) else {
            throw CryptoError(failed: "EVP_MD_fetch", "The hash function SHAKE256 isn't available")
        }
        defer { unsafe EVP_MD_free(function) }
        guard let context = unsafe EVP_MD_CTX_new() else { throw CryptoError(failed: "EVP_MD_CTX_new", "No memory") }
        defer { unsafe EVP_MD_CTX_free(context) }
        let hash = unsafe [UInt8](maximumSize: count) { buffer, size in
            size = count
            return unsafe bytes.withOctets { bytes in
                unsafe EVP_DigestInit_ex(context, function, nil) == 1
                    && EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1
                    && EVP_DigestFinalXOF(context, buffer, count) == 1
            }
        }
        return try hash.orThrow(failed: "EVP_DigestFinalXOF", "SHAKE256 hash")
    }
}
