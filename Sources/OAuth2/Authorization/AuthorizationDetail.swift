public import TokenGeneration

/// One thing that a token is to entitle to, said in more than the word of a scope
/// ([RFC 9396 §2](https://www.rfc-editor.org/rfc/rfc9396#section-2)).
///
/// ```swift
/// let detail = AuthorizationDetail(type: "payment_initiation", members: ["instructedAmount": ["currency": "GBP", "amount": "12.50"]])
/// ```
public struct AuthorizationDetail: Sendable, Hashable {
    /// What kind of thing it is; the server defines the kinds.
    public let type: String
    /// What else there is to say, by the kind's definition; `type` is not among them.
    public let members: JSONObject

    /// Makes a detail.
    ///
    /// - Parameters:
    ///   - type: What kind of thing it is.
    ///   - members: What else there is to say; a `type` among it is dropped.
    public init(type: String, members: JSONObject = [:]) {
        self.type = type
        var members = members
        members["type"] = nil
        self.members = members
    }

    /// Reads a detail that a server has sent; `nil` if it has no type.
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
