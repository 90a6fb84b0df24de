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
        return digest.prefix(16).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private static func hex(_ word: UInt64) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
