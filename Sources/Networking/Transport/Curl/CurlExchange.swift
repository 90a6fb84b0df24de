import CCurl
import Foundation
internal import OpenSSLCrypto
import Synchronization

/// A request that the caller's task and the engine share.
final class CurlExchange: Sendable {
    /// The part of the request that has begun, for threads other than the engine's.
    enum Progress: UInt8, AtomicRepresentable {
        case queued, connecting, sent, receiving

        var phase: NetworkError.Timeout.Phase {
            switch self {
            case .queued: .queued
            case .connecting: .connecting
            case .sent: .firstByte
            case .receiving: .receiving
            }
        }
    }

    let identifier: UInt64
    let request: CurlRequest
    let limits: HTTPTransportLimits
    let begin = Moment.now
    private let progress = Atomic<Progress>(.queued)
    /// The time of the cancellation, in nanoseconds since ``begin``, or 0.
    private let cancellation = Atomic<Int>(0)
    private let hasEnded = Atomic<Bool>(false)

    init(identifier: UInt64, request: CurlRequest, limits: HTTPTransportLimits) {
        self.identifier = identifier
        self.request = request
        self.limits = limits
    }

    /// Must run on the engine's thread.
    func note(_ progress: Progress) { self.progress.store(progress, ordering: .relaxed) }

    var phase: NetworkError.Timeout.Phase { progress.load(ordering: .relaxed).phase }

    /// The task may be cancelled before the engine received the request.
    var isCancelled: Bool { cancellation.load(ordering: .acquiring) != 0 }

    var cancelTime: Moment? {
        let time = cancellation.load(ordering: .acquiring)
        return time == 0 ? nil : begin + .nanoseconds(time)  // reason: our own clock
    }

    func cancel() {
        let (seconds, attoseconds) = (Moment.now - begin).components
        let time = max(1, Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000))  // reason: our own clock
        cancellation.store(time, ordering: .releasing)
    }

    var isOver: Bool { hasEnded.load(ordering: .acquiring) }

    /// Returns `false` to all but the first caller.
    func claimOutcome() -> Bool { !hasEnded.exchange(true, ordering: .acquiringAndReleasing) }
}

/// A request submitted to the engine, with the recipient of its outcome.
struct CurlSubmission: Sendable {
    typealias Outcome = Result<HTTPTransportResponse, any Error>

    enum Recipient: Sendable {
        /// Receives the whole response at once, with a single wake-up.
        case whole(CheckedContinuation<Outcome, Never>)
        /// Receives the head first and then the body in parts.
        case parts(CurlResponseStream)
    }

    let exchange: CurlExchange
    let recipient: Recipient

    func refuse(_ error: any Error, _ load: EngineLoad) {
        load.end()
        exchange.request.observer?(.finished(HTTPTransportMetrics(totalTime: .now - exchange.begin)))
        fail(error)
    }

    /// Has no effect if the request has an outcome.
    func fail(_ error: any Error) {
        guard exchange.claimOutcome() else { return }
        switch recipient {
        case .whole(let continuation): continuation.resume(returning: .failure(error))
        case .parts(let stream): stream.end(.failure(error))
        }
    }

    /// The header has arrived, and the deadline ended with it.
    var isBeyondDeadline: Bool {
        guard exchange.limits.deadlineEndsWithHeader, case .parts(let stream) = recipient else { return false }
        return stream.hasBegun
    }
}

struct CurlDelivery {
    let continuation: CheckedContinuation<CurlSubmission.Outcome, Never>
    let outcome: CurlSubmission.Outcome
}

/// A request in libcurl's terms, prepared on the caller's thread because the engine has only one.
///
/// It's a class because copying it costs a dozen reference counts.
final class CurlRequest: Sendable {
    struct StreamedBody: Sendable {
        enum Source: Sendable {
            case file(URL, length: Int)
            case producer(HTTPBody.Producer)
        }

        let length: Int?
        let isReplayable: Bool
        let source: Source
    }

    enum Body: Sendable {
        case held(Data)
        case streamed(StreamedBody)

        /// libcurl reads the body in parts instead of sending it with the header.
        var isReadWhileSent: Bool {
            switch self {
            case .held(let data): data.count > 64 << 10
            case .streamed: true
            }
        }

        var isEmpty: Bool {
            if case .held(let data) = self { data.isEmpty } else { false }
        }

        /// A copy of the body is too large to keep.
        var isLarge: Bool {
            if case .held(let data) = self { data.count > 4 << 10 } else { true }
        }
    }

    let url: String
    let origin: HTTPOrigin
    let method: HTTPMethod
    /// Includes the fields that libcurl must not add.
    let lines: CurlLines?
    let proxyLines: CurlLines?
    let body: Body
    /// The body may be empty.
    let hasBody: Bool
    let observer: (@Sendable (HTTPTransportEvent) -> Void)?

    init(_ request: HTTPRequest, limits: HTTPTransportLimits) throws(NetworkError) {
        if limits.hasRates { try limits.validateRates() }
        origin = try request.validate()
        url = request.url.absoluteString
        method = request.method
        body = try Self.body(request, isPaced: limits.maximumUploadRate != nil)
        hasBody = !body.isEmpty || request.method.anticipatesContent
        var proxyFields: [String] = []
        lines = CurlLines(Self.lines(request.headers, hasBody: hasBody, proxyFields: &proxyFields))
        proxyLines = CurlLines(proxyFields)
        observer = request.observer
        try NetworkError.require(
            url.utf8.count + (lines?.size ?? 0) + (proxyLines?.size ?? 0) <= Self.maximumHeaderSize,
            "the request's URL and header fields exceed \(Self.maximumHeaderSize) bytes; send less, or use the body"
        )
        try NetworkError.require(
            max(lines?.longest ?? 0, proxyLines?.longest ?? 0) <= Self.maximumFieldSize,
            "a header field of the request exceeds \(Self.maximumFieldSize) bytes; send less, or use the body"
        )
    }

    /// The URL's path and query, which libcurl 8.14 and later would change: they omit an empty
    /// query and decode percent-encoded characters.
    var target: String {
        let text = url.utf8.prefix { $0 != UInt8(ascii: "#") }
        // The scheme and its colon, two slashes and the authority.
        let authority = text.drop { $0 != UInt8(ascii: ":") }.dropFirst(3)
        let target = authority.drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        return target.first == UInt8(ascii: "/") ? String(Substring(target)) : "/" + Substring(target)
    }

    /// Above 1 MiB, including the fields that it adds and a short body, libcurl reports that it's
    /// out of memory.
    private static let maximumHeaderSize = 900_000
    /// libcurl 8.14 silently omits a field of more than 300 KiB.
    private static let maximumFieldSize = 300_000

    private static func body(_ request: HTTPRequest, isPaced: Bool) throws(NetworkError) -> Body {
        switch request.body.source {
        case .none: return .held(Data())
        case .data(let data) where isPaced && !data.isEmpty:
            // libcurl would send a short body at once.
            return .streamed(
                StreamedBody(length: data.count, isReplayable: true, source: .producer { try await $0(data) })
            )
        case .data(let data): return .held(data)
        case .file(let url, let length):
            guard length > 0 else { return .held(Data()) }
            return .streamed(StreamedBody(length: length, isReplayable: true, source: .file(url, length: length)))
        case .stream(let length, let isReplayable, let producer):
            let length = if let length { length } else { try announcedLength(request.headers) }
            try NetworkError.require(length ?? 0 >= 0, "the request's body has a negative length")
            // The producer isn't called for an empty body.
            guard length != 0 else { return .held(Data()) }
            return .streamed(StreamedBody(length: length, isReplayable: isReplayable, source: .producer(producer)))
        }
    }

    private static func announcedLength(_ headers: HTTPHeaders) throws(NetworkError) -> Int? {
        var length: Int?
        for field in headers where field.name.equalsIgnoringASCIICase("Content-Length") {
            let text = field.value
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int(text) else {
                throw NetworkError(
                    .invalidRequest,
                    "the Content-Length header field isn't a number of bytes; remove it"
                )
            }
            try NetworkError.require(
                length == nil || length == count,
                "the Content-Length header fields contradict each other; remove them"
            )
            length = count
        }
        return length
    }

    private static func lines(_ headers: HTTPHeaders, hasBody: Bool, proxyFields: inout [String]) -> [String] {
        var lines: [String] = []
        lines.reserveCapacity(headers.count + 2)
        var hasContentType = false
        var hasExpect = false
        for field in headers {
            let value = field.value[...].trimmingHTTPWhitespace
            // `Name;` is a field with an empty value, whereas `Name:` removes the field.
            let line = field.name + (value.isEmpty ? ";" : ": " + value)
            // Checking the length first rules out most names cheaply.
            switch field.name.utf8.count {
            case 14 where field.name.equalsIgnoringASCIICase("Content-Length"): continue
            case 19 where field.name.equalsIgnoringASCIICase("Proxy-Authorization"):
                proxyFields.append(line)
                continue
            case 12: hasContentType = hasContentType || field.name.equalsIgnoringASCIICase("Content-Type")
            case 6: hasExpect = hasExpect || field.name.equalsIgnoringASCIICase("Expect")
            default: break
            }
            lines.append(line)
        }
        if hasBody {
            if !hasContentType { lines.append("Content-Type:") }
            if !hasExpect { lines.append("Expect:") }
        }
        return lines
    }
}

extension HTTPMethod {
    /// [RFC 9110 §8.6](https://www.rfc-editor.org/rfc/rfc9110#section-8.6).
    var anticipatesContent: Bool { self == .post || self == .put || self == .patch || self == .query }
}

/// An observer's view of a request, used on the engine's thread.
final class CurlObservation {
    private let exchange: CurlExchange
    private let tell: @Sendable (HTTPTransportEvent) -> Void
    private var started: Moment?
    /// The time at which libcurl started its timers, which restart after a name lookup.
    private var driven: Moment?
    private var hasResolved = false
    private var connectionCount = 0
    private var sentCount = 0
    private var receivedCount = 0

    init(_ exchange: CurlExchange, tell: @escaping @Sendable (HTTPTransportEvent) -> Void) {
        self.exchange = exchange
        self.tell = tell
    }

    /// The request left the queue, is repeated, or continues after a name lookup.
    func drive(at now: Moment) {
        driven = now
        guard started == nil else { return }
        started = now
        tell(.started)
    }

    /// A socket is about to be connected, which implies a resolved address.
    func resolve() {
        guard !hasResolved else { return }
        hasResolved = true
        tell(.resolved)
    }

    /// The request is about to be sent on a connection, which may be new.
    func connect(_ handle: CurlHandle?) {
        let count = handle?.number(CCURL_INFO_NUM_CONNECTS) ?? 0
        guard count > connectionCount else { return }
        connectionCount = count
        tell(.connected)
        if exchange.request.origin.scheme == "https" { tell(.secured) }
    }

    func send(_ count: Int) {
        guard count > sentCount else { return }
        sentCount = count
        tell(.bodySent(count))
    }

    func receiveHead(status: Int, _ handle: CurlHandle?) {
        // libcurl sends a body that it has copied without calling back.
        send(handle?.number(CCURL_INFO_SIZE_UPLOAD_T) ?? 0)
        tell(.headReceived(status: status))
    }

    func receive(_ count: Int) {
        guard count > receivedCount else { return }
        receivedCount = count
        tell(.bodyReceived(count))
    }

    func end(_ handle: CurlHandle?, version: String, tlsVersion: TLSProtocolVersion?) {
        var metrics = metrics(handle)
        metrics.version = version
        metrics.tlsVersion = tlsVersion.map { TLSVersion($0) }
        tell(.finished(metrics))
    }

    private func metrics(_ handle: CurlHandle?) -> HTTPTransportMetrics {
        var metrics = HTTPTransportMetrics(totalTime: .now - exchange.begin)
        guard let started, let driven, let handle else { return metrics }
        let offset = driven - exchange.begin
        /// A phase that didn't happen has no time, or the time of an earlier phase.
        func time(_ info: ccurl_info) -> Duration? {
            let microseconds = handle.number(info)
            return microseconds > 0 ? offset + .microseconds(Int(microseconds)) : nil
        }
        metrics.queueTime = started - exchange.begin
        let isNew = handle.number(CCURL_INFO_NUM_CONNECTS) > 0
        if isNew {
            metrics.nameLookupTime = time(CCURL_INFO_NAMELOOKUP_TIME_T)
            metrics.connectTime = time(CCURL_INFO_CONNECT_TIME_T)
            metrics.tlsTime = time(CCURL_INFO_APPCONNECT_TIME_T)
        }
        metrics.firstByteTime = time(CCURL_INFO_STARTTRANSFER_TIME_T)
        metrics.remoteAddress = handle.peerAddress
        // A missing peer address means that no connection was made.
        metrics.isConnectionReused = metrics.remoteAddress == nil ? nil : !isNew
        metrics.bodyBytesSent = max(sentCount, handle.number(CCURL_INFO_SIZE_UPLOAD_T))
        metrics.bodyBytesReceived = handle.number(CCURL_INFO_SIZE_DOWNLOAD_T)
        return metrics
    }
}
