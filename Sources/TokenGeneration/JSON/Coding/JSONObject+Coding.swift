extension JSONObject {
    /// Encodes a value, which must become a JSON object.
    ///
    /// The encoding is that of Foundation's `JSONEncoder`, with dates as seconds since 1970
    /// (NumericDate) and `Data` as base64.
    ///
    /// - Parameter value: The value.
    /// - Throws: ``TokenError`` with the code `unencodableContent`. The message has the path; the
    ///   cause is the value's own error.
    public init(encoding value: some Encodable) throws(TokenError) {
        let json = try SerializedClaims(encoding: value).bytes
        do throws(TokenError) {
            try self.init(parsing: json, limits: JSONLimits(size: json.count, members: .max))
        } catch {
            throw TokenError(.unencodableContent, "the encoding isn't valid JSON: \(error.message)", cause: error)
        }
    }

    /// Decodes the object.
    ///
    /// The decoding is that of Foundation's `JSONDecoder`, with dates as seconds since 1970
    /// (NumericDate) and `Data` as base64, except that member names are compared code point by code
    /// point.
    ///
    /// - Parameter type: The type to decode.
    /// - Returns: The value.
    /// - Throws: ``TokenError`` with the code `malformedClaim`. The message has the path; the cause
    ///   is the `DecodingError`, or the type's own error.
    public func decode<Value: Decodable>(as type: Value.Type = Value.self) throws(TokenError) -> Value {
        do {
            return try JSONTreeDecoder(.object(self)).decode(type, from: .object(self), nil)
        } catch {
            throw TokenError(.malformedClaim, "the claims don't match \(type)\(Self.place(of: error))", cause: error)
        }
    }

    private static func place(of error: any Error) -> String {
        let (reason, path): (String, [any CodingKey]) =
            switch error {
            case DecodingError.keyNotFound(let key, let context): ("is missing", context.codingPath + [key])
            case DecodingError.typeMismatch(_, let context): ("has the wrong type", context.codingPath)
            case DecodingError.valueNotFound(_, let context): ("is null", context.codingPath)
            case DecodingError.dataCorrupted(let context): ("is malformed", context.codingPath)
            default: ("", [])
            }
        guard !path.isEmpty else { return "" }
        let name = path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
        return ": \(TokenError.shown(name)) \(reason)"
    }
}
