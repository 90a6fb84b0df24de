internal import COpenSSL

package enum SecureRandom {
    /// Any count other than 0 to 1 MiB is an `invalidArgument`.
    package static func bytes(count: Int) throws(CryptoError) -> [UInt8] {
        guard (0...maximumCount).contains(count) else {
            throw CryptoError(.invalidArgument, "Can't generate \(count) random bytes; use 0 to \(maximumCount)")
        }
        guard count > 0 else { return [] }
        OpenSSLLibrary.prepareAndClearErrors()
        let bytes = unsafe [UInt8](maximumSize: count) { buffer, size in
            size = count
            return unsafe RAND_bytes(buffer, Int32(count)) == 1
        }
        return try bytes.orThrow(.randomUnavailable, failed: "RAND_bytes", "Can't generate random bytes")
    }

    /// Any count other than 1 byte to 1 MiB is an `invalidArgument`.
    package static func secret(count: Int) throws(CryptoError) -> SecretBytes {
        guard (1...maximumCount).contains(count) else {
            throw CryptoError(.invalidArgument, "Can't generate \(count) random bytes; use 1 to \(maximumCount)")
        }
        OpenSSLLibrary.prepareAndClearErrors()
        let secret = unsafe SecretBytes(maximumSize: count) { buffer, size in
            size = count
            return unsafe RAND_priv_bytes(buffer, Int32(count)) == 1
        }
        return try secret.orThrow(.randomUnavailable, failed: "RAND_priv_bytes", "Can't generate random bytes")
    }

    /// For jitter: it comes from the kernel's generator and can't fail.
    package static func uniform() -> Double {
        Double.random(in: 0..<1)
    }

    private static let maximumCount = 1 << 20
}
