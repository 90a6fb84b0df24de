/// A claims set as the JSON that will be signed.
struct SerializedClaims: Sendable {
    let bytes: [UInt8]

    /// Writes JSON: sorted, without white space.
    init(_ claims: JSONObject) {
        bytes = claims.serializedBytes()
    }

    /// Takes JSON as it is, if it is an object of strict JSON.
    ///
    /// - Throws: ``TokenError`` with the code `unencodableContent`.
    init(checking json: [UInt8]) throws(TokenError) {
        bytes = json
        do throws(TokenError) {
            _ = try JSONObject(parsing: json, limits: .document)
        } catch {
            throw TokenError(.unencodableContent, "the claims are no claims set: \(error.message)", cause: error)
        }
    }

    /// Encodes a value that must be a JSON object: sorted, without white space, dates as NumericDate.
    ///
    /// - Throws: ``TokenError`` with the code `unencodableContent`.
    init(encoding value: some Encodable) throws(TokenError) {
        self.init(try JSONObject(encoding: value))
    }
}
