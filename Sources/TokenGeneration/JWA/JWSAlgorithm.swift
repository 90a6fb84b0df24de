/// A signature algorithm by the name that stands in a header's `alg`.
///
/// The package's own keys and services work with the algorithms that have a static member here. Any other name is good for
/// a ``SigningService`` of your own; `none` never is.
public struct JWSAlgorithm: Hashable, Sendable, CustomStringConvertible {
    /// The name, as in [RFC 7518 §3.1](https://www.rfc-editor.org/rfc/rfc7518#section-3.1) or the IANA registry.
    public let rawValue: String

    /// Makes an algorithm from its name.
    ///
    /// - Parameter name: 1 to 64 printable ASCII characters, none of them a space, a quotation mark or a backslash. Names
    ///   are case-sensitive. `none`, in any case, makes `nil`: an unsigned token is not a signed one.
    public init?(_ name: String) {
        guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy(Self.isAllowed),
            !name.isExactlyIgnoringASCIICase("none")
        else { return nil }
        rawValue = name
    }

    /// The name.
    public var description: String { rawValue }

    /// Makes an algorithm of the table.
    init(tableName: String) {
        rawValue = tableName
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
}

extension JWSAlgorithm {
    /// ECDSA on P-256 with SHA-256 ([RFC 7518 §3.4](https://www.rfc-editor.org/rfc/rfc7518#section-3.4)).
    public static let es256 = JWSAlgorithm(tableName: "ES256")
}
