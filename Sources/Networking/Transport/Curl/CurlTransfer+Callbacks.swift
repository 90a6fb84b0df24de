import CCurl
import Foundation
internal import OpenSSLCrypto

// libcurl's callbacks for the response.
extension CurlTransfer {
    enum Reception {
        case taken
        /// The transfer must be aborted.
        case refused
        /// libcurl must keep the data and offer it again later.
        case heldBack
    }

    /// Returns `false` to abort the transfer; libcurl delivers the lines of the header or the
    /// trailers one by one, but all at once if it had to keep them.
    func receive(headerLines: Span<UInt8>) -> Bool {
        timing.receive(at: loopState.now)
        exchange.note(.receiving)
        loopState.receiveUseful(at: handle?.socket)
        var start = 0
        while start < headerLines.count {
            var end = start
            while end < headerLines.count, headerLines[end] != UInt8(ascii: "\n") { end += 1 }
            end = min(end + 1, headerLines.count)
            guard receive(headerLine: headerLines.extracting(start..<end)) else { return false }
            start = end
        }
        return true
    }

    private func receive(headerLine: Span<UInt8>) -> Bool {
        let isComplete: Bool
        do throws(NetworkError) {
            isComplete = try head.read(line: headerLine)
        } catch {
            failure = NetworkError(error.code, "\(origin): \(error.message)")
            return false
        }
        if isComplete {
            readFraming()
            observation?.receiveHead(status: head.status, handle)
            if traffic == .held || mayBeAnsweredEarly { loopState.touch(self) }
        }
        return true
    }

    func receive(octets: UnsafeBufferPointer<UInt8>) -> Reception {
        timing.receive(at: loopState.now)
        loopState.receiveUseful(at: handle?.socket)
        guard acceptsRedirect(octets.count) else { return .refused }
        let reception = unsafe reception(of: octets)
        switch reception {
        case .taken: downloadPace?.spend(octets.count, at: loopState.now)
        case .heldBack:
            isReceivingPaused = true
            // libcurl 8.5 keeps up to a window of data until it may deliver them.
            if stream != nil { loopState.useless.expectRest(at: handle?.socket) }
        default: break
        }
        return reception
    }

    private func reception(of octets: UnsafeBufferPointer<UInt8>) -> Reception {
        guard isDue(downloadPace), takesPart(octets.count) else { return .heldBack }
        guard !isDecoded else { return unsafe receive(coded: octets) }
        let reception = unsafe take(octets)
        if case .taken = reception, observation != nil || isAnsweredEarly { loopState.touch(self) }
        return reception
    }

    /// The bytes are decoded.
    private func take(_ octets: UnsafeBufferPointer<UInt8>) -> Reception {
        guard accepts(octets.count) else { return .refused }
        guard unsafe keep(octets) else {
            heldBack.insert(.receiving)
            return .heldBack
        }
        receivedCount += octets.count
        return .taken
    }

    private func receive(coded octets: UnsafeBufferPointer<UInt8>) -> Reception {
        var reception = Reception.taken
        do throws(ContentDecoder.Defect) {
            if self.decoder == nil { self.decoder = try ContentDecoder(codings) }
            guard let decoder else { return .refused }
            let goesOn = { (count: Int) in
                if !self.takesPart(count) { reception = .heldBack }
                return reception == .taken
            }
            _ = try unsafe decoder.decode(octets, goesOn: goesOn) { part in
                reception = unsafe goesOn(part.count) ? take(part) : .heldBack
                return reception == .taken
            }
        } catch {
            guard cutTime == nil else {
                isCut = true
                return .refused
            }
            let code = [.expanding, .window].contains(error) ? NetworkError.Code.bodyTooLarge : .invalidResponse
            failure = NetworkError(code, "the body from \(origin) can't be decoded: \(words(for: error))")
            return .refused
        }
        if observation != nil || isAnsweredEarly { loopState.touch(self) }
        return reception
    }

    private func words(for defect: ContentDecoder.Defect) -> String {
        let names = codings.map { $0.prefix(20) }.joined(separator: ", ")
        return switch defect {
        case .unknownCoding:
            "its content coding (\(names)) isn't one of \(ContentDecoder.acceptedCodings), or more than two of them"
        case .expanding: "its content codings (\(names)) expand to much more than the bytes received"
        case .window:
            "its content coding (\(names)) needs a window of more than 4 MiB; send “Accept-Encoding: gzip” to get another coding"
        case .malformed: "its data doesn't match its content coding (\(names))"
        }
    }

    private func accepts(_ count: Int) -> Bool {
        let limit = exchange.limits.maximumBodySize
        let announced = receivedCount == 0 && !isDecoded ? declaredSize ?? 0 : 0
        guard max(receivedCount + count, announced) <= limit else {
            failure = .tooLarge(origin, limit)
            return false
        }
        guard isDecoded, let most = configuration.maximumExpansion, receivedCount + count > 1 << 20 else { return true }
        // A decoder may hold back some of its input.
        let wireCount = (decoder?.inputCount ?? 0) + 16 << 10
        guard receivedCount + count > wireCount * most else { return true }
        failure = NetworkError(
            .bodyTooLarge,
            "the response body from \(origin) decodes to more than \(most) times its size (maximumExpansion)"
        )
        return false
    }
}

// libcurl's callbacks for the request.
extension CurlTransfer {
    enum Supply {
        /// 0 at the end of the body.
        case octets(Int)
        case heldBack
        /// The transfer must be aborted.
        case refused
    }

    func copyBody(to buffer: UnsafeMutableRawBufferPointer) -> Supply {
        timing.move(at: loopState.now)
        guard let upload else { return unsafe .octets(copyHeldBody(to: buffer)) }
        guard isDue(uploadPace) else { return .heldBack }
        switch unsafe upload.read(into: buffer) {
        case .octets(let count, let isLast):
            uploadPace?.spend(count, at: loopState.now)
            observation?.send(upload.givenCount)
            if isLast { bodyIsSent() }
            return .octets(count)
        case .nothingYet:
            heldBack.insert(.sending)
            return .heldBack
        case .failed(let error):
            failure = NetworkError(error.code, "\(origin): \(error.message)", cause: error.cause)
            return .refused
        }
    }

    private func copyHeldBody(to buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard case .held(let body) = request.body else { return 0 }
        let count = min(buffer.count, body.count - bodyPosition)
        let start = body.startIndex + bodyPosition
        let copied = unsafe body.copyBytes(to: buffer, from: start..<(start + count))
        bodyPosition += copied
        observation?.send(bodyPosition)
        if bodyPosition == body.count { bodyIsSent() }
        return copied
    }

    private func bodyIsSent() {
        timing.requestSent = loopState.now
        if hasTimeouts { loopState.touch(self) }
    }

    func seekBody(to offset: Int64) -> Bool {
        if let upload { return offset == 0 && upload.rewind() }
        guard case .held(let body) = request.body, let position = Int(exactly: offset),
            (0...body.count).contains(position)
        else { return false }
        bodyPosition = position
        return true
    }

    /// Decides whether to send the request on a connection.
    ///
    /// libcurl resends a request that the server refused to process. Unless told otherwise, it also
    /// resends a request whose kept connection ended before the response began. The peer may have
    /// processed the latter, so that's correct only for an idempotent method, and both require that
    /// the body is still available. libcurl also repeats a request without its `Expect` field after
    /// a 417, which is up to the caller.
    func beginRequest(on connection: CurlConnectionName?) -> Bool {
        requestCount += 1
        exchange.note(.sent)
        // A pause on an earlier connection doesn't apply to this one.
        heldBack = []
        isReadingOver = false
        timing.begin(at: loopState.now, isWhole: !request.body.isReadWhileSent)
        if hasTimeouts { loopState.touch(self) }
        observation?.connect(handle)
        if requestCount > 1, !isUnprocessed { isInDoubt = true }
        (self.connection, stream, isRefused) = (connection, nil, false)
        if handle?.number(CCURL_INFO_NUM_CONNECTS) ?? 0 > connectionCount {
            connectionCount += 1
            if let connection { loopState.drains.forget(connection) }
            noteNewConnection()
        }
        guard requestCount > 1 else { return true }
        guard !head.isComplete else {
            isAnswered = true
            return false
        }
        guard !isInDoubt || request.method.isIdempotent, upload?.canBegin ?? true else {
            failure = .repetitionImpossible(origin)
            return false
        }
        return true
    }

    private func noteNewConnection() {
        let session = handshake?.session
        handle?.establish(session?.version)
        activity.update { state in
            state.openedConnections += 1
            if session != nil { state.handshakes += 1 }
            if session?.isResumed ?? false { state.resumedHandshakes += 1 }
        }
    }

    var tlsVersion: TLSProtocolVersion? {
        connectionCount > 0 ? handshake?.session?.version : handle?.connection?.version
    }
}

extension NetworkError {
    /// For a possibly processed request that must not, or can't, be sent again.
    static func repetitionImpossible(_ origin: HTTPOrigin) -> Self {
        Self(
            .connectionLost,
            "\(origin) closed the connection without a response; the request may have been processed"
        )
    }
}
