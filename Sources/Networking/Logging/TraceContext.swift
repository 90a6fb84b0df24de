internal import OpenSSLCrypto

/// An observer that sends the trace of a request in the header fields `traceparent` and
/// `tracestate` ([W3C Trace Context](https://www.w3.org/TR/trace-context/)).
///
/// All attempts of an operation share a trace, with separate spans. An existing `traceparent` is
/// kept. With a tracer, use another observer instead: the tracer's identifiers are the
/// fields that ``ClientObserver/attemptStarted(_:context:)`` returns.
public final class TraceContextObserver: ClientObserver {
    private let isSampled: Bool
    private let current: @Sendable () -> TraceContext?
    private let random: @Sendable () -> UInt64
    /// The seed that makes trace identifiers unpredictable.
    private let seed: String

    /// Creates an observer.
    ///
    /// - Parameters:
    ///   - isSampled: Whether traces that start here are recorded. The default is `true`.
    ///   - current: Returns the caller's trace, for example a task-local value, or `nil` to start
    ///     one.
    ///   - random: Returns random numbers for identifiers. The default uses the system's generator.
    public init(
        isSampled: Bool = true,
        current: @escaping @Sendable () -> TraceContext? = { nil },
        random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
    ) {
        self.isSampled = isSampled
        self.random = random
        self.current = current
        seed = "\(random()) \(random())"
    }

    /// Returns the fields of a request that has no `traceparent`.
    public func attemptStarted(_ request: HTTPRequest, context: InterceptorContext) -> HTTPHeaders {
        guard request.headers["traceparent"] == nil else { return [:] }
        let parent = current()
        let trace = TraceContext(
            traceID: parent?.traceID ?? traceID(of: context.operation),
            parentID: Self.hex(random() | 1),
            isSampled: parent?.isSampled ?? isSampled,
            state: parent?.state
        )
        guard let trace else { return [:] }
        var fields: HTTPHeaders = ["traceparent": trace.traceparent]
        fields["tracestate"] = trace.state
        return fields
    }

    private func traceID(of operation: UInt64) -> String {
        let text = [UInt8]("\(seed) \(operation)".utf8)
        let digest = try? text.withBytes { bytes throws(CryptoError) in try HashFunction.sha256.hash(bytes) }
        guard let digest else { return Self.hex(random()) + Self.hex(random() | 1) }
        return digest.prefix(16).hexadecimal
    }

    private static func hex(_ word: UInt64) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

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
