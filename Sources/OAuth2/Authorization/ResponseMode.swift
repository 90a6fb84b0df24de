/// The transport of an authorization response ([OAuth 2.0 Multiple Response Types
/// §2.1](https://openid.net/specs/oauth-v2-multiple-response-types-1_0.html#ResponseModes)).
///
/// With the modes whose names end in `jwt`, the server signs its response
/// ([JARM](https://openid.net/specs/oauth-v2-jarm-final.html)), so that an attacker can't change or
/// forge it.
public struct ResponseMode: Hashable, Sendable, CustomStringConvertible {
    /// The value of the parameter `response_mode`.
    public let name: String

    /// Creates a mode from its name.
    ///
    /// - Parameter name: The value of the parameter `response_mode`.
    public init(_ name: String) {
        self.name = name
    }

    /// Parameters in the query of the redirect URI, which is usual for codes.
    public static let query = Self("query")
    /// A signed response, in the query for requests of a code.
    public static let jwt = Self("jwt")
    /// A signed response in the query of the redirect URI.
    public static let queryJWT = Self("query.jwt")

    /// A Boolean value that indicates whether the server signs its response.
    package var isSigned: Bool { name == "jwt" || name.hasSuffix(".jwt") }

    /// The name.
    public var description: String { name }
}
