internal import COpenSSL

/// A hash function whose output can have any length ([FIPS 202 §6.2](https://doi.org/10.6028/NIST.FIPS.202)).
package enum ExtendableOutputFunction: Sendable, Hashable {
    /// SHAKE256.
    case shake256

    /// Hashes octets.
    ///
    /// - Parameters:
    ///   - bytes: The octets.
    ///   - count: How many octets the hash shall have; one at least.
    /// - Returns: The hash.
    /// - Throws: ``CryptoError/Code/openSSL`` if the library does not offer the function, ``CryptoError/Code/invalidArgument``
    ///   for a hash of no octets.
    package func hash(_ bytes: RawSpan, count: Int) throws(CryptoError) -> [UInt8] {
        guard count > 0 else { throw CryptoError(.invalidArgument, "A hash must have an octet at least") }
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.clearErrors()
        guard let function = unsafe EVP_MD_fetch(nil, openSSLName, nil) else {
            throw CryptoError(failed: "EVP_MD_fetch", "The hash function \(openSSLName) is not available")
        }
        defer { unsafe EVP_MD_free(function) }
        guard let context = unsafe EVP_MD_CTX_new() else { throw CryptoError(failed: "EVP_MD_CTX_new", "No memory") }
        defer { unsafe EVP_MD_CTX_free(context) }
        var output = [UInt8](zeros: count)
        let isHashed = unsafe bytes.withUnsafeBytes { bytes in
            unsafe output.withUnsafeMutableBufferPointer { output in
                unsafe EVP_DigestInit_ex(context, function, nil) == 1
                    && EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1
                    && EVP_DigestFinalXOF(context, output.baseAddress, output.count) == 1
            }
        }
        guard isHashed else { throw CryptoError(failed: "EVP_DigestFinalXOF", "\(openSSLName) hash") }
        return output
    }

    private var openSSLName: String {
        switch self {
        case .shake256: "SHAKE256"
        }
    }
}
