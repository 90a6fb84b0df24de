internal import OpenSSLCrypto

/// A JWK's `kty` ([RFC 7518 §6.1](https://www.rfc-editor.org/rfc/rfc7518#section-6.1)).
struct KeyType: Hashable, Sendable {
    private let name: ByteComparedString

    init(rawValue: String) {
        name = ByteComparedString(rawValue)
    }

    var rawValue: String { name.text }

    static let ec = KeyType(rawValue: "EC")
    static let rsa = KeyType(rawValue: "RSA")
    static let okp = KeyType(rawValue: "OKP")
    static let oct = KeyType(rawValue: "oct")

    /// Keys whose `alg` determines their members
    /// ([RFC 9964](https://www.rfc-editor.org/rfc/rfc9964)).
    static let akp = KeyType(rawValue: "AKP")

    static let known = [ec, rsa, okp, oct, akp]

    static func description(_ keyType: KeyType, curve: String?) -> String {
        "a key of kty \(TokenError.shown(keyType.rawValue))"
            + (curve.map { keyType == akp ? " and alg \(TokenError.shown($0))" : " on curve \(TokenError.shown($0))" }
                ?? "")
    }

    /// `nil` for an unknown type ([RFC 7638
    /// §3.2](https://www.rfc-editor.org/rfc/rfc7638#section-3.2), [RFC 8037
    /// §2](https://www.rfc-editor.org/rfc/rfc8037#section-2)).
    var thumbprintMembers: [String]? {
        switch self {
        case .ec: ["crv", "kty", "x", "y"]
        case .rsa: ["e", "kty", "n"]
        case .okp: ["crv", "kty", "x"]
        case .oct: ["k", "kty"]
        case .akp: ["alg", "kty", "pub"]
        default: nil
        }
    }

    /// They apply to every type, because an unknown type may reuse these names ([RFC 7518
    /// §6](https://www.rfc-editor.org/rfc/rfc7518#section-6), [RFC
    /// 9964](https://www.rfc-editor.org/rfc/rfc9964)).
    static let privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"]
}

/// A name from a registry, of which the package implements every value of the type.
protocol RegisteredName: RawRepresentable<String>, Hashable, Sendable, CustomStringConvertible {
    static var implemented: [Self] { get }
}

extension RegisteredName {
    /// Creates a value from its name.
    ///
    /// - Parameter rawValue: The case-sensitive name. The result is `nil` for any name that the
    ///   package doesn't implement.
    public init?(rawValue: String) {
        guard let known = Self.implemented.first(where: { rawValue.isExactly($0.rawValue) }) else { return nil }
        self = known
    }

    /// The name.
    public var description: String { rawValue }
}
