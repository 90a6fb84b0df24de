import Synchronization
import Tracing

/// The position of a span in its trace.
struct SpanID: ServiceContextKey {
    typealias Value = SpanID
    let trace: Int
    let span: Int

    var traceparent: String { "00-\(Self.hex(trace, 32))-\(Self.hex(span, 16))-01" }

    private static func hex(_ number: Int, _ count: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: count - digits.count) + digits
    }
}

/// A span that keeps its attributes.
final class MemorySpan: Tracing.Span {
    struct State {
        var name: String
        var attributes: SpanAttributes = [:]
        var status: SpanStatus?
        var errors = 0
        var ends = 0
    }

    let context: ServiceContext
    let id: SpanID
    let parent: SpanID?
    let kind: SpanKind
    private let state: Mutex<State>

    init(_ name: String, _ id: SpanID, context: ServiceContext, kind: SpanKind) {
        parent = context[SpanID.self]
        var context = context
        context[SpanID.self] = id
        self.context = context
        self.id = id
        self.kind = kind
        state = Mutex(State(name: name))
    }

    var now: State { state.withLock { $0 } }

    var operationName: String {
        get { now.name }
        set { state.withLock { $0.name = newValue } }
    }

    var attributes: SpanAttributes {
        get { now.attributes }
        set { state.withLock { $0.attributes = newValue } }
    }

    var isRecording: Bool { now.ends == 0 }

    func setStatus(_ status: SpanStatus) { state.withLock { $0.status = status } }
    func addEvent(_ event: SpanEvent) {}
    func addLink(_ link: SpanLink) {}

    func recordError<Instant: TracerInstant>(
        _ error: any Error,
        attributes: SpanAttributes,
        at instant: @autoclosure () -> Instant
    ) {
        state.withLock { $0.errors += 1 }
    }

    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        state.withLock { $0.ends += 1 }
    }

    /// Returns an attribute as text.
    subscript(name: String) -> String? {
        now.attributes.get(name).map { attribute in
            switch attribute {
            case .int64(let number): "\(number)"
            case .int32(let number): "\(number)"
            case .string(let text): text
            default: "\(attribute)"
            }
        }
    }
}

/// A tracer that keeps its spans and injects W3C Trace Context.
final class MemoryTracer: Tracer {
    private let made = Mutex<[MemorySpan]>([])

    /// The spans in the order of their start.
    var spans: [MemorySpan] { made.withLock { $0 } }

    func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> ServiceContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> MemorySpan {
        let context = context()
        return made.withLock { made in
            let number = made.count + 1
            let id = SpanID(trace: context[SpanID.self]?.trace ?? number, span: number)
            let span = MemorySpan(operationName, id, context: context, kind: kind)
            made.append(span)
            return span
        }
    }

    func forceFlush() {}

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let id = context[SpanID.self] else { return }
        injector.inject(id.traceparent, forKey: "traceparent", into: &carrier)
        injector.inject("vendor=\(id.span)", forKey: "tracestate", into: &carrier)
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout ServiceContext,
        using extractor: Extract
    ) where Extract.Carrier == Carrier {}
}
