/// How the answer to an authorization request comes back
/// ([OAuth 2.0 Multiple Response Types §2.1](https://openid.net/specs/oauth-v2-multiple-response-types-1_0.html#ResponseModes)).
///
/// The modes whose names end in `jwt` are those of
/// [JWT-secured responses (JARM)](https://openid.net/specs/oauth-v2-jarm-final.html): the server signs its answer, so that nobody between
/// can change it or make one up.
public struct ResponseMode: Hashable, Sendable, CustomStringConvertible {
    /// The value of the parameter `response_mode`.
    public let name: String

    /// Makes a mode of its name.
    ///
    /// - Parameter name: The value of the parameter `response_mode`.
    public init(_ name: String) {
        self.name = name
    }

    /// Parameters in the query of the redirect URI, as is usual for codes.
    public static let query = Self("query")
    /// A signed answer, in the query where a code is asked for.
    public static let jwt = Self("jwt")
    /// A signed answer in the query of the redirect URI.
    public static let queryJWT = Self("query.jwt")

    /// Whether the server signs its answer.
    package var isSigned: Bool { name == "jwt" || name.hasSuffix(".jwt") }

    /// The mode's name.
    public var description: String { name }
}
