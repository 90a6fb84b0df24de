internal import COpenSSL

extension EVPKey {
    /// Generates a key pair.
    static func generate(_ curve: some RawKeyCurve) throws(CryptoError) -> EVPKey {
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.clearErrors()
        let context = unsafe EVP_PKEY_CTX_new_from_name(nil, curve.name, nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard
            unsafe EVP_PKEY_keygen_init(context) == 1,
            unsafe EVP_PKEY_generate(context, &key) == 1,
            let key = unsafe key
        else { throw CryptoError(failed: "EVP_PKEY_generate", "Can't generate a \(curve.name) key") }
        return unsafe EVPKey(takingOwnershipOf: key)
    }

    /// Creates a key pair from its private key bytes, which must have the curve's size.
    static func make(_ curve: some RawKeyCurve, seed: SecretBytes) throws(CryptoError) -> EVPKey {
        let key = seed.withBytes { bytes in
            unsafe makeRaw(curve, bytes, "EVP_PKEY_new_raw_private_key_ex", EVP_PKEY_new_raw_private_key_ex)
        }
        return try key.get()
    }

    /// Creates a public key from its bytes, which the caller must check: OpenSSL doesn't.
    static func make(_ curve: some RawKeyCurve, point: [UInt8]) throws(CryptoError) -> EVPKey {
        let key = point.withBytes { bytes in
            unsafe makeRaw(curve, bytes, "EVP_PKEY_new_raw_public_key_ex", EVP_PKEY_new_raw_public_key_ex)
        }
        return try key.get()
    }

    private typealias RawKeyFunction = (
        OpaquePointer?, UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<UInt8>?, Int
    ) -> OpaquePointer?

    private static func makeRaw(
        _ curve: some RawKeyCurve,
        _ octets: RawSpan,
        _ name: StaticString,
        _ function: RawKeyFunction
    ) -> Result<EVPKey, CryptoError> {
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.clearErrors()
        let key = unsafe octets.withUnsafeBytes { octets in
            unsafe function(
                nil,
                curve.name,
                nil,
                octets.baseAddress?.assumingMemoryBound(to: UInt8.self),
                octets.count
            )
        }
        guard let key = unsafe key else {
            return .failure(CryptoError(failed: name, "OpenSSL rejected the \(curve.name) key"))
        }
        return .success(unsafe EVPKey(takingOwnershipOf: key))
    }

    /// Returns the public key bytes.
    func publicOctets(on curve: some RawKeyCurve) throws(CryptoError) -> [UInt8] {
        OpenSSLLibrary.clearErrors()
        return try [UInt8](capacity: curve.keySize) { output throws(CryptoError) in
            let isRead = unsafe write(curve.keySize, to: &output) { unsafe EVP_PKEY_get_raw_public_key($0, $1, $2) }
            guard isRead else {
                throw CryptoError(failed: "EVP_PKEY_get_raw_public_key", "Can't export the public key")
            }
        }
    }

    /// Returns the private key bytes.
    func seed(on curve: some RawKeyCurve) throws(CryptoError) -> SecretBytes {
        OpenSSLLibrary.clearErrors()
        return try SecretBytes(capacity: curve.keySize) { output throws(CryptoError) in
            let isRead = unsafe write(curve.keySize, to: &output) { unsafe EVP_PKEY_get_raw_private_key($0, $1, $2) }
            guard isRead else {
                throw CryptoError(failed: "EVP_PKEY_get_raw_private_key", "Can't export the private key")
            }
        }
    }

    func write(
        _ expectedSize: Int,
        to output: inout OutputSpan<UInt8>,
        _ function: (OpaquePointer, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int>) -> Int32
    ) -> Bool {
        unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
            var size = buffer.count
            let status = unsafe withPointer { unsafe function($0, buffer.baseAddress, &size) }
            guard status == 1, size == expectedSize else { return false }
            initializedCount = size
            return true
        }
    }
}
