/// The header and the payload of a token to make, as dictionaries.
///
/// ``JWTRepresentation`` is one; a type of yours that knows what its tokens look like can be another. Claims that are a
/// `Codable` type or a ``JSONObject`` don't need it: ``JWTGenerator`` takes them as they are.
public protocol JWTContent {
    /// The header's members. `alg`, and `kid` if the signing service has one, are written by the generator.
    var header: [String: Any] { get }
    /// The claims.
    var payload: [String: Any] { get }
}

/// The header and the payload of a token to make, given as two dictionaries.
///
/// Values can be: `String`, `Bool`, every integer type, `Double` and `Float` (finite), `Decimal`, arrays and dictionaries of
/// these, ``JSONValue`` and its parts, and what `JSONSerialization` reads (`NSNumber`, `NSString`, `NSNull`). An optional
/// that is `nil` is `null`. A `Date` is refused, because JSON has none: pass `date.timeIntervalSince1970` where a NumericDate
/// is meant.
public struct JWTRepresentation: JWTContent {
    /// The header's members.
    public let header: [String: Any]
    /// The claims.
    public let payload: [String: Any]

    /// Makes a content.
    ///
    /// - Parameters:
    ///   - header: The header's members.
    ///   - payload: The claims.
    public init(header: [String: Any], payload: [String: Any]) {
        self.header = header
        self.payload = payload
    }
}
