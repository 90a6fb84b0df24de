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
        let json: [UInt8]
        let hasUnusualNames: Bool
        do {
            (json, hasUnusualNames) = try JSONTextNode.encode(value)
        } catch EncodingError.invalidValue(_, let context) {
            let path = (["claims"] + context.codingPath.map(\.stringValue)).joined(separator: ".")
            let reason = context.debugDescription == NumericDate.isOutside ? ": \(NumericDate.isOutside)" : ""
            throw TokenError(.unencodableContent, "\(path) can't be held in JSON\(reason)")
        } catch {
            throw TokenError(.unencodableContent, "the claims can't be encoded", cause: error)
        }
        guard json.first == UInt8(ascii: "{") else {
            throw TokenError(.unencodableContent, "the claims don't encode as a claims set, which is a JSON object")
        }
        guard hasUnusualNames else {
            bytes = json
            return
        }
        // Escapes hide the order of names, and names that look alike are refused by whoever reads them.
        do throws(TokenError) {
            bytes = try JSONObject(parsing: json, limits: JSONLimits(size: json.count, members: .max)).serializedBytes()
        } catch {
            throw TokenError(
                .unencodableContent,
                "the claims don't encode as a claims set: \(error.message)",
                cause: error
            )
        }
    }
}
