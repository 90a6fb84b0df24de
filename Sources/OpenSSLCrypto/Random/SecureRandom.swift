internal import COpenSSL

/// Random values.
package enum SecureRandom {
    /// Makes octets fit for keys, nonces and identifiers.
    ///
    /// - Parameter count: How many; at least 0 and at most 1 MiB.
    /// - Returns: The octets.
    /// - Throws: ``CryptoError/Code/invalidArgument`` for a count out of range,
    ///   ``CryptoError/Code/randomUnavailable`` if the generator can't be seeded.
    package static func bytes(count: Int) throws(CryptoError) -> [UInt8] {
        guard (0...maximumCount).contains(count) else {
            throw CryptoError(.invalidArgument, "\(count) random octets were asked for: ask for 0 to \(maximumCount)")
        }
        guard count > 0 else { return [] }
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.clearErrors()
        return try [UInt8](capacity: count) { output throws(CryptoError) in
            let status = unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
                initializedCount = count
                unsafe buffer.initialize(repeating: 0)
                return unsafe RAND_bytes(buffer.baseAddress, Int32(count))
            }
            guard status == 1 else {
                throw CryptoError(.randomUnavailable, failed: "RAND_bytes", "No random octets")
            }
        }
    }

    /// Makes a number for jitter, evenly distributed.
    ///
    /// It comes from the kernel's generator and can't fail.
    ///
    /// - Returns: A number of at least 0 and less than 1.
    package static func uniform() -> Double {
        Double.random(in: 0..<1)
    }

    private static let maximumCount = 1 << 20
}
