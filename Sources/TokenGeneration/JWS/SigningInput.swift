/// The input of a JWS signature: the protected header in base64url, a period, and the encoded
/// payload, in one buffer ([RFC 7515 §5.1](https://www.rfc-editor.org/rfc/rfc7515#section-5.1),
/// [RFC 7797 §3](https://www.rfc-editor.org/rfc/rfc7797#section-3)).
enum SigningInput {
    /// Returns the signing input for an encoded protected header, which may be empty, and the
    /// payload's bytes.
    static func make(
        _ header: some Collection<UInt8>,
        _ payload: [UInt8],
        _ encoding: JWSPayloadEncoding
    ) -> [UInt8] {
        var input: [UInt8] = []
        input.reserveCapacity(header.count + 1 + Base64URL.encodedSize(payload.count))
        input.append(contentsOf: header)
        input.append(UInt8(ascii: "."))
        switch encoding {
        case .unencoded: input.append(contentsOf: payload)
        case .base64url: Base64URL.encode(payload.span, into: &input)
        }
        return input
    }
}
