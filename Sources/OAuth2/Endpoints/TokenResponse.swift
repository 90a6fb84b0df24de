import Foundation
import Networking
import OpenSSLCrypto
import TokenGeneration

/// [RFC 6749 §5.1](https://www.rfc-editor.org/rfc/rfc6749#section-5.1).
struct TokenResponse: Sendable {
    let accessToken: AccessToken
    let lifetime: Duration?
    var refreshToken: Secret?
    let members: JSONObject

    init(
        parsing body: Data,
        status: Int = 200,
        requested: ContinuousClock.Instant,
        proof: DPoPProofGenerator? = nil,
        insecurelyAcceptsBearerTokens: Bool = false,
        acceptsMissingType: Bool = false,
        isExchange: Bool = false,
        requestedType: String? = nil
    ) throws(OAuth2Error) {
        func violation(_ problem: String) -> OAuth2Error {
            OAuth2Error(.protocolViolation, "the token endpoint's response \(problem)", status: status)
        }
        let object: JSONObject
        do { object = try JSONObject(parsing: body) } catch {
            throw OAuth2Error(
                .protocolViolation,
                "the token endpoint's response isn't a JSON object; check the endpoint's URL",
                status: status,
                response: error
            )
        }
        // Some servers report errors with status code 200.
        if case .string(let error)? = object["error"], !error.isEmpty {
            throw OAuth2Error(serverCode: error, members: object, status: 200)
        }
        let isMissing = object["token_type"] == nil || object["token_type"] == .null
        guard let type = object["token_type"]?.string ?? (isMissing && acceptsMissingType ? AccessToken.bearer : nil)
        else { throw violation("has no token_type; set the server's `omitsTokenType` to accept it") }
        // A token of another type from a token exchange doesn't have to fit into a header field.
        let isSent = !type.equalsIgnoringASCIICase(AccessToken.notApplicable)
        guard let value = object["access_token"]?.string, !value.isEmpty, !isSent || HTTPSyntax.isToken68(value[...])
        else { throw violation("has no usable access_token (RFC 6750 §2.1)") }
        let isBound = type.equalsIgnoringASCIICase("DPoP")
        // A token that isn't an access token has the type N_A (RFC 8693 §2.2.1).
        let isAccepted =
            isBound
            ? proof != nil
            : type.equalsIgnoringASCIICase("Bearer") && (proof == nil || insecurelyAcceptsBearerTokens)
                || type.equalsIgnoringASCIICase(AccessToken.notApplicable) && isExchange
        guard isAccepted else {
            throw OAuth2Error(
                .unsupportedTokenType,
                "the issued token isn't of the type \(proof == nil ? "Bearer" : "DPoP"), so it was discarded"
            )
        }
        if isExchange {
            guard let issuedType = object["issued_token_type"]?.string else {
                throw violation("to a token exchange has no issued_token_type (RFC 8693 §2.2.1)")
            }
            guard requestedType.map(issuedType.isExactly) ?? true else {
                throw OAuth2Error(
                    .unsupportedTokenType,
                    "the issued_token_type isn't the requested type, so the token was discarded"
                )
            }
        }
        lifetime = Self.lifetime(object["expires_in"])
        accessToken = AccessToken(
            value: Secret(value),
            type: type,
            scope: object["scope"]?.string,
            expiry: lifetime.map { requested + $0 },
            requested: requested,
            proofGenerator: isBound ? proof : nil
        )
        members = object
        refreshToken = object["refresh_token"]?.string.flatMap { $0.isEmpty ? nil : Secret($0) }
    }

    /// An invalid value counts as missing, because an error would lose the refresh token.
    static func lifetime(_ value: JSONValue?) -> Duration? {
        let seconds: Double?
        switch value {
        case .number(let number)?: seconds = number.double
        case .string(let text)?: seconds = Double(text)
        default: seconds = nil
        }
        guard let seconds, seconds.isFinite else { return nil }
        return Duration(clampingSeconds: min(max(seconds, 0), Double(Int32.max)))
    }
}

/// The tokens that a token endpoint has issued, completely usable or not.
enum TokenAnswer: Sendable {
    case tokens(TokenResponse)
    /// Only the refresh token is usable, which may have replaced the one that was sent.
    case refreshTokenOnly(Secret, OAuth2Error)

    /// Returns the tokens, for callers that can't keep a refresh token alone.
    func tokens() throws(OAuth2Error) -> TokenResponse {
        switch self {
        case .tokens(let response): return response
        case .refreshTokenOnly(_, let error): throw error
        }
    }

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
