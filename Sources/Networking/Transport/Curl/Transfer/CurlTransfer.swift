import Foundation
internal import OpenSSLCrypto

/// An exchange as the engine sees it; it never leaves the engine's thread.
final class CurlTransfer {
    let submission: CurlSubmission
    let round: CurlLoopState
    private let preparation: CurlEngineSettings
    /// The handle while the transfer runs; `nil` while it waits in line.
    var handle: CurlHandle?
    /// Whether libcurl drives the transfer.
    var isDriven = false
    /// When the engine looks at the timeouts next.
    var alarm: ContinuousClock.Instant?
    /// Whether the engine looks at this transfer when libcurl has returned.
    var isTouched = false
    /// The names that the transfer needs.
    var nameLookup = NameLookup()
    /// The error number of the attempt to make a socket for the transfer, if a descriptor was lacking.
    var socketError: Int32?
    /// What went wrong on our side, which libcurl only reports as an aborted transfer.
    var failure: NetworkError?
    /// The last TLS handshake that the transfer has begun.
    var handshake: TLSHandshake?
    /// The directions in which libcurl waits for the caller.
    var heldBack: CurlHandle.Directions = []
    /// The data that the transfer has taken in the engine's current round.
    var turn = CurlTurn()
    /// A Boolean value that indicates whether the transfer had to leave a part of its body for its next turn.
    var isOutOfTurn = false
    /// Until when the transfer lets others go first; `nil` if it doesn't.
    var restEnd: ContinuousClock.Instant?
    var timing = ExchangeTiming()
    let observation: CurlObservation?
    let upload: CurlUpload?
    var head: ResponseHeadReader
    /// The content codings of the body, if they are to be decoded.
    private(set) var codings: [String] = []
    /// Decodes the body from the first octet on.
    var decoder: ContentDecoder?
    /// The size of the body that the header announces.
    private(set) var declaredSize: Int?
    /// Whether libcurl wanted to repeat a request that was answered.
    var isAnswered = false
    /// The time at which the body of a redirect that will be followed is given up; `nil` for any other response.
    private(set) var cutTime: ContinuousClock.Instant?
    /// A Boolean value that indicates whether the exchange ended before the body of its redirect did.
    var isCut = false
    private var redirectSize = 0
    /// How much of the body came, after decoding.
    var receivedCount = 0
    var requestCount = 0
    /// The number of times that the request was sent before this transfer began.
    let earlierRequestCount: Int
    /// The connection that the request was last sent on, if it has a name.
    var connection: CurlConnectionName?
    /// The number of the request's HTTP/2 stream on it.
    var stream: UInt32?
    /// A Boolean value that indicates whether the server has just said that it didn't process the request.
    var isRefused = false
    /// A Boolean value that indicates whether libcurl waits for nothing more of the response, although it continues the request.
    var isReadingOver = false
    /// A Boolean value that indicates whether a server may have acted on the request when it was sent before.
    var isInDoubt = false
    var bodyPosition = 0
    var hasEnded = false
    private var hasBegun = false
    private var body = Data()

    init(submission: CurlSubmission, round: CurlLoopState, preparation: CurlEngineSettings, upload: CurlUpload?) {
        self.submission = submission
        self.round = round
        self.preparation = preparation
        self.upload = upload
        head = ResponseHeadReader(maximumSize: preparation.configuration.maximumHeaderSize)
        observation = submission.exchange.request.observer.map { CurlObservation(submission.exchange, tell: $0) }
        earlierRequestCount = 0
    }

    /// Begins anew what another transfer was to do, and no response came to.
    init(repeating transfer: CurlTransfer) {
        submission = transfer.submission
        round = transfer.round
        preparation = transfer.preparation
        upload = transfer.upload
        head = ResponseHeadReader(maximumSize: transfer.preparation.configuration.maximumHeaderSize)
        observation = transfer.observation
        earlierRequestCount = transfer.earlierRequestCount + max(1, transfer.requestCount)
        isInDoubt = !transfer.isUnprocessed
    }

    var configuration: CurlTransport.Configuration { preparation.configuration }
    var exchange: CurlExchange { submission.exchange }
    var request: CurlRequest { submission.exchange.request }
    var origin: HTTPOrigin { submission.exchange.request.origin }

    /// Which connections the transfer uses.
    var traffic: CurlTraffic {
        if case .parts = submission.recipient { return .held }
        return upload == nil ? .brief : .held
    }

    /// Hands out what came while libcurl worked; returns libcurl's result.
    func flush() -> Int32 {
        guard !hasEnded else { return 0 }
        defer { observation?.receive(receivedCount) }
        guard case .parts(let stream) = submission.recipient else { return 0 }
        begin(stream)
        return stream.flush() ? holdReceiving() : 0
    }

    /// Has libcurl wait before it receives what there is no room for, and what it would have to copy.
    private func holdReceiving() -> Int32 {
        // A body is still sent while the response comes.
        guard !request.hasBody, !heldBack.contains(.receiving) else { return 0 }
        heldBack.insert(.receiving)
        return hold()
    }

    /// Reports the outcome, which is only done once.
    ///
    /// - Parameter failure: `nil` if libcurl had nothing to complain about.
    /// - Returns: Who waits for the whole response, and is told later.
    func end(_ failure: NetworkError?) -> CurlDelivery? {
        hasEnded = true
        if failure == nil, cutTime != nil, decoder.map({ !$0.isWhole }) ?? false { isCut = true }
        let failure = failure ?? incompleteness
        upload?.end()
        observation?.receive(receivedCount)
        observation?.end(handle, version: head.isComplete ? head.version : "")
        switch submission.recipient {
        case .whole(let continuation):
            return CurlDelivery(
                continuation: continuation,
                outcome: failure.map(Result.failure) ?? .success(response)
            )
        case .parts(let stream):
            if failure == nil || failure?.code != .cancelled && failure?.code != .closed { begin(stream) }
            stream.end(failure.map(Result.failure) ?? .success(HTTPHeaders(head.trailers)))
            return nil
        }
    }

    /// Keeps octets of the body; false if there is no room for them now.
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
            round.touch(self)
            return unsafe stream.put(octets) == .taken
        }
    }

    /// Lets libcurl see that an answer came before the body was sent; returns libcurl's result.
    ///
    /// libcurl then stops sending if the answer is an error, but while it waits for the body's next part it would not end.
    func stopWaiting() -> Int32 {
        guard head.isComplete, head.status >= 300, heldBack.contains(.sending) else { return 0 }
        heldBack.remove(.sending)
        return hold()
    }

    /// Goes on where the caller has done their part; returns libcurl's result.
    func resume() -> Int32 {
        let before = heldBack
        if before.contains(.receiving), case .parts(let stream) = submission.recipient, stream.hasRoom {
            heldBack.remove(.receiving)
        }
        if before.contains(.sending), upload?.isReady ?? false { heldBack.remove(.sending) }
        guard heldBack != before else { return 0 }
        timing.resume(at: round.now)
        if hasTimeouts || mayBeAnsweredEarly { round.touch(self) }
        return hold()
    }
}

// The response.
extension CurlTransfer {
    private func begin(_ stream: CurlResponseStream) {
        guard head.isComplete, !hasBegun else { return }
        hasBegun = true
        stream.begin { body in
            HTTPTransportResponse(
                status: head.status,
                version: head.version,
                headers: fields(withoutCoding: isDecoded && mayHaveBody),
                stream: body
            )
        }
    }

    private var response: HTTPTransportResponse {
        var response = HTTPTransportResponse(
            status: head.status,
            version: head.version,
            headers: fields(withoutCoding: isDecoded && receivedCount > 0),
            body: isCut ? Data() : body,
            trailers: HTTPHeaders(head.trailers)
        )
        response.isCut = isCut
        return response
    }

    /// Counts octets of the body of a redirect that will be followed; false if they are too many to be read for nothing.
    func acceptsRedirect(_ count: Int) -> Bool {
        guard cutTime != nil else { return true }
        redirectSize += count
        let limit = min(RedirectBody.maximumSize, exchange.limits.maximumBodySize)
        isCut = max(redirectSize, declaredSize ?? 0) > limit
        return !isCut
    }

    /// What a transfer lacks that libcurl is content with.
    private var incompleteness: NetworkError? {
        guard !head.isComplete else { return isCut || decoder?.isWhole ?? true ? nil : cutContent }
        return NetworkError(
            .connectionLost,
            "\(origin) closed the connection before its response's header was whole"
        )
    }

    private var cutContent: NetworkError {
        NetworkError(
            .invalidResponse,
            "the body of \(origin) ends in the middle of its content coding (\(codings.joined(separator: ", "))), although the message is "
                + "whole: the server, or something before it, lost the rest"
        )
    }

    private func fields(withoutCoding: Bool) -> HTTPHeaders {
        guard withoutCoding else { return HTTPHeaders(head.headers) }
        return HTTPHeaders(
            head.headers.filter {
                !$0.name.equalsIgnoringASCIICase("Content-Encoding")
                    && !$0.name.equalsIgnoringASCIICase("Content-Length")
            }
        )
    }

    /// Whether the body is decoded.
    var isDecoded: Bool { !codings.isEmpty }

    /// Works out, once the head is whole, what it says about the body.
    func readFraming() {
        if configuration.decodesContent { codings = head.contentCodings }
        declaredSize = head.headers.first { $0.name.equalsIgnoringASCIICase("Content-Length") }.flatMap {
            Int($0.value)
        }
        if exchange.limits.cutsRedirects, RedirectBody.belongs(to: head.status, head.headers) {
            cutTime = round.now + RedirectBody.patience
            round.touch(self)
        }
    }

    /// Whether octets may follow the head ([RFC 9110 §6.4.1](https://www.rfc-editor.org/rfc/rfc9110#section-6.4.1)).
    var mayHaveBody: Bool {
        request.method != .head && head.status != 204 && head.status != 304 && declaredSize != 0
    }
}
