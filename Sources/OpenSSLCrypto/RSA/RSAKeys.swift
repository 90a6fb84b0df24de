/// An RSA key pair with two primes, validated on creation.
package struct RSAPrivateKey: Sendable {
    package let publicKey: RSAPublicKey

    let key: EVPKey

    /// Throws `weakKey` or `keyTooLarge` for other than 2048 to 8192 bits.
    ///
    /// Generating 4096 bits takes about one second, 8192 bits about ten. The public exponent is
    /// 65537.
    package static func generate(bitCount: Int = 2048) throws(CryptoError) -> RSAPrivateKey {
        let possible = RSAPublicNumbers.bitCounts
        guard possible.contains(bitCount) else {
            throw CryptoError(
                bitCount < possible.lowerBound ? .weakKey : .keyTooLarge,
                "An RSA key can't have \(bitCount) bits; use \(possible.lowerBound) to \(possible.upperBound)"
            )
        }
        let key = try EVPKey.generateRSA(bitCount: bitCount)
        return try RSAPrivateKey(RSAPublicNumbers(generated: key.rsaNumber(.n), key.rsaNumber(.e)), key: key)
    }

    /// The numbers are big-endian; the private ones may have leading zeros, up to the size of the
    /// modulus, and missing factors are computed.
    ///
    /// It throws as ``RSAPublicKey/init(modulus:exponent:maximumBitCount:)``, `weakKey` also for
    /// primes of different sizes and primes that are close to each other, and `keyMismatch` if the
    /// numbers don't match.
    package init(
        modulus: [UInt8],
        exponent: [UInt8],
        privateExponent: SecretBytes,
        factors: RSAFactors? = nil
    ) throws(CryptoError) {
        let numbers = try RSAPublicNumbers(modulus: modulus, exponent: exponent)
        let privateNumbers =
            if let factors {
                try RSAPrivateNumbers(numbers, d: privateExponent, factors)
            } else {
                try RSAPrivateNumbers(numbers, d: privateExponent)
            }
        try self.init(numbers, key: EVPKey.make(numbers, privateNumbers))
    }

    private init(_ numbers: RSAPublicNumbers, key: EVPKey) throws(CryptoError) {
        publicKey = try RSAPublicKey(numbers)
        self.key = key
    }

    package var bitCount: Int { publicKey.bitCount }

    package func privateExponent() throws(CryptoError) -> SecretBytes {
        try key.rsaNumber(.d).secretOctets()
    }

    package func factors() throws(CryptoError) -> RSAFactors {
        try RSAFactors(
            p: key.rsaNumber(.p).secretOctets(),
            q: key.rsaNumber(.q).secretOctets(),
            dp: key.rsaNumber(.dp).secretOctets(),
            dq: key.rsaNumber(.dq).secretOctets(),
            qi: key.rsaNumber(.qi).secretOctets()
        )
    }

    /// A broken hash function is an `invalidArgument`.
    package func signer(_ padding: RSASignaturePadding, hash: HashFunction) throws(CryptoError) -> RSASigner {
        try RSASigner(key, padding, hash)
    }

    package func decrypter(hash: HashFunction) throws(CryptoError) -> RSADecrypter {
        try RSADecrypter(key, hash)
    }
}

/// The public key of an RSA key pair, validated on creation.
package struct RSAPublicKey: Sendable, Equatable {
    /// Big-endian and without leading zeros, as the exponent.
    package let modulus: [UInt8]
    package let exponent: [UInt8]
    package let bitCount: Int

    let key: EVPKey

    /// The modulus is odd and has 2048 bits to `maximumBitCount`, at most 8192; the exponent is
    /// odd, at least 3 and less than 2⁶⁴.
    ///
    /// One leading zero byte, which some writers copy from DER, is ignored. It throws
    /// `malformedKey`, `keyTooLarge` and `weakKey`: for a modulus that's too short, from a library
    /// with the vulnerability CVE-2017-15361, with a small factor or with primes that are close to
    /// each other, and for the exponent 1.
    package init(
        modulus: [UInt8],
        exponent: [UInt8],
        maximumBitCount: Int = maximumBitCount
    ) throws(CryptoError) {
        try self.init(RSAPublicNumbers(modulus: modulus, exponent: exponent, maximumBitCount: maximumBitCount))
    }

    package static let maximumBitCount = RSAPublicNumbers.bitCounts.upperBound

    init(_ numbers: RSAPublicNumbers) throws(CryptoError) {
        modulus = try numbers.n.octets()
        exponent = try numbers.e.octets()
        bitCount = numbers.n.bitCount
        key = try EVPKey.make(numbers, nil)
    }

    /// Also the size of a signature, in bytes.
    package var modulusSize: Int { modulus.count }

    /// A broken hash function is an `invalidArgument`.
    package func verifier(_ padding: RSASignaturePadding, hash: HashFunction) throws(CryptoError) -> RSAVerifier {
        try RSAVerifier(key, padding, hash, signatureSize: modulusSize)
    }

    /// SHA-1 is secure here, because OAEP doesn't need collision resistance.
    package func encrypter(hash: HashFunction) throws(CryptoError) -> RSAEncrypter {
        try RSAEncrypter(key, hash)
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.modulus == right.modulus && left.exponent == right.exponent
    }
}

/// The ASN.1 encodings of RSA keys: PKCS#1
/// ([RFC 8017 §A.1](https://www.rfc-editor.org/rfc/rfc8017#appendix-A.1)), and the algorithm for
/// PKCS#8 and SubjectPublicKeyInfo
/// ([RFC 3279 §2.3.1](https://www.rfc-editor.org/rfc/rfc3279#section-2.3.1)).
enum RSAKeyCoding {
    static let algorithm = ObjectIdentifier.rsaKey.element + [Tag.null, 0]

    /// The parameters must be NULL.
    static func check(_ parameters: DERReader, in bytes: RawSpan) throws(CryptoError) {
        var parameters = parameters
        let null = try parameters.contents(Tag.null, "RSA key's parameters", in: bytes)
        guard null.isEmpty else { throw CryptoError(.malformedKey, "The NULL in the RSA key isn't empty") }
        try parameters.finish("RSA key's parameters")
    }

    static func privateKey(_ bytes: RawSpan, in range: Range<Int>? = nil) throws(CryptoError) -> RSAPrivateKey {
        var reader = try DERReader.sequence("RSA private key", in: bytes, range)
        let version = try reader.smallInteger("RSA private key version", in: bytes)
        guard version != 1 else {
            throw CryptoError(.wrongKeyType, "The RSA key has more than two primes, which isn't supported")
        }
        guard version == 0 else {
            throw CryptoError(.malformedKey, "RSA private key version \(version) isn't supported")
        }
        let n = try reader.magnitude("RSA modulus", in: bytes)
        let e = try reader.magnitude("RSA public exponent", in: bytes)
        let d = try reader.magnitude("RSA private exponent", in: bytes)
        let p = try reader.magnitude("RSA first prime", in: bytes)
        let q = try reader.magnitude("RSA second prime", in: bytes)
        let dp = try reader.magnitude("RSA first exponent", in: bytes)
        let dq = try reader.magnitude("RSA second exponent", in: bytes)
        let qi = try reader.magnitude("RSA coefficient", in: bytes)
        try reader.finish("RSA private key")
        func secret(_ range: Range<Int>) -> SecretBytes { SecretBytes(copying: bytes.extracting(range)) }
        // Zeros stand for numbers that the writer didn't know.
        let hasFactors = [p, q, dp, dq, qi].contains { !$0.isEmpty }
        return try RSAPrivateKey(
            modulus: n.map { bytes[$0] },
            exponent: e.map { bytes[$0] },
            privateExponent: secret(d),
            factors: hasFactors
                ? RSAFactors(p: secret(p), q: secret(q), dp: secret(dp), dq: secret(dq), qi: secret(qi)) : nil
        )
    }

    static func publicKey(_ bytes: RawSpan, in range: Range<Int>? = nil) throws(CryptoError) -> RSAPublicKey {
        var reader = try DERReader.sequence("RSA public key", in: bytes, range)
        let n = try reader.magnitude("RSA modulus", in: bytes)
        let e = try reader.magnitude("RSA public exponent", in: bytes)
        try reader.finish("RSA public key")
        return try RSAPublicKey(modulus: n.map { bytes[$0] }, exponent: e.map { bytes[$0] })
    }

    static func encoding(_ key: RSAPrivateKey) throws(CryptoError) -> SecretBytes {
        let factors = try key.factors()
        let numbers = try [
            copy(key.publicKey.modulus), copy(key.publicKey.exponent), key.privateExponent(), factors.p, factors.q,
            factors.dp, factors.dq, factors.qi,
        ]
        let contents = numbers.reduce(3) { $0 + DERWriter.size(ofElementWith: integerSize($1)) }
        return SecretBytes(capacity: DERWriter.size(ofElementWith: contents)) { output in
            DERWriter.appendHeader(Tag.sequence, size: contents, to: &output)
            DERWriter.append(Tag.integer, [0], to: &output)
            for number in numbers {
                DERWriter.appendHeader(Tag.integer, size: integerSize(number), to: &output)
                if integerSize(number) > number.count {
                    output.append(0)
                }
                number.withBytes { output.append($0) }
            }
        }
    }

    static func encoding(_ key: RSAPublicKey) -> [UInt8] {
        let numbers = [key.modulus, key.exponent].map { $0.first.map { $0 & 0x80 != 0 } == true ? [0] + $0 : $0 }
        let contents = numbers.reduce(0) { $0 + DERWriter.size(ofElementWith: $1.count) }
        return [UInt8](capacity: DERWriter.size(ofElementWith: contents)) { output in
            DERWriter.appendHeader(Tag.sequence, size: contents, to: &output)
            for number in numbers {
                DERWriter.append(Tag.integer, number, to: &output)
            }
        }
    }

    private typealias Tag = DERReader.Tag

    private static func copy(_ octets: [UInt8]) -> SecretBytes {
        octets.withBytes { SecretBytes(copying: $0) }
    }

    /// Includes a zero if the first byte would otherwise be a sign.
    private static func integerSize(_ number: SecretBytes) -> Int {
        number.count + number.withBytes { $0.isEmpty ? 0 : Int($0[0] >> 7) }
    }
}

package struct RSASigner: Sendable {
    private let hash: HashFunction
    private let signing: EVPKeyOperation

    init(_ key: EVPKey, _ padding: RSASignaturePadding, _ hash: HashFunction) throws(CryptoError) {
        guard hash.isCollisionResistant else {
            throw CryptoError(.invalidArgument, "Can't sign with \(hash.openSSLName); use SHA-256 or longer")
        }
        self.hash = hash
        signing = try EVPKeyOperation(.signing, .rsa(padding, hash), with: key)
    }

    /// PSS signatures are randomized.
    package func signature(for message: RawSpan) throws(CryptoError) -> [UInt8] {
        try hash.hash(message).withBytes { digest throws(CryptoError) in try signing.sign(digest) }
    }
}

package struct RSAVerifier: Sendable {
    private let hash: HashFunction
    private let signatureSize: Int
    private let verification: EVPKeyOperation

    init(
        _ key: EVPKey,
        _ padding: RSASignaturePadding,
        _ hash: HashFunction,
        signatureSize: Int
    ) throws(CryptoError) {
        guard hash.isCollisionResistant else {
            throw CryptoError(.invalidArgument, "Can't verify with \(hash.openSSLName); use SHA-256 or longer")
        }
        self.hash = hash
        self.signatureSize = signatureSize
        verification = try EVPKeyOperation(.verification, .rsa(padding, hash), with: key)
    }

    /// Returns `false` also if OpenSSL fails, and for a signature that isn't as long as the
    /// modulus: OpenSSL itself accepts a PSS signature without its leading zero.
    package func isValidSignature(_ signature: RawSpan, for message: RawSpan) -> Bool {
        guard signature.byteCount == signatureSize, let digest = try? hash.hash(message) else { return false }
        return digest.withBytes { verification.verify(signature, of: $0) }
    }
}

/// The padding that extends a hash to the size of an RSA modulus for signing.
package enum RSASignaturePadding: Sendable, Hashable {
    /// RSASSA-PKCS1-v1_5 ([RFC 8017 §8.2](https://www.rfc-editor.org/rfc/rfc8017#section-8.2)).
    case pkcs1v15
    /// RSASSA-PSS ([RFC 8017 §8.1](https://www.rfc-editor.org/rfc/rfc8017#section-8.1)) with MGF1,
    /// using the same hash and a salt with the size of the hash, for signing and verifying.
    case pss
}

/// Encryption with an RSA public key and OAEP
/// ([RFC 8017 §7.1](https://www.rfc-editor.org/rfc/rfc8017#section-7.1)), with an empty label and
/// the same hash function for the padding and MGF1.
package struct RSAEncrypter: Sendable {
    private let encryption: EVPKeyOperation

    init(_ key: EVPKey, _ hash: HashFunction) throws(CryptoError) {
        encryption = try EVPKeyOperation(.encryption, .oaep(hash), with: key)
    }

    /// The secret must be at least 66 bytes shorter than the modulus with SHA-256.
    package func encrypt(_ secret: SecretBytes) throws(CryptoError) -> [UInt8] {
        try secret.withBytes { secret throws(CryptoError) in try encryption.encrypt(secret) }
    }
}

package struct RSADecrypter: Sendable {
    private let decryption: EVPKeyOperation

    init(_ key: EVPKey, _ hash: HashFunction) throws(CryptoError) {
        decryption = try EVPKeyOperation(.decryption, .oaep(hash), with: key)
    }

    /// Returns `nil` for any failure, because a reason would tell an attacker how to find the
    /// plaintext ([RFC 8017 §7.1.2](https://www.rfc-editor.org/rfc/rfc8017#section-7.1.2)).
    package func decrypt(_ ciphertext: [UInt8]) -> SecretBytes? {
        ciphertext.withBytes { decryption.decrypt($0) }
    }
}
