/// An HTTP request method.
///
/// The vocabulary is open: any token is a method
/// ([RFC 9110 §9](https://www.rfc-editor.org/rfc/rfc9110#section-9)). Methods are case-sensitive.
public struct HTTPMethod: Hashable, Sendable, CustomStringConvertible {
    /// The method's name on the wire.
    public let rawValue: String

    /// Creates a method from its name.
    ///
    /// The result is `nil` if the name isn't a token.
    ///
    /// - Parameter rawValue: The name, a token of
    ///   [RFC 9110 §5.6.2](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2).
    public init?(_ rawValue: String) {
        guard HTTPSyntax.isToken(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    private init(unchecked rawValue: String) {
        self.rawValue = rawValue
    }

    /// The method's name on the wire.
    public var description: String { rawValue }

    /// The method `GET`.
    public static let get = Self(unchecked: "GET")
    /// The method `HEAD`.
    public static let head = Self(unchecked: "HEAD")
    /// The method `POST`.
    public static let post = Self(unchecked: "POST")
    /// The method `PUT`.
    public static let put = Self(unchecked: "PUT")
    /// The method `PATCH` of [RFC 5789](https://www.rfc-editor.org/rfc/rfc5789).
    public static let patch = Self(unchecked: "PATCH")
    /// The method `DELETE`.
    public static let delete = Self(unchecked: "DELETE")
    /// The method `OPTIONS`.
    public static let options = Self(unchecked: "OPTIONS")
    /// The method `TRACE`.
    public static let trace = Self(unchecked: "TRACE")
    /// The method `CONNECT`.
    public static let connect = Self(unchecked: "CONNECT")

    /// The method `QUERY` of [RFC 10008](https://www.rfc-editor.org/rfc/rfc10008), a `GET` with
    /// content.
    public static let query = Self(unchecked: "QUERY")

    /// A Boolean value that indicates whether the request changes nothing on the server
    /// ([RFC 9110 §9.2.1](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.1)).
    var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace, .query: true
        default: false
        }
    }

    /// A Boolean value that indicates whether repeating the request has the effect of one request
    /// ([RFC 9110 §9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)).
    public var isIdempotent: Bool {
        switch self {
        case .put, .delete: true
        default: isSafe
        }
    }
}
