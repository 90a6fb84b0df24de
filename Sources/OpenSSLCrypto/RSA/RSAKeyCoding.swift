/// The ASN.1 encodings of RSA keys: PKCS#1
/// ([RFC 8017 §A.1](https://www.rfc-editor.org/rfc/rfc8017#appendix-A.1)), and the algorithm for
/// PKCS#8 and SubjectPublicKeyInfo
/// ([RFC 3279 §2.3.1](https://www.rfc-editor.org/rfc/rfc3279#section-2.3.1)).
enum RSAKeyCoding {
    /// The contents of the algorithm's SEQUENCE.
    static let algorithm = ObjectIdentifier.rsaKey.element + [Tag.null, 0]

    /// Checks that the parameters of an RSA key's algorithm are NULL.
    static func check(_ parameters: DERReader, in bytes: RawSpan) throws(CryptoError) {
        var parameters = parameters
        let null = try parameters.contents(Tag.null, "RSA key's parameters", in: bytes)
        guard null.isEmpty else { throw CryptoError(.malformedKey, "The NULL in the RSA key isn't empty") }
        try parameters.finish("RSA key's parameters")
    }

    /// Reads an RSAPrivateKey.
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

    /// Reads an RSAPublicKey.
    static func publicKey(_ bytes: RawSpan, in range: Range<Int>? = nil) throws(CryptoError) -> RSAPublicKey {
        var reader = try DERReader.sequence("RSA public key", in: bytes, range)
        let n = try reader.magnitude("RSA modulus", in: bytes)
        let e = try reader.magnitude("RSA public exponent", in: bytes)
        try reader.finish("RSA public key")
        return try RSAPublicKey(modulus: n.map { bytes[$0] }, exponent: e.map { bytes[$0] })
    }

    /// Encodes an RSAPrivateKey.
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

    /// Encodes an RSAPublicKey.
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

    /// Returns the number of content bytes, including a zero if the first byte would otherwise be a
    /// sign.
    private static func integerSize(_ number: SecretBytes) -> Int {
        number.count + number.withBytes { $0.isEmpty ? 0 : Int($0[0] >> 7) }
    }
}
