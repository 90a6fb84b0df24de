import Foundation
import TestVectors

/// The keys and tokens from the RFCs, as files and arguments for commands.
enum SampleTokens {
    /// A time at which the token of RFC 7515 A.3 is valid: an hour before its `exp`.
    static let goodTime = "1300815780"

    /// Returns a member of a vector file as text.
    static func text(_ member: String, of vector: String) throws -> String {
        let object = try Vector.object(vector)
        guard let text = object[member] as? String else { throw CocoaError(.propertyListReadCorrupt) }
        return text
    }

    /// The token of RFC 7515 A.3.
    static func es256Token() throws -> String {
        try text("compact", of: "rfc7515-a3-es256")
    }

    /// Returns the private JWK of RFC 7515 A.3, with changed members.
    static func es256JWK(_ members: [String: Any] = [:], without removed: String...) throws -> String {
        let key = try Vector.object("rfc7515-a3-es256")["key"] as? [String: Any] ?? [:]
        let changed = key.merging(members) { $1 }.filter { !removed.contains($0.key) }
        return String(decoding: try JSONSerialization.data(withJSONObject: changed), as: UTF8.self)
    }

    /// Returns an unsigned token with any header and claims.
    static func unsigned(header: String = "{\"alg\":\"none\"}", claims: String) -> String {
        [header, claims].map(base64URL).joined(separator: ".") + "."
    }

    static func base64URL(_ text: String) -> String {
        Data(text.utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Returns a decoded part of a token as JSON text.
    static func json(_ part: Int, of token: String) throws -> String {
        let parts = token.trimmingCharacters(in: .whitespacesAndNewlines).split(separator: ".")
        guard parts.indices.contains(part) else { throw CocoaError(.propertyListReadCorrupt) }
        var text = parts[part].replacing("-", with: "+").replacing("_", with: "/")
        text += String(repeating: "=", count: (4 - text.count % 4) % 4)
        guard let data = Data(base64Encoded: String(text)) else { throw CocoaError(.propertyListReadCorrupt) }
        return String(decoding: data, as: UTF8.self)
    }

    static func header(of token: String) throws -> String { try json(0, of: token) }
    static func claims(of token: String) throws -> String { try json(1, of: token) }
}
