import CCurl

// Repetition of requests.
extension CurlTransfer {
    /// The maximum number of times to send a request when connections are dead or shutting down.
    static let maximumRequestCount = 6

    /// A Boolean value that indicates whether kept connections failed and a new one is needed.
    var needsNewConnection: Bool { makesConnection || earlierRequestCount > 1 }

    /// A Boolean value that indicates whether the request certainly wasn't processed.
    var isUnprocessed: Bool {
        guard !isInDoubt, !timing.hasFirstByte else { return false }
        if isRefused || isBeyondLastStream { return true }
        guard let handle else { return true }
        if requestCount == 0, CurlLibrary.asksBeforeRequests { return true }
        return requestCount <= 1 && stream == nil && handle.number(CCURL_INFO_REQUEST_SIZE) == 0
    }

    /// A Boolean value that indicates whether the server's GOAWAY excludes the request's stream.
    private var isBeyondLastStream: Bool {
        guard let stream, let last = loopState.drains.lastStream(of: connection) else { return false }
        return stream > last
    }

    /// Returns whether to repeat the request after a result from libcurl.
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
        /// The decimal numbers among the words.
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

/// A name that identifies one of this process's open TCP connections.
struct CurlConnectionName: Hashable {
    private let peer: String
    private let peerPort: Int32
    let localPort: Int32

    /// Creates a name from libcurl's values, or returns `nil` unless it's a TCP connection.
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

    /// Records an announced stream ID, which a peer may only lower later.
    mutating func note(lastStream: UInt32, of connection: CurlConnectionName) {
        // Removing entries is safe: without one, a request isn't repeated.
        if lastStreams.count >= Self.maximumCount { lastStreams.removeAll() }
        lastStreams[connection] = min(lastStreams[connection] ?? lastStream, lastStream)
    }

    /// Removes the entry of a connection whose name a new connection uses.
    mutating func forget(_ connection: CurlConnectionName) {
        if !lastStreams.isEmpty { lastStreams[connection] = nil }
    }

    func lastStream(of connection: CurlConnectionName?) -> UInt32? {
        guard !lastStreams.isEmpty else { return nil }
        return connection.flatMap { lastStreams[$0] }
    }
}
