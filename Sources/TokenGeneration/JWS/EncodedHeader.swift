/// Headers in their encoded form.
enum EncodedHeader {
    /// Returns a header in base64url, followed by a period.
    static func of(_ header: JSONObject) -> [UInt8] {
        let json = header.serializedBytes()
        var text: [UInt8] = []
        text.reserveCapacity(Base64URL.encodedSize(json.count) + 1)
        Base64URL.encode(json.span, into: &text)
        text.append(UInt8(ascii: "."))
        return text
    }

    /// Returns the encoded header of a JWT with only these members and `typ`.
    static func plain(_ algorithm: JWSAlgorithm, _ keyID: String?) -> [UInt8] {
        var header: JSONObject = ["alg": .string(algorithm.rawValue), "typ": "JWT"]
        if let keyID { header["kid"] = .string(keyID) }
        return of(header)
    }
}
