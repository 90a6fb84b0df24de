import CCurl
import Foundation
internal import OpenSSLCrypto

/// A request as the engine sees it, which never leaves the engine's thread.
final class CurlTransfer {
    let submission: CurlSubmission
    let loopState: CurlLoopState
    private let engineSettings: CurlEngineSettings
    let activity: OriginActivity
    /// The request counts as running.
    var hasStarted = false
    /// `nil` while the transfer is queued.
    var handle: CurlHandle?
    var isDriven = false
    var alarm: Moment?
    var isTouched = false
    var nameLookup = NameLookup()
    /// The value of `errno` if a socket for the transfer failed for lack of a descriptor.
    var socketError: Int32?
    var missesKeptConnection = false
    /// The transfer repeats one that lacked a kept connection.
    let makesConnection: Bool
    /// The client's own error, which libcurl reports only as an aborted transfer.
    var failure: NetworkError?
    var handshake: TLSHandshake?
    /// The directions in which libcurl is waiting for the caller.
    var heldBack: CurlHandle.Directions = []
    var turn = CurlTurn()
    /// Part of the body was left for the next turn.
    var isOutOfTurn = false
    /// The time until which other transfers go first.
    var restEnd: Moment?
    /// The time until which a limit of the bandwidth makes the transfer wait.
    var paceEnd: Moment?
    lazy var downloadPace = CurlPace(exchange.limits.maximumDownloadRate)
    lazy var uploadPace = CurlPace(exchange.limits.maximumUploadRate)
    var timing = ExchangeTiming()
    let observation: CurlObservation?
    let upload: CurlUpload?
    var head: ResponseHeadReader
    /// Empty unless the body is to be decoded.
    private(set) var codings: [String] = []
    var decoder: ContentDecoder?
    private(set) var declaredSize: Int?
    /// libcurl tried to repeat a request with a response.
    var isAnswered = false
    /// The time at which to abandon the body of a followed redirect.
    private(set) var cutTime: Moment?
    /// The redirect's body was abandoned.
    var isCut = false
    /// libcurl was told to stop receiving for now.
    var isReceivingPaused = false
    private var redirectSize = 0
    /// The bytes of the body, after decoding.
    var receivedCount = 0
    var requestCount = 0
    var connectionCount = 0
    let earlierRequestCount: Int
    /// The connection that the request was last sent on, if it can be identified.
    var connection: CurlConnectionName?
    var stream: UInt32?
    /// The server rejected the request unprocessed.
    var isRefused = false
    /// libcurl has finished reading the response but is still sending the request.
    var isReadingOver = false
    /// A server may have processed an earlier attempt.
    var isInDoubt = false
    var bodyPosition = 0
    var hasEnded = false
    private var hasBegun = false
    private var body = Data()

    init(
        submission: CurlSubmission,
        loopState: CurlLoopState,
        engineSettings: CurlEngineSettings,
        activity: OriginActivity,
        upload: CurlUpload?
    ) {
        self.submission = submission
        self.activity = activity
        self.loopState = loopState
        self.engineSettings = engineSettings
        self.upload = upload
        head = ResponseHeadReader(maximumSize: engineSettings.configuration.maximumHeaderSize)
        observation = submission.exchange.request.observer.map { CurlObservation(submission.exchange, tell: $0) }
        earlierRequestCount = 0
        makesConnection = false
    }

    /// The other transfer had no response.
    init(repeating transfer: CurlTransfer) {
        submission = transfer.submission
        loopState = transfer.loopState
        engineSettings = transfer.engineSettings
        activity = transfer.activity
        hasStarted = transfer.hasStarted
        upload = transfer.upload
        head = ResponseHeadReader(maximumSize: transfer.engineSettings.configuration.maximumHeaderSize)
        observation = transfer.observation
        makesConnection = transfer.missesKeptConnection
        earlierRequestCount =
            transfer.earlierRequestCount + max(transfer.missesKeptConnection ? 0 : 1, transfer.requestCount)
        isInDoubt = !transfer.isUnprocessed
    }

    var configuration: CurlTransport.Configuration { engineSettings.configuration }
    var exchange: CurlExchange { submission.exchange }
    var request: CurlRequest { submission.exchange.request }
    var origin: HTTPOrigin { submission.exchange.request.origin }

    /// Selects the connections that the transfer uses.
    var traffic: CurlTraffic {
        if case .parts = submission.recipient { return .held }
        return upload == nil && exchange.limits.maximumDownloadRate == nil ? .brief : .held
    }

    /// Delivers the data received so far and returns libcurl's result.
    func flush() -> Int32 {
        guard !hasEnded else { return 0 }
        defer { observation?.receive(receivedCount) }
        guard case .parts(let stream) = submission.recipient else { return 0 }
        begin(stream)
        // Pauses libcurl before it receives data that it would have to buffer, unless the request's
        // body is still being sent while the response arrives.
        guard stream.flush(), !request.hasBody, !heldBack.contains(.receiving) else { return 0 }
        heldBack.insert(.receiving)
        return hold()
    }

    /// Reports the outcome, once, and returns the delivery for a caller of the whole response;
    /// without a failure, libcurl reported success.
    func end(_ failure: (any Error)?) -> CurlDelivery? {
        hasEnded = true
        if failure == nil, cutTime != nil, decoder.map({ !$0.isWhole }) ?? false { isCut = true }
        let failure = failure ?? incompleteness
        upload?.end()
        observation?.receive(receivedCount)
        observation?.end(handle, version: head.isComplete ? head.version : "", tlsVersion: tlsVersion)
        // The watchdog may have ended the request.
        guard exchange.claimOutcome() else { return nil }
        switch submission.recipient {
        case .whole(let continuation):
            let whole = response(
                isDecoded: isDecoded && receivedCount > 0,
                body: isCut ? Data() : body,
                trailers: head.trailers
            )
            return CurlDelivery(continuation: continuation, outcome: failure.map(Result.failure) ?? .success(whole))
        case .parts(let stream):
            if !(failure is CancellationError), (failure as? NetworkError)?.code != .closed { begin(stream) }
            stream.end(failure.map(Result.failure) ?? .success(HTTPHeaders(head.trailers)))
            return nil
        }
    }

    /// Only once per transfer.
    func countBytes() {
        guard let handle, requestCount > 0 else { return }
        activity.update { state in
            state.bytesSent += handle.number(CCURL_INFO_SIZE_UPLOAD_T)
            state.bytesReceived += handle.number(CCURL_INFO_SIZE_DOWNLOAD_T)
        }
    }

    /// Returns `false` if the buffer is full.
    func keep(_ octets: UnsafeBufferPointer<UInt8>) -> Bool {
        switch submission.recipient {
        case .whole:
            if receivedCount == 0, octets.count == declaredSize {
                unsafe body = Data(buffer: octets)
                return true
            }
            if receivedCount == 0, let declaredSize, !isDecoded { body.reserveCapacity(min(declaredSize, 1 << 20)) }
            unsafe body.append(octets)
            return true
        case .parts(let stream):
            loopState.touch(self)
            return unsafe stream.put(octets)
        }
    }

    /// Lets libcurl handle a response that arrived before the request's body was sent: libcurl
    /// stops sending if the response is an error, but not while it waits for a part to send.
    func stopWaiting() -> Int32 {
        guard head.isComplete, head.status >= 300, heldBack.contains(.sending) else { return 0 }
        heldBack.remove(.sending)
        return hold()
    }

    /// Resumes the directions in which the caller is ready.
    func resume() -> Int32 {
        let before = heldBack
        if before.contains(.receiving), case .parts(let stream) = submission.recipient, stream.hasRoom {
            heldBack.remove(.receiving)
        }
        if before.contains(.sending), upload?.isReady ?? false { heldBack.remove(.sending) }
        guard heldBack != before else { return 0 }
        timing.move(at: loopState.now)
        if hasTimeouts || mayBeAnsweredEarly { loopState.touch(self) }
        return hold()
    }
}

// The response.
extension CurlTransfer {
    var isBeyondDeadline: Bool {
        head.isComplete && exchange.limits.streamsBody && exchange.limits.deadlineEndsWithHeader
    }

    private func begin(_ stream: CurlResponseStream) {
        guard head.isComplete, !hasBegun else { return }
        hasBegun = true
        stream.begin { response(isDecoded: isDecoded && mayHaveBody, stream: $0) }
    }

    private func response(
        isDecoded: Bool,
        body: Data = Data(),
        trailers: [HTTPHeaders.Field] = [],
        stream: HTTPResponseBody? = nil
    ) -> HTTPTransportResponse {
        let headers = HTTPHeaders(head.headers)
        var response = HTTPTransportResponse(
            status: head.status,
            version: head.version,
            headers: isDecoded ? headers.withoutCoding : headers,
            body: body,
            trailers: HTTPHeaders(trailers),
            stream: stream
        )
        response.isCut = isCut
        response.isDecoded = isDecoded
        return response
    }

    /// Returns `false` if there are too many bytes to discard.
    func acceptsRedirect(_ count: Int) -> Bool {
        guard cutTime != nil else { return true }
        redirectSize += count
        let limit = min(RedirectBody.maximumSize, exchange.limits.maximumBodySize)
        isCut = max(redirectSize, declaredSize ?? 0) > limit
        return !isCut
    }

    /// libcurl accepts an incomplete response.
    private var incompleteness: NetworkError? {
        guard !head.isComplete else { return isCut || decoder?.isWhole ?? true ? nil : cutContent }
        return NetworkError(
            .connectionLost,
            "\(origin) closed the connection before the response's header was complete"
        )
    }

    private var cutContent: NetworkError {
        NetworkError(
            .invalidResponse,
            "the body from \(origin) ends before its content coding (\(codings.joined(separator: ", "))) does, although the message "
                + "is complete; the server or an intermediary truncated it"
        )
    }

    var isDecoded: Bool { !codings.isEmpty }

    /// The head is complete.
    func readFraming() {
        if configuration.decodesContent { codings = head.contentCodings }
        declaredSize = head.headers.first { $0.name.equalsIgnoringASCIICase("Content-Length") }.flatMap {
            Int($0.value)
        }
        if exchange.limits.cutsRedirects, RedirectBody.belongs(to: head.status, head.headers) {
            cutTime = loopState.now + RedirectBody.patience
            loopState.touch(self)
        }
    }

    /// [RFC 9110 §6.4.1](https://www.rfc-editor.org/rfc/rfc9110#section-6.4.1).
    var mayHaveBody: Bool {
        request.method != .head && head.status != 204 && head.status != 304 && declaredSize != 0
    }

    var hasTimeouts: Bool { exchange.limits.firstByteTimeout != nil || exchange.limits.idleTimeout != nil }

    /// Returns the error of an expired timeout, and the time of the next check.
    func timeout(at now: Moment) -> (failure: NetworkError?, next: Moment?) {
        let (failure, next) = exchangeTimeout(at: now)
        let answerTime = answerTime
        if failure == nil, let answerTime, answerTime <= now { return (.lostAnswer(origin), nil) }
        return (failure, [next, cutTime, answerTime].compactMap(\.self).min())
    }

    private func exchangeTimeout(
        at now: Moment
    ) -> (failure: NetworkError?, next: Moment?) {
        // While the transfer waits for a name, the time to connect elapses.
        if let begun = nameLookup.begun {
            let end = begun + (configuration.connectTimeout - nameLookup.spent)
            guard end > now else { return (.connectTimedOut(configuration.connectTimeout, .name, origin), nil) }
            return (nil, end)
        }
        let (expired, next) = timing.check(at: now, limits: exchange.limits, isCallersTurn: !heldBack.isEmpty)
        return (expired.map { .timedOut($0, of: exchange.limits, phase, origin) }, next)
    }

    var phase: NetworkError.Timeout.Phase {
        if nameLookup.begun != nil { return .name }
        if !isDriven { return .queued }
        if timing.hasFirstByte { return .receiving }
        guard requestCount > 0 else { return handshake == nil ? .connecting : .tlsHandshake }
        return timing.requestSent == nil && request.body.isReadWhileSent ? .sending : .firstByte
    }
}

/// A limit of a transfer's bandwidth in one direction: libcurl 7.88 receives up to a hundred parts
/// before it checks its own limit.
struct CurlPace: Equatable {
    /// The part of a second for which an unused bandwidth can be used later.
    private static let credit = Duration.milliseconds(100)

    private let rate: Int
    private var next: Moment?

    /// In bytes per second.
    init?(_ rate: Int?) {
        guard let rate else { return nil }
        self.rate = rate
    }

    /// Returns `nil` if a part may be transferred now.
    func wait(at now: Moment) -> Moment? {
        next.flatMap { $0 > now ? $0 : nil }
    }

    mutating func spend(_ count: Int, at now: Moment) {
        let start = max(next ?? now, now - Self.credit)
        next = start + .seconds(1) * (Double(count) / Double(rate))
    }
}

extension CurlTransfer {
    /// The transfer rests until the limit allows another part.
    func isDue(_ pace: CurlPace?) -> Bool {
        guard let end = pace?.wait(at: loopState.now) else { return true }
        paceEnd = end
        isOutOfTurn = true
        loopState.touch(self)
        return false
    }
}
