import Foundation
import TokenGeneration

/// The tokens that a token endpoint has issued, whether or not all of them can be used.
enum TokenAnswer: Sendable {
    case tokens(TokenResponse)
    /// The answer can't be used, but for the refresh token in it: the one that was sent may have ended with it.
    case refreshTokenOnly(Secret, OAuth2Error)

    /// Returns the tokens, for callers that can't keep a refresh token alone.
    func tokens() throws(OAuth2Error) -> TokenResponse {
        switch self {
        case .tokens(let response): return response
        case .refreshTokenOnly(_, let error): throw error
        }
    }

    /// Returns the refresh token in a response that is otherwise unusable, or `nil` if the response has none.
    ///
    /// If the text isn't JSON, it is searched for the token, once through: a number that no parser reads must not cost a grant.
    static func refreshToken(in body: Data) -> Secret? {
        let object = try? JSONObject(parsing: body)
        guard let text = (object ?? member(of: body))?[memberName]?.string, !text.isEmpty else { return nil }
        return Secret(text)
    }

    private static let memberName = "refresh_token"

    /// An object of the one member, from the octets around its name; `nil` if the name is there twice, or not at all.
    private static func member(of body: Data) -> JSONObject? {
        let name = Data(#""\#(memberName)""#.utf8)
        guard let found = body.range(of: name), body[found.upperBound...].range(of: name) == nil else { return nil }
        var rest = body[found.upperBound...].drop(while: isSpace)
        guard rest.first == UInt8(ascii: ":") else { return nil }
        rest = rest.dropFirst().drop(while: isSpace)
        guard rest.first == UInt8(ascii: "\"") else { return nil }
        var isEscaped = false
        for (index, octet) in zip(rest.indices, rest).dropFirst() {
            if isEscaped {
                isEscaped = false
            } else if octet == UInt8(ascii: "\\") {
                isEscaped = true
            } else if octet == UInt8(ascii: "\"") {
                let text = Data("{".utf8) + name + Data(":".utf8) + rest[...index] + Data("}".utf8)
                return try? JSONObject(parsing: text)
            }
        }
        return nil
    }

    private static func isSpace(_ octet: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(octet) }
}
