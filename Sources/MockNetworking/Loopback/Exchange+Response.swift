import Foundation
import Networking

extension Exchange {
    /// Writes the response, and tells the event loop how the connection continues.
    func write(_ response: LoopbackResponse) async {
        let channel = ResponseChannel(self, truncates: response.truncatesTLS)
        do {
            for pause in response.pausesBeforeHead { try await wait(pause) }
            switch response.content {
            case .silence:
                channel.finish(Data(), .silence)
            case .raw(let bytes):
                channel.limit(to: response.cut, headSize: 0)
                channel.finish(bytes, response.closesConnection ? .close : .keepAlive)
            case .data(let body):
                try await write(response, body, channel)
            case .stream(let length, let trailers, let produce):
                try await stream(response, length, trailers, produce, channel)
            }
        } catch {
            channel.abandon()
        }
    }

    private func write(_ response: LoopbackResponse, _ body: Data, _ channel: ResponseChannel) async throws {
        var headers = response.headers
        let framed = headers["Content-Length"] != nil || headers["Transfer-Encoding"] != nil
        if !framed, !hasNoContent(response.status) {
            headers.append(name: "Content-Length", value: "\(body.count)")
        }
        let sent = sendsBody(response) ? body : Data()
        // A response with too large a Content-Length simulates a broken server, so the connection
        // closes instead of waiting.
        let isShort = sendsBody(response) && (headers["Content-Length"].flatMap { Int($0) } ?? 0) > body.count
        let ending = frame(&headers, response, mustClose: isShort)
        let head = begin(response, headers, channel)
        if response.pausesBeforeBody.isEmpty {
            channel.finish(head + sent, ending)
        } else {
            try await channel.send(head)
            for pause in response.pausesBeforeBody { try await wait(pause) }
            channel.finish(sent, ending)
        }
    }

    private func stream(
        _ response: LoopbackResponse,
        _ length: Int?,
        _ trailers: HTTPHeaders,
        _ produce: @Sendable (LoopbackBodyWriter) async throws -> Void,
        _ channel: ResponseChannel
    ) async throws {
        var headers = response.headers
        if let length, headers["Content-Length"] == nil {
            headers.append(name: "Content-Length", value: "\(length)")
        }
        let announced = headers["Content-Length"].flatMap { Int($0) }
        let isChunked = announced == nil && request.version == "HTTP/1.1"
        if isChunked, headers["Transfer-Encoding"] == nil, !hasNoContent(response.status) {
            headers.append(name: "Transfer-Encoding", value: "chunked")
        }
        var ending = frame(&headers, response, mustClose: announced == nil && !isChunked)
        let head = begin(response, headers, channel)
        guard sendsBody(response) else { return channel.finish(head, ending) }
        try await channel.send(head)
        for pause in response.pausesBeforeBody { try await wait(pause) }
        let writer = LoopbackBodyWriter(channel: channel, isChunked: isChunked)
        do {
            try await produce(writer)
        } catch {
            note(error)
            throw error
        }
        var end = Data()
        if isChunked {
            end.append(contentsOf: "0\r\n".utf8)
            for field in trailers { end.append(contentsOf: "\(field.name): \(field.value)\r\n".utf8) }
            end.append(contentsOf: "\r\n".utf8)
        } else if let announced, writer.octetCount != announced {
            ending = .close
        }
        channel.finish(end, ending)
    }

    /// Returns the interim heads and the head, and applies the cut from here on.
    private func begin(_ response: LoopbackResponse, _ headers: HTTPHeaders, _ channel: ResponseChannel) -> Data {
        let interim = response.interim.reduce(into: Data()) {
            $0.append(ResponseHead.bytes($1.status, nil, $1.headers))
        }
        let head = interim + ResponseHead.bytes(response.status, response.reason, headers)
        channel.limit(to: response.cut, headSize: head.count)
        return head
    }

    /// Adds the `Connection` header field and returns the connection's ending.
    private func frame(_ headers: inout HTTPHeaders, _ response: LoopbackResponse, mustClose: Bool) -> ResponseEnding {
        guard response.cut == nil else { return .close }
        let options = headers.values(for: "Connection").flatMap { $0.split(separator: ",") }
        let saysClose = options.contains { $0.trimmingCharacters(in: .whitespaces).equalsIgnoringASCIICase("close") }
        let closes = mustClose || saysClose || response.closesConnection || !keepsAlive
        if options.isEmpty {
            if closes {
                headers.append(name: "Connection", value: "close")
            } else if request.version == "HTTP/1.0" {
                headers.append(name: "Connection", value: "keep-alive")
            }
        }
        return closes ? .close : .keepAlive
    }

    private func wait(_ pause: ResponsePause) async throws {
        switch pause {
        case .delay(let duration): try await time.sleep(duration)
        case .gate(let gate): try await gate.wait()
        }
    }

    /// Returns whether the response may have a body
    /// ([RFC 9112 §6.3](https://www.rfc-editor.org/rfc/rfc9112#section-6.3)).
    private func sendsBody(_ response: LoopbackResponse) -> Bool {
        request.method != .head && !hasNoContent(response.status)
    }

    private func hasNoContent(_ status: Int) -> Bool {
        (100...199).contains(status) || status == 204 || status == 304
            || (request.method == .connect && (200...299).contains(status))
    }
}
