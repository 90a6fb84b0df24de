extension JSONObject {
    /// Encodes a value of a type of yours, which must become a JSON object.
    ///
    /// It encodes as with Foundation's `JSONEncoder`, dates as seconds since 1970 (NumericDate), `Data` as base64.
    ///
    /// - Parameter value: The value.
    /// - Throws: ``TokenError`` with the code `unencodableContent`, naming the place; its cause is the value's own error.
    public init(encoding value: some Encodable) throws(TokenError) {
        let json = try SerializedClaims(encoding: value).bytes
        do throws(TokenError) {
            try self.init(parsing: json, limits: JSONLimits(size: json.count, members: .max))
        } catch {
            throw TokenError(.unencodableContent, "the value is not encoded as JSON: \(error.message)", cause: error)
        }
    }

    /// Reads the object into a type of yours.
    ///
    /// It decodes as with Foundation's `JSONDecoder`, dates as seconds since 1970 (NumericDate), `Data` as base64; but
    /// member names are compared code point by code point.
    ///
    /// - Parameter type: The type to read.
    /// - Returns: The value.
    /// - Throws: ``TokenError`` with the code `malformedClaim`, naming the place; its cause is the `DecodingError`, or the
    ///   type's own error.
    public func decode<Value: Decodable>(as type: Value.Type = Value.self) throws(TokenError) -> Value {
        do {
            return try JSONTreeDecoder(.object(self)).decode(type, from: .object(self), nil)
        } catch {
            throw TokenError(.malformedClaim, "the claims are not a \(type)\(Self.place(of: error))", cause: error)
        }
    }

    private static func place(of error: any Error) -> String {
        let (reason, path): (String, [any CodingKey]) =
            switch error {
            case DecodingError.keyNotFound(let key, let context): ("is missing", context.codingPath + [key])
            case DecodingError.typeMismatch(_, let context): ("has another type", context.codingPath)
            case DecodingError.valueNotFound(_, let context): ("is null", context.codingPath)
            case DecodingError.dataCorrupted(let context): ("is not well formed", context.codingPath)
            default: ("", [])
            }
        guard !path.isEmpty else { return "" }
        let name = path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
        return ": \(TokenError.shown(name)) \(reason)"
    }
}
