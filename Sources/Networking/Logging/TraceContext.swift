/// The position of a request in a distributed trace
/// ([W3C Trace Context](https://www.w3.org/TR/trace-context/)).
public struct TraceContext: Sendable, Hashable {
    /// The trace identifier: 32 lower-case hex digits, not all zero.
    public let traceID: String
    /// The identifier of the caller's span: 16 lower-case hex digits, not all zero.
    public let parentID: String
    /// A Boolean value that indicates whether the trace is recorded.
    public let isSampled: Bool
    /// The vendors' additions, passed on unchanged; `nil` for none.
    public let state: String?

    /// Creates a context.
    ///
    /// The result is `nil` if an identifier is malformed or zero, or the state isn't a field value.
    ///
    /// - Parameters:
    ///   - traceID: The trace identifier.
    ///   - parentID: The identifier of the caller's span.
    ///   - isSampled: Whether the trace is recorded.
    ///   - state: The vendors' additions.
    public init?(traceID: String, parentID: String, isSampled: Bool, state: String? = nil) {
        guard Self.isIdentifier(traceID, length: 32), Self.isIdentifier(parentID, length: 16),
            state.map({ HTTPSyntax.isFieldValue($0) }) ?? true
        else { return nil }
        self.traceID = traceID
        self.parentID = parentID
        self.isSampled = isSampled
        self.state = state
    }

    /// Creates a context from a received `traceparent` header field; `nil` if it's malformed.
    ///
    /// Later versions are parsed like version 00, as §4.3 of the specification requires.
    ///
    /// - Parameters:
    ///   - traceparent: The field's value.
    ///   - tracestate: The value of the `tracestate` field.
    public init?(traceparent: String, tracestate: String? = nil) {
        let parts = traceparent.asciiOnly.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 4, parts[0].utf8.count == 2, Self.isHex(parts[0]), parts[0] != "ff",
            parts[0] != "00" || parts.count == 4, parts[3].utf8.count == 2, Self.isHex(parts[3]),
            let flags = UInt8(parts[3], radix: 16)
        else { return nil }
        self.init(
            traceID: String(parts[1]),
            parentID: String(parts[2]),
            isSampled: flags & 1 == 1,
            state: tracestate
        )
    }

    /// The value of the `traceparent` field.
    public var traceparent: String { "00-\(traceID)-\(parentID)-\(isSampled ? "01" : "00")" }

    private static func isIdentifier(_ text: String, length: Int) -> Bool {
        text.utf8.count == length && isHex(text) && text.utf8.contains { $0 != UInt8(ascii: "0") }
    }

    private static func isHex(_ text: some StringProtocol) -> Bool {
        text.utf8.allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
    }
}
