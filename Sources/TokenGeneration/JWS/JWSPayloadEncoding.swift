/// How the payload stands in a JWS and under its signature.
public enum JWSPayloadEncoding: Sendable, Hashable {
    /// As base64url, the usual form ([RFC 7515 §3](https://www.rfc-editor.org/rfc/rfc7515#section-3)).
    case base64url
    /// As it is, `b64` being `false` in the header ([RFC 7797](https://www.rfc-editor.org/rfc/rfc7797)).
    ///
    /// In a compact JWS the payload must be detached, or be printable ASCII without a period; in a JSON serialization it must
    /// be detached, or be UTF-8 text. JWTs can't have it.
    case unencoded
}

extension JWSPayloadEncoding {
    /// The encoding that a protected header states.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken` if `b64` is no Boolean.
    init(_ header: JSONObject) throws(TokenError) {
        switch header["b64"] {
        case nil, true: self = .base64url
        case false: self = .unencoded
        case let other?: throw TokenError(.malformedToken, "“b64” of the header must be a Boolean, not \(other.kind)")
        }
    }
}
