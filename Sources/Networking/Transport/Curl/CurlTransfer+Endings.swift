import CCurl

// HTTP/2 responses that arrive before the request's body is sent. The response takes precedence
// (RFC 9113 §8.1, https://www.rfc-editor.org/rfc/rfc9113#section-8.1).
//
// libcurl 8.1 and later report the end of such a response, unless the end of the body waits for
// the server's window: they count up to 64 KiB of it as sent. Earlier versions don't, as
// lib/http2.c and lib/transfer.c of 7.88.1 show:
// - `on_stream_close` alone detects END_STREAM, and it runs only once the request's side of the
//   stream is closed too. While its window is closed, `http2_data_done_send` can't.
// - `cf_h2_recv` discards the data of a stream that was read together with its RST_STREAM.
// - `http2_handle_stream_close` takes RST_STREAM with NO_ERROR for the end of any response with a
//   header.
// - `readwrite_data` stops reading at Content-Length and so misses trailers and the window updates
//   that the rest of the body needs.
//
// - `h2_process_pending_input` reports success, and drops the data of the last read, if the
//   connection's session is over, because of GOAWAY or an error of either side.
//
// Therefore only the header tells whether a response is complete, unless libcurl reports success
// and keeps the connection.
extension CurlTransfer {
    /// The response is complete but the request may not be.
    var isAnsweredEarly: Bool { isWholeStream && mayBeUnsent }

    /// The engine must watch for an early response.
    var mayBeAnsweredEarly: Bool { stream != nil && request.hasBody && (head.isComplete || isReadingOver) }

    /// The response is complete, and libcurl doesn't report its end.
    func isAnswered(at now: Moment) -> Bool {
        isWholeStream && (isUnsent || answerTime.map { $0 <= now } ?? false)
    }

    /// The time to end a response whose end libcurl may never report; `nil` leaves it to libcurl or
    /// the caller.
    var answerTime: Moment? {
        guard mayBeAnsweredEarly, isDriven, !isRefused, cutTime == nil, let activity = timing.activity else {
            return nil
        }
        guard CurlLibrary.losesEarlyAnswers else {
            // Only the end of the stream can follow.
            return isWholeStream ? activity + configuration.earlyAnswerPatience / 10 : nil
        }
        guard isUnsent else { return nil }
        if isReadingOver { return activity }
        // The caller may take any amount of time to read the response or to supply the request.
        return heldBack.isEmpty ? activity + configuration.earlyAnswerPatience : nil
    }

    /// While the producer is busy, libcurl doesn't wait once it considers the response ended.
    func note(isWaiting: Bool) {
        isReadingOver = !isWaiting && stream != nil && heldBack == .sending
        if isReadingOver { loopState.touch(self) }
    }

    /// The response is valid although libcurl reports a failure.
    func isAnswered(despite code: Int32) -> Bool {
        guard Int(code) != CCURL_OK else { return false }
        if isWholeStream { return true }
        guard stream != nil, head.isComplete, cutTime != nil, mayBeUnsent else { return false }
        // The redirect is followed without its body.
        isCut = true
        return true
    }

    /// libcurl reports, without a message, a stream closed without an error.
    func isAnswerLost(code: Int32, text: String) -> Bool {
        stream != nil && Int(code) == CCURL_HTTP2_STREAM && text.isEmpty
    }

    /// An HTTP/2 response arrived with its declared length.
    private var isWholeStream: Bool {
        guard stream != nil, head.isComplete, !heldBack.contains(.receiving) else { return false }
        guard mayHaveBody else { return true }
        return (isDecoded ? decoder?.inputCount ?? 0 : receivedCount) == declaredSize
    }

    /// libcurl may have reported success for an HTTP/2 body that isn't complete: it closed the
    /// connection, and neither a length nor a coding tells; without kept connections, it closes
    /// each.
    var mayBeCut: Bool {
        guard CurlLibrary.losesEarlyAnswers, stream != nil, head.isComplete, mayHaveBody, declaredSize == nil,
            configuration.idleTimeout > .zero, let connection
        else { return false }
        return decoder?.isWhole != true && handle?.socketOwner?.hasClosed(connection) ?? false
    }

    private var isUnsent: Bool {
        guard request.hasBody, let handle else { return false }
        let sentCount = handle.number(CCURL_INFO_SIZE_UPLOAD_T)
        guard case .held(let body) = request.body else {
            return timing.requestSent == nil || sentCount < upload?.givenCount ?? 0
        }
        return sentCount < body.count
    }

    private var mayBeUnsent: Bool { isUnsent || request.hasBody && !CurlLibrary.losesEarlyAnswers }
}

extension NetworkError {
    /// For a response without a length.
    static func cutStream(_ origin: HTTPOrigin) -> Self {
        Self(
            .connectionLost,
            "the HTTP/2 connection to \(origin) ended together with a body without a length, and this libcurl can't tell "
                + "whether the body is complete; send a Content-Length, or use libcurl 8.1 or later"
        )
    }

    /// The response is lost or may be incomplete.
    static func lostAnswer(_ origin: HTTPOrigin) -> Self {
        Self(
            .connectionLost,
            "\(origin) responded over HTTP/2 before the request's body was sent, and this libcurl loses such a response or can't tell "
                + "whether it's complete; use the protocol version http1, or libcurl 8.1 or later"
        )
    }
}

// Repetition of requests.
extension CurlTransfer {
    static let maximumRequestCount = 6

    /// Kept connections failed.
    var needsNewConnection: Bool { makesConnection || earlierRequestCount > 1 }

    /// The request certainly wasn't processed.
    var isUnprocessed: Bool {
        guard !isInDoubt, !timing.hasFirstByte else { return false }
        if isRefused || isBeyondLastStream { return true }
        guard requestCount > 0, let handle else { return true }
        return requestCount == 1 && stream == nil && handle.number(CCURL_INFO_REQUEST_SIZE) == 0
    }

    /// The server's GOAWAY excludes the request's stream.
    private var isBeyondLastStream: Bool {
        guard let stream, let last = loopState.drains.lastStream(of: connection) else { return false }
        return stream > last
    }

    func isToRepeat(after code: Int32) -> Bool {
        let isLoss =
            switch Int(code) {
            case _ where missesKeptConnection: isUnprocessed
            case CCURL_GOT_NOTHING, CCURL_SEND_ERROR, CCURL_RECV_ERROR, CCURL_PARTIAL_FILE, CCURL_HTTP2: true
            // libcurl 7.88 may end a stream this way together with its connection.
            case CCURL_OK: !head.isComplete
            // The stream failed, not the connection.
            case CCURL_HTTP2_STREAM: isUnprocessed
            default: false
            }
        guard isLoss, failure == nil, !isAnswered, !timing.hasFirstByte, !exchange.isCancelled, let handle,
            earlierRequestCount + max(1, requestCount) < Self.maximumRequestCount
        else { return false }
        let wasKept = handle.number(CCURL_INFO_NUM_CONNECTS) == 0
        let wasRefused = isRefused || isBeyondLastStream
        guard missesKeptConnection || wasRefused || wasKept && (isUnprocessed || request.method.isIdempotent)
        else { return false }
        return upload?.rewind() ?? true
    }

    /// Reads one of libcurl's log messages and ignores any in another format.
    func hear(_ words: UnsafeBufferPointer<UInt8>) {
        func begins(_ start: StaticString) -> Bool {
            unsafe words.starts(with: UnsafeBufferPointer(start: start.utf8Start, count: start.utf8CodeUnitCount))
        }
        var numbers: [UInt32] {
            let digits = unsafe words.split { !(0x30...0x39).contains($0) }
            return unsafe digits.compactMap { unsafe UInt32(String(decoding: $0, as: UTF8.self)) }
        }
        if begins("Using Stream ID: ") {
            stream = numbers.first
        } else if begins("[HTTP/2] [") {
            stream = numbers.dropFirst().first
        } else if begins("REFUSED_STREAM, retrying") {
            isRefused = true
        } else if begins("recveived GOAWAY, ") || begins("received GOAWAY, ") {
            guard let connection, let last = numbers.last else { return }
            loopState.drains.note(lastStream: last, of: connection)
        }
    }
}

/// Identifies one of this process's open TCP connections.
struct CurlConnectionName: Hashable {
    private let peer: String
    private let peerPort: Int32
    let localPort: Int32

    /// Returns `nil` unless it's a TCP connection.
    init?(peer: UnsafePointer<CChar>?, peerPort: Int32, localPort: Int32) {
        guard let peer = unsafe peer, peerPort > 0, localPort > 0 else { return nil }
        unsafe self.peer = String(cString: peer)
        self.peerPort = peerPort
        self.localPort = localPort
    }
}

/// The last stream IDs that peers have announced they'll process
/// ([RFC 9113 §6.8](https://www.rfc-editor.org/rfc/rfc9113#section-6.8)).
struct CurlDrains {
    private static let maximumCount = 1024
    private var lastStreams: [CurlConnectionName: UInt32] = [:]

    /// A peer may only lower an announced stream ID.
    mutating func note(lastStream: UInt32, of connection: CurlConnectionName) {
        // Removing entries is safe: without one, a request isn't repeated.
        if lastStreams.count >= Self.maximumCount { lastStreams.removeAll() }
        lastStreams[connection] = min(lastStreams[connection] ?? lastStream, lastStream)
    }

    /// A new connection uses the name.
    mutating func forget(_ connection: CurlConnectionName) {
        if !lastStreams.isEmpty { lastStreams[connection] = nil }
    }

    func lastStream(of connection: CurlConnectionName?) -> UInt32? {
        guard !lastStreams.isEmpty else { return nil }
        return connection.flatMap { lastStreams[$0] }
    }
}
