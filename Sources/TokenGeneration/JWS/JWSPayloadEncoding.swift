/// The encoding of the payload in a JWS and in its signing input.
public enum JWSPayloadEncoding: Sendable, Hashable {
    /// The payload is encoded in base64url, as usual
    /// ([RFC 7515 §3](https://www.rfc-editor.org/rfc/rfc7515#section-3)).
    case base64url
    /// The payload isn't encoded, and `b64` is `false` in the header
    /// ([RFC 7797](https://www.rfc-editor.org/rfc/rfc7797)).
    ///
    /// In a compact JWS, the payload must be detached or be printable ASCII without a period. In a
    /// JSON serialization, it must be detached or be UTF-8 text. JWTs don't support this encoding.
    case unencoded
}

extension JWSPayloadEncoding {
    /// Reads the encoding from a protected header.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken` if `b64` isn't a Boolean.
    init(_ header: JSONObject) throws(TokenError) {
        switch header["b64"] {
        case nil, true: self = .base64url
        case false: self = .unencoded
        case let other?: throw TokenError(.malformedToken, "“b64” of the header must be a Boolean, not \(other.kind)")
        }
    }
}
