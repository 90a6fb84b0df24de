public import FoundationNetworking
internal import OpenSSLCrypto

/// An interceptor that sends the trace of a request in the header fields `traceparent` and
/// `tracestate` ([W3C Trace Context](https://www.w3.org/TR/trace-context/)).
///
/// All attempts of an operation share a trace, with separate spans. An existing `traceparent` is
/// kept. With a tracer, use a ``ClientObserver`` instead: the tracer's identifiers are the fields
/// that ``ClientObserver/attemptStarted(_:context:)`` returns.
public struct TraceContextInterceptor: RequestInterceptor {
    private let isSampled: Bool
    private let current: @Sendable () -> TraceContext?
    private let random: @Sendable () -> UInt64
    /// The seed that makes trace identifiers unpredictable.
    private let seed: [UInt64]

    /// Creates an interceptor.
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
        seed = [random(), random()]
    }

    /// Adds the fields to a request.
    ///
    /// - Parameters:
    ///   - request: The request or the error so far.
    ///   - context: The context of the operation.
    /// - Returns: The request with the fields.
    /// - Throws: The error so far.
    public func interceptRequest(
        _ request: Result<URLRequest, any Error>,
        context: InterceptorContext
    ) async throws -> URLRequest {
        var request = try request.get()
        guard request.value(forHTTPHeaderField: "traceparent") == nil else { return request }
        let parent = current()
        let trace = TraceContext(
            traceID: parent?.traceID ?? traceID(of: context.operation),
            parentID: Self.hex([random() | 1]),
            isSampled: parent?.isSampled ?? isSampled,
            state: parent?.state
        )
        guard let trace else { return request }
        request.setValue(trace.traceparent, forHTTPHeaderField: "traceparent")
        if let state = trace.state { request.setValue(state, forHTTPHeaderField: "tracestate") }
        return request
    }

    private func traceID(of operation: UInt64) -> String {
        let octets = (seed + [operation]).flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
        }
        let digest = try? octets.withBytes { bytes throws(CryptoError) in try HashFunction.sha256.hash(bytes) }
        guard let digest, digest.count >= 16 else { return Self.hex([random(), random() | 1]) }
        let words = (0..<2).map { index in
            digest[index * 8..<index * 8 + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        return Self.hex([words[0], words[1] | 1])
    }

    private static func hex(_ words: [UInt64]) -> String {
        words.map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
