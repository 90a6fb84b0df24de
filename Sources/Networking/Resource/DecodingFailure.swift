/// Where and why a response could not be decoded; the cause of a ``NetworkError`` with the code `decoding`.
///
/// Its text names the place, but nothing of the response: Foundation's own texts quote values.
public struct DecodingFailure: Error {
    /// What is wrong at the place.
    @nonexhaustive
    public enum Kind: Sendable, Hashable {
        /// A member that must be there is missing.
        case missingMember
        /// There is `null` where a value must be.
        case missingValue
        /// A value is of another type.
        case typeMismatch
        /// The text is not of the format, or a value is not what it must be.
        case dataCorrupted
        /// The decoding threw an error of its own.
        case other
    }

    /// What is wrong.
    public let kind: Kind
    /// The place, such as `items[3].owner`; empty for the whole.
    public let codingPath: String
    /// What was thrown; its description may quote the response.
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

    /// Names are cut and stripped of control characters: those of a dictionary are the response's.
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

extension DecodingFailure: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// What is wrong where, for a person to read.
    public var description: String {
        let place = codingPath.isEmpty ? "the whole" : "“\(codingPath)”"
        return switch kind {
        case .missingMember: "\(place) is missing"
        case .missingValue: "\(place) is null"
        case .typeMismatch: "\(place) is of another type"
        case .dataCorrupted: "\(place) is not what it must be"
        case .other: "the decoding threw \(type(of: underlying))"
        }
    }

    /// The same text; a dump would quote the response.
    public var debugDescription: String { description }

    /// What is wrong where, without what was thrown.
    public var customMirror: Mirror { Mirror(self, children: ["kind": kind, "codingPath": codingPath]) }
}
