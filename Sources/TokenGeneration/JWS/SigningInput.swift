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
        switch encoding {
        case .unencoded: return make(header, payloadText: payload)
        case .base64url:
            var input: [UInt8] = []
            input.reserveCapacity(header.count + 1 + payload.count / 3 * 4 + 4)
            input.append(contentsOf: header)
            input.append(UInt8(ascii: "."))
            Base64URL.encode(payload.span, into: &input)
            return input
        }
    }

    /// Returns the signing input for a payload that is already encoded.
    static func make(_ header: some Collection<UInt8>, payloadText: some Collection<UInt8>) -> [UInt8] {
        var input: [UInt8] = []
        input.reserveCapacity(header.count + 1 + payloadText.count)
        input.append(contentsOf: header)
        input.append(UInt8(ascii: "."))
        input.append(contentsOf: payloadText)
        return input
    }
}
