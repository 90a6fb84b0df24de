/// An ASN.1 object identifier in its DER encoding.
package struct ObjectIdentifier: Hashable, Sendable {
    let octets: [UInt8]

    init(octets: [UInt8]) {
        self.octets = octets
    }

    init(_ first: Int, _ second: Int, _ others: Int...) {
        var octets: [UInt8] = []
        for arc in [first * 40 + second] + others {
            var groups = [UInt8(arc & 0x7F)]
            var rest = arc >> 7
            while rest > 0 {
                groups.append(UInt8(rest & 0x7F) | 0x80)
                rest >>= 7
            }
            octets += groups.reversed()
        }
        self.octets = octets
    }

    /// The complete element.
    var element: [UInt8] { [DERReader.Tag.objectIdentifier, UInt8(octets.count)] + octets }

    static let rsaKey = ObjectIdentifier(1, 2, 840, 113549, 1, 1, 1)
    static let rsaPSSKey = ObjectIdentifier(1, 2, 840, 113549, 1, 1, 10)
    static let ellipticCurveKey = ObjectIdentifier(1, 2, 840, 10045, 2, 1)
    static let pbes2 = ObjectIdentifier(1, 2, 840, 113549, 1, 5, 13)
    static let pbmac1 = ObjectIdentifier(1, 2, 840, 113549, 1, 5, 14)
    static let pbkdf2 = ObjectIdentifier(1, 2, 840, 113549, 1, 5, 12)
    static let hmacSHA1 = ObjectIdentifier(1, 2, 840, 113549, 2, 7)
    static let hmacSHA256 = ObjectIdentifier(1, 2, 840, 113549, 2, 9)
    static let hmacSHA384 = ObjectIdentifier(1, 2, 840, 113549, 2, 10)
    static let hmacSHA512 = ObjectIdentifier(1, 2, 840, 113549, 2, 11)
    static let sha1 = ObjectIdentifier(1, 3, 14, 3, 2, 26)
    static let sha256 = ObjectIdentifier(2, 16, 840, 1, 101, 3, 4, 2, 1)
    static let sha384 = ObjectIdentifier(2, 16, 840, 1, 101, 3, 4, 2, 2)
    static let sha512 = ObjectIdentifier(2, 16, 840, 1, 101, 3, 4, 2, 3)
    static let scrypt = ObjectIdentifier(1, 3, 6, 1, 4, 1, 11591, 4, 11)
}

extension ObjectIdentifier: CustomStringConvertible {
    private static let names: [ObjectIdentifier: String] = [
        rsaKey: "RSA",
        rsaPSSKey: "RSA-PSS",
        ObjectIdentifier(1, 2, 840, 113549, 1, 1, 7): "RSA-OAEP",
        ObjectIdentifier(1, 2, 840, 10040, 4, 1): "DSA",
        ObjectIdentifier(1, 2, 840, 113549, 1, 3, 1): "DH",
        ObjectIdentifier(1, 2, 840, 10046, 2, 1): "DH (X9.42)",
        ObjectIdentifier(1, 3, 132, 1, 12): "ECDH",
        MLDSAParameters.mldsa44.identifier: MLDSAParameters.mldsa44.name,
        MLDSAParameters.mldsa65.identifier: MLDSAParameters.mldsa65.name,
        MLDSAParameters.mldsa87.identifier: MLDSAParameters.mldsa87.name,
        ellipticCurveKey: "EC",
        ObjectIdentifier(1, 3, 101, 110): "X25519",
        ObjectIdentifier(1, 3, 101, 111): "X448",
        EdwardsCurve.ed25519.identifier: EdwardsCurve.ed25519.name,
        EdwardsCurve.ed448.identifier: EdwardsCurve.ed448.name,
    ]

    /// The common name if it's known, otherwise the dotted numbers.
    package var description: String { Self.names[self] ?? dotted }

    private var dotted: String {
        var arcs: [UInt64] = []
        var arc: UInt64 = 0
        for octet in octets.prefix(32) {
            guard arc < 1 << 56 else { return "an unknown kind" }
            arc = arc << 7 | UInt64(octet & 0x7F)
            guard octet & 0x80 == 0 else { continue }
            if arcs.isEmpty {
                arcs = [min(arc / 40, 2)]
                arc -= arcs[0] * 40
            }
            arcs.append(arc)
            arc = 0
        }
        return arcs.map(String.init).joined(separator: ".")
    }
}
