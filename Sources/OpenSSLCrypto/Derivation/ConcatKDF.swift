/// The Concat key derivation function with SHA-256
/// ([RFC 7518 §4.6.2](https://www.rfc-editor.org/rfc/rfc7518#section-4.6.2)), which is the
/// single-step function of [NIST SP 800-56C](https://doi.org/10.6028/NIST.SP.800-56Cr2).
package enum ConcatKDF {
    /// Derives a key of 1 to 1024 bytes from a shared secret of at least one byte and the context
    /// of the key (OtherInfo); other sizes are an `invalidArgument`.
    package static func key(from secret: SecretBytes, info: [UInt8], count: Int) throws(CryptoError) -> SecretBytes {
        guard secret.count > 0, (1...1024).contains(count) else {
            throw CryptoError(.invalidArgument, "Can't derive \(count) bytes from a secret of \(secret.count) bytes")
        }
        return try SecretBytes(capacity: count) { output throws(CryptoError) in
            var round: UInt8 = 0
            while output.count < count {
                round += 1
                let state = try HashState(.sha256)
                // The round as four bytes; 1024 bytes take 32 rounds.
                try [0, 0, 0, round].withBytes { bytes throws(CryptoError) in try state.update(bytes) }
                try secret.withBytes { bytes throws(CryptoError) in try state.update(bytes) }
                try info.withBytes { bytes throws(CryptoError) in try state.update(bytes) }
                var hash = try state.finish()
                for octet in hash.prefix(count - output.count) { output.append(octet) }
                hash.clear()
            }
        }
    }
}
