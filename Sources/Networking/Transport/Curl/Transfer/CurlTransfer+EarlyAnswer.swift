import CCurl

// Responses over HTTP/2 that come before the request's body is sent. The response wins
// (RFC 9113 §8.1, https://www.rfc-editor.org/rfc/rfc9113#section-8.1).
//
// libcurl 8.1 and later tell how such a response ends. Earlier ones don't, as lib/http2.c and lib/transfer.c of 7.88.1 show:
// - `on_stream_close` is the only one to notice END_STREAM, and runs when the request's side of the stream is closed, too.
//   While its window is closed, `http2_data_done_send` can't close it.
// - `cf_h2_recv` throws away the octets of a stream that came in one read together with its RST_STREAM.
// - `http2_handle_stream_close` takes RST_STREAM with NO_ERROR for the end of any response whose header has come.
// - `readwrite_data` reads no further than Content-Length, neither a trailer nor the window updates that the rest of the body
//   needs.
//
// So only its header tells whether a response is whole, except that libcurl reports success.
extension CurlTransfer {
    /// A Boolean value that indicates whether the response is there and a part of the request isn't sent.
    var isAnsweredEarly: Bool { isWholeStream && isUnsent }

    /// A Boolean value that indicates whether the engine must look at how the response goes on.
    var mayBeAnsweredEarly: Bool { stream != nil && request.hasBody && (head.isComplete || isReadingOver) }

    /// The time at which a response that may never end is given up; `nil` if that is left to libcurl or the caller.
    var answerTime: ContinuousClock.Instant? {
        guard CurlLibrary.losesEarlyAnswers, mayBeAnsweredEarly, isDriven, !isRefused, cutTime == nil, isUnsent,
            let activity = timing.activity
        else { return nil }
        if isReadingOver { return activity }
        // The caller may take as long as it likes to read the response or to supply more of the request.
        return heldBack.isEmpty ? activity + configuration.earlyAnswerPatience : nil
    }

    /// Learns whether libcurl waits for the connection.
    ///
    /// While the request's body waits for its producer, libcurl waits for nothing once it takes the response for ended.
    func note(isWaiting: Bool) {
        isReadingOver = !isWaiting && stream != nil && heldBack == .sending
        if isReadingOver { round.touch(self) }
    }

    /// Decides whether the response counts although libcurl reports a failure.
    func isAnswered(despite code: Int32) -> Bool {
        guard Int(code) != CCURL_OK else { return false }
        if isWholeStream { return true }
        guard stream != nil, head.isComplete, cutTime != nil, isUnsent else { return false }
        // It is followed without its body.
        isCut = true
        return true
    }

    /// Decides whether libcurl reports that the stream was closed without an error, for which it has no words.
    func isAnswerLost(code: Int32, text: String) -> Bool {
        stream != nil && Int(code) == CCURL_HTTP2_STREAM && text.isEmpty
    }

    /// A Boolean value that indicates whether the response came over HTTP/2, and all of it that its header announces.
    private var isWholeStream: Bool {
        guard stream != nil, head.isComplete, !heldBack.contains(.receiving) else { return false }
        guard mayHaveBody else { return true }
        return (isDecoded ? decoder?.inputCount ?? 0 : receivedCount) == declaredSize
    }

    private var isUnsent: Bool {
        guard request.hasBody, let handle else { return false }
        let sentCount = handle.number(CCURL_INFO_SIZE_UPLOAD_T)
        guard case .held(let body) = request.body else {
            return timing.requestSent == nil || sentCount < upload?.givenCount ?? 0
        }
        return sentCount < body.count
    }
}

extension NetworkError {
    /// The error of a request whose response came early, and is lost or perhaps not whole.
    static func lostAnswer(_ origin: HTTPOrigin) -> Self {
        Self(
            .connectionLost,
            "\(origin) answered over HTTP/2 before the request's body was sent, and this libcurl loses such an answer, or can't tell "
                + "whether it is whole; use the protocol version http1, or libcurl 8.1 and later"
        )
    }
}
