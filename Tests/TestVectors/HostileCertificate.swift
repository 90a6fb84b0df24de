/// Certificates whose keys are expensive to decode or unsupported; nobody signed them.
public enum HostileCertificate {
    /// A certificate with an EC key on explicit parameters.
    ///
    /// The point is compressed. Its second coordinate is a square root modulo the prime
    /// k · 2⁶⁰⁰ + 1, which takes OpenSSL about 0.2 s.
    public static var explicitCurve: [UInt8] {
        let size = 83
        let prime = [0x08] + [UInt8](repeating: 0, count: 5) + [0x05, 0x41] + [UInt8](repeating: 0, count: 74) + [0x01]
        let order = [0x08] + [UInt8](repeating: 0, count: 5) + [0x05, 0x40] + [UInt8](repeating: 0xFF, count: 75)
        // The square of 2³²⁰: the first coordinate is 0, so the square is the curve's coefficient.
        var square = [UInt8](repeating: 0, count: size)
        square[size - 81] = 1
        let zero = [UInt8](repeating: 0, count: size)
        let point = [0x02] + zero
        let parameters = element(
            0x30,
            element(0x02, [1]),
            element(0x30, identifier([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x01, 0x01]), element(0x02, prime)),
            element(0x30, element(0x04, zero), element(0x04, square)),
            element(0x04, point),
            element(0x02, order),
            element(0x02, [1])
        )
        return certificate(algorithm: [ellipticCurve, parameters], key: point)
    }

    /// A certificate with an RSA key of the given size in bytes.
    public static func rsa(modulusSize: Int, exponentSize: Int = 3) -> [UInt8] {
        let key = element(
            0x30,
            element(0x02, [0x7F] + [UInt8](repeating: 0xFF, count: modulusSize - 1)),
            element(0x02, [0x01] + [UInt8](repeating: 0xFF, count: exponentSize - 1))
        )
        return certificate(
            algorithm: [identifier([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]), null],
            key: key
        )
    }

    /// A certificate with a DSA key.
    public static var dsa: [UInt8] {
        let numbers = element(0x30, element(0x02, [23]), element(0x02, [11]), element(0x02, [4]))
        return certificate(algorithm: [dsaKey, numbers], key: element(0x02, [8]))
    }

    /// A certificate with a compressed point on a curve without support, NIST P-224.
    public static var unsupportedCurve: [UInt8] {
        certificate(
            algorithm: [ellipticCurve, identifier([0x2B, 0x81, 0x04, 0x00, 0x21])],
            key: [0x02] + [UInt8](repeating: 0, count: 28)
        )
    }

    /// A certificate with a point of the wrong size on P-256.
    public static var truncatedPoint: [UInt8] {
        certificate(
            algorithm: [ellipticCurve, identifier([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07])],
            key: [0x04] + [UInt8](repeating: 0, count: 63)
        )
    }

    /// A certificate with a SubjectPublicKeyInfo.
    public static func certificate(algorithm: [[UInt8]], key: [UInt8]) -> [UInt8] {
        let signature = element(0x30, identifier([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]))
        let name = element(0x30)
        let validity = element(
            0x30,
            element(0x17, Array("200101000000Z".utf8)),
            element(0x17, Array("491231235959Z".utf8))
        )
        let info = element(0x30, element(0x30, algorithm.flatMap(\.self)), element(0x03, [0] + key))
        let version = element(0xA0, element(0x02, [2]))
        let contents = element(0x30, version, element(0x02, [1]), signature, name, validity, name, info)
        let numbers = element(0x30, element(0x02, [1]), element(0x02, [1]))
        return element(0x30, contents, signature, element(0x03, [0] + numbers))
    }
}

/// PKCS#12 files without encryption and MAC.
public enum HostilePKCS12 {
    /// A file with certificates and other SafeBags.
    public static func file(certificates: [[UInt8]], bags: [[UInt8]] = []) -> [UInt8] {
        let certBags = certificates.map { certificate in
            let certBag = element(
                0x30,
                identifier([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x16, 0x01]),
                element(0xA0, element(0x04, certificate))
            )
            return element(0x30, bagType(3), element(0xA0, certBag))
        }
        let contents = element(0x30, (certBags + bags).flatMap(\.self))
        return file(parts: [contentInfo(data, element(0x04, contents))])
    }

    /// A KeyBag with a private key in PKCS#8.
    public static func keyBag(_ key: [UInt8]) -> [UInt8] { element(0x30, bagType(1), element(0xA0, key)) }

    /// A KeyBag with a DSA key of the given size in bytes.
    public static func dsaKeyBag(size: Int) -> [UInt8] {
        let prime = [0x7F] + [UInt8](repeating: 0xFF, count: size - 1)
        let numbers = element(0x30, element(0x02, prime), element(0x02, prime), element(0x02, [4]))
        let privateNumber = element(0x02, prime.dropLast() + [0xFE])
        let key = element(0x30, element(0x02, [0]), element(0x30, dsaKey, numbers), element(0x04, privateNumber))
        return keyBag(key)
    }

    /// A file whose only part is signed, with certificates that aren't in bags.
    public static func signedPart(certificates: [[UInt8]]) -> [UInt8] { file(parts: [signed(certificates)]) }

    /// A file that is signed as a whole.
    public static func signed(file certificates: [[UInt8]]) -> [UInt8] {
        element(0x30, element(0x02, [3]), signed(certificates))
    }

    private static let data = identifier([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01])

    private static func signed(_ certificates: [[UInt8]]) -> [UInt8] {
        let content = element(
            0x30,
            element(0x02, [1]),
            element(0x31),
            element(0x30, data),
            element(0xA0, certificates.flatMap(\.self)),
            element(0x31)
        )
        return contentInfo(identifier([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]), content)
    }

    private static func contentInfo(_ type: [UInt8], _ content: [UInt8]) -> [UInt8] {
        element(0x30, type, element(0xA0, content))
    }

    private static func file(parts: [[UInt8]]) -> [UInt8] {
        let parts = element(0x30, parts.flatMap(\.self))
        return element(0x30, element(0x02, [3]), contentInfo(data, element(0x04, parts)))
    }

    private static func bagType(_ number: UInt8) -> [UInt8] {
        identifier([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x0C, 0x0A, 0x01, number])
    }
}

private let ellipticCurve = identifier([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01])
private let dsaKey = identifier([0x2A, 0x86, 0x48, 0xCE, 0x38, 0x04, 0x01])
private let null: [UInt8] = [0x05, 0x00]

private func identifier(_ octets: [UInt8]) -> [UInt8] { element(0x06, octets) }

private func element(_ tag: UInt8, _ contents: [UInt8]...) -> [UInt8] {
    let contents = contents.flatMap(\.self)
    var length: [UInt8] = []
    var rest = contents.count
    while rest > 0 {
        length.insert(UInt8(rest & 0xFF), at: 0)
        rest >>= 8
    }
    let header = contents.count < 0x80 ? [UInt8(contents.count)] : [0x80 | UInt8(length.count)] + length
    return [tag] + header + contents
}
