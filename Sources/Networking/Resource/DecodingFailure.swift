/// The reason why a response couldn't be decoded: the cause of a ``NetworkError`` with the code
/// `decoding`.
///
/// The description contains the coding path but nothing from the response. Foundation's
/// descriptions quote values.
public struct DecodingFailure: Error {
    /// The kind of a decoding failure.
    @nonexhaustive
    public enum Kind: Sendable, Hashable {
        /// A required member is missing.
        case missingMember
        /// A required value is `null`.
        case missingValue
        /// A value has the wrong type.
        case typeMismatch
        /// The input is malformed, or a value is invalid.
        case dataCorrupted
        /// The decoding threw another error.
        case other
    }

    /// The kind of failure.
    public let kind: Kind
    /// The coding path, such as `items[3].owner`; empty for the top-level value.
    public let codingPath: String
    /// The underlying error; its description may quote the response.
    public let underlying: any Error

    init(_ error: any Error) {
        underlying = error
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            (kind, codingPath) = (.missingMember, Self.text(context.codingPath + [key]))
        case DecodingError.valueNotFound(_, let context):
            (kind, codingPath) = (.missingValue, Self.text(context.codingPath))
        case DecodingError.typeMismatch(_, let context):
            (kind, codingPath) = (.typeMismatch, Self.text(context.codingPath))
        case DecodingError.dataCorrupted(let context):
            (kind, codingPath) = (.dataCorrupted, Self.text(context.codingPath))
        default:
            (kind, codingPath) = (.other, "")
        }
    }

    /// Keys are truncated and stripped of control characters, because a dictionary's keys come from
    /// the response.
    private static func text(_ path: [any CodingKey]) -> String {
        var text = ""
        for key in path {
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                let name = key.stringValue.unicodeScalars.prefix(64).map {
                    $0.properties.generalCategory == .control ? "\u{FFFD}" : Character($0)
                }
                text += text.isEmpty ? String(name) : "." + String(name)
            }
            if text.utf8.count > 512 { return String(text.prefix(512)) + "…" }
        }
        return text
    }
}

extension DecodingFailure: CustomStringConvertible, CustomReflectable {
    /// A description of the failure and its coding path.
    public var description: String {
        let place = codingPath.isEmpty ? "the top-level value" : "“\(codingPath)”"
        return switch kind {
        case .missingMember: "\(place) is missing"
        case .missingValue: "\(place) is null"
        case .typeMismatch: "\(place) has the wrong type"
        case .dataCorrupted: "\(place) is invalid"
        case .other: "the decoding threw \(type(of: underlying))"
        }
    }

    /// The kind and the coding path, without the underlying error.
    public var customMirror: Mirror { Mirror(self, children: ["kind": kind, "codingPath": codingPath]) }
}
