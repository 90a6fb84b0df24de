internal import COpenSSL

/// A key: the owner of an `EVP_PKEY`.
// reason: the pointer is set once, the key never changes after its creation, and OpenSSL's
// reference count is atomic.
@safe final class EVPKey: @unchecked Sendable {
    private let pointer: OpaquePointer

    init(takingOwnershipOf pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }

    /// `name` is for error messages.
    static func generate(
        _ type: String,
        _ name: String,
        configure: (OpaquePointer?) -> Bool = { _ in true }
    ) throws(CryptoError) -> EVPKey {
        let key = unsafe make(type) { context, key in
            unsafe EVP_PKEY_keygen_init(context) == 1 && configure(context) && EVP_PKEY_generate(context, &key) == 1
        }
        return try key.orThrow(failed: "EVP_PKEY_generate", "Can't generate \(name)")
    }

    /// Returns `nil` if OpenSSL rejects the parameters.
    static func make(
        _ type: String,
        _ selection: Int32,
        _ parameters: UnsafeMutablePointer<OSSL_PARAM>?
    ) -> EVPKey? {
        unsafe make(type) { context, key in
            unsafe EVP_PKEY_fromdata_init(context) == 1
                && EVP_PKEY_fromdata(context, &key, selection, parameters) == 1
        }
    }

    private static func make(_ type: String, _ body: (OpaquePointer?, inout OpaquePointer?) -> Bool) -> EVPKey? {
        OpenSSLLibrary.prepareAndClearErrors()
        let context = unsafe EVP_PKEY_CTX_new_from_name(nil, type, nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard unsafe body(context, &key), let key = unsafe key else { return nil }
        return unsafe EVPKey(takingOwnershipOf: key)
    }

    func withPointer<Result, Failure: Error>(
        _ body: (OpaquePointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(pointer)
    }

    /// Copies the key for a public key to be set.
    func parameters() throws(CryptoError) -> EVPKey {
        guard let new = unsafe EVP_PKEY_new() else { throw CryptoError(failed: "EVP_PKEY_new", "No memory") }
        let key = unsafe EVPKey(takingOwnershipOf: new)
        guard unsafe EVP_PKEY_copy_parameters(new, pointer) == 1 else {
            throw CryptoError(failed: "EVP_PKEY_copy_parameters", "Can't copy the parameters of the key")
        }
        return key
    }

    var maximumSignatureSize: Int { unsafe Int(EVP_PKEY_get_size(pointer)) }

    static func make(_ key: PrivateKey) throws(CryptoError) -> EVPKey {
        OpenSSLLibrary.clearErrors()
        let decoded = unsafe try key.pkcs8DER().withBytes { der in
            unsafe der.decoded { unsafe d2i_AutoPrivateKey(nil, $0, $1) }
        }
        return try unsafe decoded.object.map { unsafe EVPKey(takingOwnershipOf: $0) }
            .orThrow(failed: "d2i_AutoPrivateKey", "OpenSSL rejected the \(key.kind) key")
    }

    static func generate(_ curve: some RawKeyCurve) throws(CryptoError) -> EVPKey {
        try unsafe generate(curve.name, "a \(curve.name) key")
    }

    static func make(_ curve: some RawKeyCurve, seed: SecretBytes) throws(CryptoError) -> EVPKey {
        OpenSSLLibrary.prepareAndClearErrors()
        let key = unsafe seed.withOctets { seed in
            unsafe EVP_PKEY_new_raw_private_key_ex(nil, curve.name, nil, seed.baseAddress, seed.count)
        }
        return try unsafe key.map { unsafe EVPKey(takingOwnershipOf: $0) }
            .orThrow(failed: "EVP_PKEY_new_raw_private_key_ex", "OpenSSL rejected the \(curve.name) key")
    }

    static func make(
        _ parameters: MLDSAParameters,
        generatingFrom seed: SecretBytes
    ) throws(CryptoError) -> EVPKey {
        let key = unsafe seed.withOctets { seed in
            // The parameter's type isn't const, but OpenSSL only reads it here.
            let octets = unsafe UnsafeMutableRawPointer(mutating: seed.baseAddress)
            var list = unsafe [COpenSSL_seed_param(octets, seed.count), OSSL_PARAM_construct_end()]
            return unsafe make(parameters.name, COpenSSL_selection_keypair(), &list)
        }
        return try key.orThrow(failed: "EVP_PKEY_fromdata", "OpenSSL rejected the \(parameters.name) seed")
    }

    /// The caller must check the bytes: OpenSSL doesn't.
    static func make(_ curve: some RawKeyCurve, point: [UInt8]) throws(CryptoError) -> EVPKey {
        OpenSSLLibrary.prepareAndClearErrors()
        guard let key = unsafe EVP_PKEY_new_raw_public_key_ex(nil, curve.name, nil, point, point.count) else {
            throw CryptoError(failed: "EVP_PKEY_new_raw_public_key_ex", "OpenSSL rejected the \(curve.name) key")
        }
        return unsafe EVPKey(takingOwnershipOf: key)
    }

    func publicOctets(on curve: some RawKeyCurve) throws(CryptoError) -> [UInt8] {
        OpenSSLLibrary.clearErrors()
        let octets = unsafe [UInt8](maximumSize: curve.keySize) { buffer, size in
            unsafe withPointer { unsafe EVP_PKEY_get_raw_public_key($0, buffer, &size) } == 1 && size == curve.keySize
        }
        return try octets.orThrow(failed: "EVP_PKEY_get_raw_public_key", "Can't export the public key")
    }

    func privateOctets(size expectedSize: Int) throws(CryptoError) -> SecretBytes {
        OpenSSLLibrary.clearErrors()
        let seed = unsafe SecretBytes(maximumSize: expectedSize) { buffer, size in
            unsafe withPointer { unsafe EVP_PKEY_get_raw_private_key($0, buffer, &size) } == 1 && size == expectedSize
        }
        return try seed.orThrow(failed: "EVP_PKEY_get_raw_private_key", "Can't export the private key")
    }

    static func generate(_ curve: EllipticCurve) throws(CryptoError) -> EVPKey {
        try unsafe generate("EC", "a \(curve.name) key") { context in
            unsafe EVP_PKEY_CTX_set_group_name(context, curve.openSSLName) == 1
        }
    }

    /// A copy of a key without a point takes a quarter of the time that `EVP_PKEY_fromdata` does.
    ///
    /// It checks that the point is on the curve.
    static func make(_ curve: EllipticCurve, point: CurvePoint) throws(CryptoError) -> EVPKey {
        let blank = try parameters[curve]
        OpenSSLLibrary.clearErrors()
        guard let copy = unsafe blank.withPointer({ unsafe EVP_PKEY_dup($0) }) else {
            throw CryptoError(failed: "EVP_PKEY_dup", "Can't copy the parameters of \(curve.name)")
        }
        let key = unsafe EVPKey(takingOwnershipOf: copy)
        let encoded = point.uncompressed
        let status = unsafe encoded.withUnsafeBufferPointer { encoded in
            unsafe EVP_PKEY_set1_encoded_public_key(copy, encoded.baseAddress, encoded.count)
        }
        guard status == 1 else {
            // Unlike this function, the group reports the reason.
            let group = try CurveGroup.shared(for: curve)
            _ = try encoded.withBytes { encoded throws(CryptoError) in try group.point(decoding: encoded) }
            throw CryptoError(failed: "EVP_PKEY_set1_encoded_public_key", "Can't use the point on \(curve.name)")
        }
        return key
    }

    /// For each curve, a key that has only the curve's parameters.
    private static let parameters = FetchedValues(EllipticCurve.all) { curve throws(CryptoError) in
        try unsafe fromData(curve, COpenSSL_selection_parameters(), [])
            .orThrow(failed: "EVP_PKEY_fromdata", "OpenSSL rejected the parameters of \(curve.name)")
    }

    /// The caller must check the parts for consistency: OpenSSL doesn't.
    static func make(
        _ curve: EllipticCurve,
        point: CurvePoint,
        scalar: SecretBytes
    ) throws(CryptoError) -> EVPKey {
        var encodedPoint = point.uncompressed
        let key = unsafe encodedPoint.withUnsafeMutableBytes { point in
            unsafe scalar.reversed().withOctets { scalar in
                // The parameter's type isn't const, but OpenSSL only reads it here.
                let octets = unsafe UnsafeMutablePointer(mutating: scalar.baseAddress)
                let parts = unsafe [
                    COpenSSL_public_key_param(point.baseAddress, point.count),
                    COpenSSL_private_key_param(octets, scalar.count),
                ]
                return unsafe fromData(curve, COpenSSL_selection_keypair(), parts)
            }
        }
        return try key.orThrow(failed: "EVP_PKEY_fromdata", "OpenSSL rejected the \(curve.name) key")
    }

    private static func fromData(_ curve: EllipticCurve, _ selection: Int32, _ parts: [OSSL_PARAM]) -> EVPKey? {
        var groupName = Array(curve.openSSLName.utf8CString)
        return unsafe groupName.withUnsafeMutableBufferPointer { groupName in
            let group = unsafe COpenSSL_group_name_param(groupName.baseAddress)
            var parameters = unsafe [group] + parts + [OSSL_PARAM_construct_end()]
            return unsafe make("EC", selection, &parameters)
        }
    }

    /// OpenSSL before 3.0.8 compresses `OSSL_PKEY_PARAM_PUB_KEY`, but never the parameter used
    /// here.
    func point(on curve: EllipticCurve) throws(CryptoError) -> CurvePoint {
        OpenSSLLibrary.clearErrors()
        let maximumSize = 1 + 2 * curve.coordinateSize
        let octets = unsafe [UInt8](maximumSize: maximumSize) { buffer, size in
            let name = OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY
            return unsafe withPointer {
                unsafe EVP_PKEY_get_octet_string_param($0, name, buffer, maximumSize, &size) == 1
            }
        }
        guard let octets, octets.count == maximumSize, octets.first == CurvePoint.uncompressedForm else {
            throw CryptoError(failed: "EVP_PKEY_get_octet_string_param", "Can't export the public point")
        }
        return CurvePoint(uncompressed: octets)
    }

    /// Big-endian and padded to the curve's coordinate size.
    func scalar(on curve: EllipticCurve) throws(CryptoError) -> SecretBytes {
        OpenSSLLibrary.clearErrors()
        var number: OpaquePointer?
        let status = unsafe withPointer { unsafe EVP_PKEY_get_bn_param($0, OSSL_PKEY_PARAM_PRIV_KEY, &number) }
        defer { unsafe BN_clear_free(number) }
        guard status == 1 else {
            throw CryptoError(failed: "EVP_PKEY_get_bn_param", "Can't export the private scalar")
        }
        let scalar = unsafe SecretBytes(maximumSize: curve.coordinateSize) { buffer, size in
            size = curve.coordinateSize
            return unsafe BN_bn2binpad(number, buffer, Int32(size)) == Int32(size)
        }
        return try scalar.orThrow(failed: "BN_bn2binpad", "Can't export the private scalar")
    }

    /// Named as in [RFC 7518 §6.3](https://www.rfc-editor.org/rfc/rfc7518#section-6.3).
    enum RSANumber: Int32 {
        // In the order of RFC 8017 §A.1.2.
        case n, e, d, p, q, dp, dq, qi
    }

    static func generateRSA(bitCount: Int) throws(CryptoError) -> EVPKey {
        try unsafe generate("RSA", "an RSA key of \(bitCount) bits") { context in
            unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bitCount)) == 1
        }
    }

    /// Makes a public key without private numbers; the caller must check the numbers: OpenSSL
    /// doesn't.
    static func make(_ numbers: RSAPublicNumbers, _ privateNumbers: RSAPrivateNumbers?) throws(CryptoError) -> EVPKey {
        OpenSSLLibrary.prepareAndClearErrors()
        let builder = unsafe OSSL_PARAM_BLD_new()
        defer { unsafe OSSL_PARAM_BLD_free(builder) }
        let selection = privateNumbers == nil ? COpenSSL_selection_public_key() : COpenSSL_selection_keypair()
        func pointer(_ number: BigNumber?) -> OpaquePointer? { unsafe number?.withPointer { unsafe $0 } }
        let isCollected = withExtendedLifetime((numbers, privateNumbers)) {
            unsafe COpenSSL_push_rsa_numbers(
                builder,
                pointer(numbers.n),
                pointer(numbers.e),
                pointer(privateNumbers?.d),
                pointer(privateNumbers?.p),
                pointer(privateNumbers?.q),
                pointer(privateNumbers?.dp),
                pointer(privateNumbers?.dq),
                pointer(privateNumbers?.qi)
            ) == 1
        }
        // The parameters contain copies of the numbers. Because the numbers are marked as secret,
        // freeing the parameters clears the copies.
        let parameters = unsafe isCollected ? OSSL_PARAM_BLD_to_param(builder) : nil
        defer { unsafe OSSL_PARAM_free(parameters) }
        guard unsafe parameters != nil, let key = unsafe make("RSA", selection, parameters) else {
            throw CryptoError(failed: "EVP_PKEY_fromdata", "OpenSSL rejected the RSA key")
        }
        return key
    }

    func rsaNumber(_ name: RSANumber) throws(CryptoError) -> BigNumber {
        OpenSSLLibrary.clearErrors()
        let number = try BigNumber()
        let isRead = unsafe number.withPointer { number in
            unsafe withPointer { key in
                var target: OpaquePointer? = unsafe number
                return unsafe EVP_PKEY_get_bn_param(key, COpenSSL_rsa_number_name(name.rawValue), &target) == 1
            }
        }
        guard isRead else { throw CryptoError(failed: "EVP_PKEY_get_bn_param", "Can't export the RSA key's \(name)") }
        return number
    }
}

/// The parameters of a kind of key: a curve or a parameter set.
package protocol KeyParameters: Hashable, Sendable {
    static var all: [Self] { get }
    /// The name in a JWK's `crv` or `alg` member.
    var name: String { get }
    var identifier: ObjectIdentifier { get }
}

extension KeyParameters {
    /// The name is case-sensitive.
    package init?(name: String) {
        guard let value = Self.all.first(where: { $0.name == name }) else { return nil }
        self = value
    }

    init?(identifier: ObjectIdentifier) {
        guard let value = Self.all.first(where: { $0.identifier == identifier }) else { return nil }
        self = value
    }

    var mismatch: CryptoError {
        CryptoError(.keyMismatch, "The private and public parts of the \(name) key don't match")
    }
}

/// The parameters of keys that are strings of bytes of one size
/// ([RFC 8410](https://www.rfc-editor.org/rfc/rfc8410)); the name is also OpenSSL's.
protocol RawKeyCurve: KeyParameters {
    /// In bytes; also the size of a curve's private key.
    var keySize: Int { get }
}

extension RawKeyCurve {
    func check(publicKey octets: [UInt8]) throws(CryptoError) {
        guard octets.count == keySize else {
            throw CryptoError(
                .malformedKey,
                "The public key has \(octets.count) bytes, but \(name) public keys have \(keySize)"
            )
        }
    }

    /// Not for ML-DSA, whose seeds have another size than its public keys.
    func keyPair(_ seed: SecretBytes) throws(CryptoError) -> EVPKey {
        guard seed.count == keySize else {
            throw CryptoError(
                .malformedKey,
                "The private key has \(seed.count) bytes, but \(name) private keys have \(keySize)"
            )
        }
        return try EVPKey.make(self, seed: seed)
    }
}

extension SecretBytes {
    fileprivate func reversed() -> SecretBytes {
        withBytes { bytes in
            SecretBytes(capacity: bytes.byteCount) { output in
                for offset in bytes.byteOffsets.reversed() {
                    output.append(bytes[offset])
                }
            }
        }
    }
}
