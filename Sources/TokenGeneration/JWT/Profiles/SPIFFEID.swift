/// The identity of a workload, a URI such as `spiffe://prod.example/orders` ([SPIFFE
/// ID](https://github.com/spiffe/spiffe/blob/main/standards/SPIFFE-ID.md)).
///
/// ```swift
/// let workload = try SPIFFEID(token.registered.subject ?? "")
/// if workload.path == "/orders" { … }
/// ```
///
/// Only the lower-case scheme and trust domain are valid, so that equal identities have equal
/// texts.
public struct SPIFFEID: Hashable, Sendable, CustomStringConvertible {
    /// The name of the trust domain, such as `prod.example`.
    public let trustDomain: String
    /// The path with its leading slash, such as `/orders`, or an empty string.
    public let path: String

    /// The maximum size of an ID in bytes (§2.3).
    private static let maximumSize = 2_048
    /// The maximum size of a trust domain's name in bytes (§2.3).
    private static let maximumTrustDomainSize = 255

    /// Parses an ID.
    ///
    /// - Parameter text: The ID: at most 2048 bytes, with a trust domain of 1 to 255 lower-case
    ///   letters, digits, dots, hyphens and underscores. The segments of the path can also have
    ///   upper-case letters. They aren't empty, `.` or `..`.
    /// - Throws: ``TokenError`` with the code `malformedClaim`.
    public init(_ text: String) throws(TokenError) {
        let scheme = "spiffe://"
        guard text.utf8.count <= Self.maximumSize else {
            throw TokenError(.malformedClaim, "a SPIFFE ID has at most \(Self.maximumSize) bytes")
        }
        guard text.utf8.starts(with: scheme.utf8) else {
            throw TokenError(.malformedClaim, "a SPIFFE ID starts with “spiffe://”")
        }
        let rest = text.utf8.dropFirst(scheme.utf8.count)
        let domain = rest.prefix { $0 != UInt8(ascii: "/") }
        guard (1...Self.maximumTrustDomainSize).contains(domain.count), domain.allSatisfy(Self.isOfTrustDomain) else {
            throw TokenError(
                .malformedClaim,
                "the trust domain of a SPIFFE ID has 1 to \(Self.maximumTrustDomainSize) lower-case letters, digits, "
                    + "dots, hyphens and underscores, and no port or user"
            )
        }
        let path = rest.dropFirst(domain.count)
        let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        guard segments.allSatisfy(Self.isSegment) else {
            throw TokenError(
                .malformedClaim,
                "each segment of a SPIFFE ID's path has letters, digits, dots, hyphens and underscores, and isn't empty, "
                    + "“.” or “..”; there's no query, fragment or percent-encoding"
            )
        }
        // All bytes are ASCII.
        trustDomain = String(decoding: domain, as: UTF8.self)
        self.path = String(decoding: path, as: UTF8.self)
    }

    /// The ID as a URI.
    public var description: String { "spiffe://\(trustDomain)\(path)" }

    private static func isOfTrustDomain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    private static func isSegment(_ segment: Substring.UTF8View) -> Bool {
        !segment.isEmpty && !segment.elementsEqual(".".utf8) && !segment.elementsEqual("..".utf8)
            && segment.allSatisfy { isOfTrustDomain($0) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }
}
