public import Foundation

/// An API's error in the format `application/problem+json` ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)).
///
/// Members of another type than the RFC's are ignored, as §3.1 asks. The texts are the server's; ``description`` has none of them.
public struct ProblemDetails: Error, Sendable {
    /// What kind of problem it is, a URI reference; `about:blank` says that it is what the status says.
    public let type: String
    /// A short summary of the kind of problem, for people.
    public let title: String?
    /// The status code that the server's author meant; intermediaries may have changed the response's.
    public let status: Int?
    /// What is particular about this occurrence, for people.
    public let detail: String?
    /// Which occurrence it is, a URI reference.
    public let instance: String?
    private let content: Data

    /// Reads the problem of a response; `nil` if its `Content-Type` is another or its body no JSON object.
    ///
    /// - Parameter response: The response.
    public init?(_ response: HTTPResponse) {
        guard MediaType(response.headers["Content-Type"] ?? "")?.essence == "application/problem+json" else {
            return nil
        }
        self.init(json: response.body)
    }

    /// Reads a problem; `nil` if the octets are no JSON object.
    ///
    /// - Parameter json: The octets.
    public init?(json: Data) {
        guard let members = try? JSONDecoder().decode(Members.self, from: json) else { return nil }
        type = members.type ?? "about:blank"
        title = members.title
        status = members.status
        detail = members.detail
        instance = members.instance
        content = json
    }

    /// Reads an extension member ([RFC 9457 §3.2](https://www.rfc-editor.org/rfc/rfc9457#section-3.2)).
    ///
    /// - Parameters:
    ///   - name: The member's name.
    ///   - type: What it is.
    ///   - decoder: What decodes it.
    /// - Returns: The value; `nil` if there is none or it is something else.
    public func member<Value: Decodable>(
        _ name: String,
        as type: Value.Type = Value.self,
        decoder: JSONDecoder = JSONDecoder()
    ) -> Value? {
        // A decoder's userInfo can't be set on a shared decoder, so the member is taken out of a dictionary.
        try? decoder.decode([String: Lenient<Value>].self, from: content)[name]?.value
    }

    /// A value, or nothing if it is of another type.
    private struct Lenient<Value: Decodable>: Decodable {
        let value: Value?

        init(from decoder: any Decoder) throws {
            value = try? Value(from: decoder)
        }
    }

    private struct Members: Decodable {
        let type, title, detail, instance: String?
        let status: Int?

        private enum CodingKeys: CodingKey {
            case type, title, status, detail, instance
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            func text(_ key: CodingKeys) -> String? { try? container.decode(String.self, forKey: key) }
            type = text(.type)
            title = text(.title)
            detail = text(.detail)
            instance = text(.instance)
            status = try? container.decode(Int.self, forKey: .status)
        }
    }
}

extension ProblemDetails: CustomStringConvertible, CustomReflectable, LocalizedError {
    /// That it is a problem, and of which status; the server's texts are in ``title`` and ``detail``.
    public var description: String {
        status.map { "the server described a problem (status \($0))" } ?? "the server described a problem"
    }

    /// The same text for APIs that ask Foundation.
    public var errorDescription: String? { description }

    /// Only the status: the others are the response's body.
    public var customMirror: Mirror { Mirror(self, children: ["status": status as Any]) }
}
