/// A claims set as JSON, ready to be signed.
struct SerializedClaims: Sendable {
    let bytes: [UInt8]

    /// Writes sorted JSON without white space.
    init(_ claims: JSONObject) {
        bytes = claims.serializedBytes()
    }

    /// Uses JSON unchanged, if it's a strict JSON object.
    init(checking json: [UInt8]) throws(TokenError) {
        bytes = json
        do throws(TokenError) {
            _ = try JSONObject(parsing: json, limits: .document)
        } catch {
            throw TokenError(.unencodableContent, "the claims aren't a claims set: \(error.message)", cause: error)
        }
    }

    /// Encodes a value as a JSON object: sorted, without white space, with dates as NumericDate.
    init(encoding value: some Encodable) throws(TokenError) {
        let json: [UInt8]
        let hasUnusualNames: Bool
        do {
            (json, hasUnusualNames) = try JSONTextNode.encode(value)
        } catch EncodingError.invalidValue(_, let context) {
            let path = (["claims"] + context.codingPath.map(\.stringValue)).joined(separator: ".")
            let reason = context.debugDescription == NumericDate.isOutside ? ": \(NumericDate.isOutside)" : ""
            throw TokenError(.unencodableContent, "\(path) can't be represented in JSON\(reason)")
        } catch {
            throw TokenError(.unencodableContent, "the claims can't be encoded", cause: error)
        }
        guard json.first == UInt8(ascii: "{") else {
            throw TokenError(.unencodableContent, "the claims must encode as a claims set, a JSON object")
        }
        guard hasUnusualNames else {
            bytes = json
            return
        }
        // Escaped names may not sort correctly, and readers reject names that look alike.
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
