import Foundation
import TokenGeneration

/// The tokens that a token endpoint has issued, completely usable or not.
enum TokenAnswer: Sendable {
    case tokens(TokenResponse)
    /// Only the refresh token in the response is usable.
    ///
    /// It may have replaced the one that was sent.
    case refreshTokenOnly(Secret, OAuth2Error)

    /// Returns the tokens, for callers that can't keep a refresh token alone.
    func tokens() throws(OAuth2Error) -> TokenResponse {
        switch self {
        case .tokens(let response): return response
        case .refreshTokenOnly(_, let error): throw error
        }
    }

    /// Returns the refresh token in an otherwise unusable response, or `nil`.
    ///
    /// If the text isn't JSON, it's searched for the token once, so that a number that the parser
    /// can't read doesn't end the grant.
    static func refreshToken(in body: Data) -> Secret? {
        let object = try? JSONObject(parsing: body)
        guard let text = (object ?? member(of: body))?[memberName]?.string, !text.isEmpty else { return nil }
        return Secret(text)
    }

    private static let memberName = "refresh_token"

    /// Returns an object with the one member from its raw bytes, or `nil` if it isn't there once.
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
