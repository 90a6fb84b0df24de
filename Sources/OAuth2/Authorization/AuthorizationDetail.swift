public import TokenGeneration

/// A structured description of requested access, which says more than a scope can
/// ([RFC 9396 §2](https://www.rfc-editor.org/rfc/rfc9396#section-2)).
///
/// ```swift
/// let detail = AuthorizationDetail(
///     type: "payment_initiation",
///     members: ["instructedAmount": ["currency": "GBP", "amount": "12.50"]]
/// )
/// ```
public struct AuthorizationDetail: Sendable, Hashable {
    /// The type of the detail, which the server defines.
    public let type: String
    /// The other members, as the type defines them, without `type`.
    public let members: JSONObject

    /// Creates a detail.
    ///
    /// - Parameters:
    ///   - type: The type of the detail.
    ///   - members: The other members; a `type` among them is ignored. The default is none.
    public init(type: String, members: JSONObject = [:]) {
        self.type = type
        var members = members
        members["type"] = nil
        self.members = members
    }

    /// Reads a detail from a server, or returns `nil` if it has no type.
    init?(_ value: JSONValue) {
        guard let object = value.object, let type = object["type"]?.string else { return nil }
        self.init(type: type, members: object)
    }

    /// The detail as a JSON object.
    public var object: JSONObject {
        var object = members
        object["type"] = .string(type)
        return object
    }
}
