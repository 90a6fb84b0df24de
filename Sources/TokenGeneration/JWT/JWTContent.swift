/// The header and the payload of a token to be signed, as dictionaries.
///
/// ``JWTRepresentation`` conforms to this protocol. You can also adopt it in a type that defines
/// the content of your tokens. Claims that are a `Codable` type or a ``JSONObject`` don't need it:
/// pass them to ``JWTGenerator`` directly.
public protocol JWTContent {
    /// The members of the header; the generator adds `alg`, and `kid` if the signing service has
    /// one.
    var header: [String: Any] { get }
    /// The claims.
    var payload: [String: Any] { get }
}

/// The header and the payload of a token to be signed, from two dictionaries.
///
/// Values can be `String`, `Bool`, every integer type, `Double` and `Float` (finite), `Decimal`,
/// arrays and dictionaries of these, ``JSONValue`` and its parts, and the types that
/// `JSONSerialization` produces (`NSNumber`, `NSString`, `NSNull`). A `nil` optional becomes
/// `null`. A `Date` isn't accepted, because JSON has no dates: for a NumericDate, pass
/// `date.timeIntervalSince1970`.
public struct JWTRepresentation: JWTContent {
    /// The members of the header.
    public let header: [String: Any]
    /// The claims.
    public let payload: [String: Any]

    /// Creates a representation.
    ///
    /// - Parameters:
    ///   - header: The members of the header.
    ///   - payload: The claims.
    public init(header: [String: Any], payload: [String: Any]) {
        self.header = header
        self.payload = payload
    }
}
