public import Foundation
import Networking
import Synchronization
import SystemIO

/// A writer for the body of a streamed response.
public final class LoopbackBodyWriter: Sendable {
    private let channel: ResponseChannel
    private let isChunked: Bool
    private let octets = Mutex(0)

    init(channel: ResponseChannel, isChunked: Bool) {
        self.channel = channel
        self.isChunked = isChunked
    }

    var octetCount: Int { octets.withLock { $0 } }

    /// Writes a part of the body, as one chunk if the body is chunked, and waits until the kernel
    /// has accepted it.
    ///
    /// An empty part writes nothing.
    ///
    /// - Parameter bytes: The part.
    /// - Throws: ``MockError`` with the code `connectionClosed` if the client or the server closed
    ///   the connection.
    public func write(_ bytes: Data) async throws {
        guard !bytes.isEmpty else { return }
        octets.withLock { $0 += bytes.count }
        guard isChunked else { return try await channel.send(bytes) }
        var chunk = Data("\(String(bytes.count, radix: 16))\r\n".utf8)
        chunk.append(bytes)
        chunk.append(contentsOf: "\r\n".utf8)
        try await channel.send(chunk)
    }

    /// Writes a part of the body as UTF-8 text.
    ///
    /// - Parameter text: The part.
    /// - Throws: ``MockError`` with the code `connectionClosed` if the client or the server closed
    ///   the connection.
    public func write(_ text: String) async throws { try await write(Data(text.utf8)) }
}

struct Exchange: Sendable {
    @TaskLocal static var enclosing: [ObjectIdentifier] = []

    let id: ExchangeID
    let request: LoopbackRequest
    let keepsAlive: Bool
    let mailbox: Mailbox<LoopCommand>
    let state: Watched<ServerState>
    let time: TimeSource

    func run(_ handler: LoopbackServer.Handler) async {
        await Self.$enclosing.withValue(Self.enclosing + [ObjectIdentifier(state)]) {
            await write(response(from: handler))
        }
        mailbox.post(.ended(id))
        state.update { $0.runningHandlers -= 1 }
    }

    /// Records a handler's error, unless it was caused by stopping the server or by a client that
    /// disconnects.
    func note(_ error: any Error) {
        if error is CancellationError, Task.isCancelled { return }
        if let error = error as? MockError, error.code == .connectionClosed { return }
        state.update { $0.handlerErrors.append(error) }
    }

    private func response(from handler: LoopbackServer.Handler) async -> LoopbackResponse {
        do {
            return try await handler(request)
        } catch {
            note(error)
            return .text("the handler failed with \(type(of: error))\n", status: 500)
        }
    }

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

final class ResponseChannel: Sendable {
    private let exchange: Exchange
    private let budget = Mutex<(octets: Int, ending: ResponseEnding)?>(nil)
    private let closing: ResponseEnding

    init(_ exchange: Exchange, truncates: Bool) {
        self.exchange = exchange
        closing = truncates ? .truncate : .close
    }

    func limit(to cut: LoopbackResponse.Cut?, headSize: Int) {
        guard let cut else { return }
        let octets =
            switch cut.point {
            case .beforeHead: 0
            case .afterHead: headSize
            case .afterBody(let count): headSize + count
            case .after(let count): count
            }
        budget.withLock { $0 = (max(octets, 0), cut.resets ? .reset : .close) }
    }

    func send(_ bytes: Data) async throws {
        let (admitted, ending) = admit(bytes)
        try await exchange.mailbox.send(exchange.id, admitted)
        if let ending {
            post(Data(), ending)
            throw MockError.connectionEnded
        }
    }

    func finish(_ bytes: Data, _ ending: ResponseEnding) {
        let (admitted, cutEnding) = admit(bytes)
        // A response that's shorter than the cut also ends there.
        post(admitted, cutEnding ?? budget.withLock { $0?.ending } ?? ending)
    }

    func abandon() { post(Data(), .close) }

    private func post(_ bytes: Data, _ ending: ResponseEnding) {
        let ending = if case .close = ending { closing } else { ending }
        exchange.mailbox.post(.send(exchange.id, bytes, ending: ending, nil))
    }

    private func admit(_ bytes: Data) -> (Data, ResponseEnding?) {
        budget.withLock { budget in
            guard let (octets, ending) = budget else { return (bytes, nil) }
            guard bytes.count >= octets else {
                budget?.octets -= bytes.count
                return (bytes, nil)
            }
            budget?.octets = 0
            return (bytes.prefix(octets), ending)
        }
    }
}

enum ResponseHead {
    static func bytes(_ status: Int, _ reason: String?, _ headers: HTTPHeaders) -> Data {
        var text = "HTTP/1.1 \(status) \(reason ?? reasons[status] ?? "")\r\n"
        for field in headers { text += "\(field.name): \(field.value)\r\n" }
        return Data((text + "\r\n").utf8)
    }

    static func farewell(_ status: Int, _ text: String = "") -> Data {
        let body = text.isEmpty ? "" : text + "\n"
        let headers: HTTPHeaders = [
            "Content-Type": "text/plain; charset=utf-8", "Content-Length": "\(body.utf8.count)", "Connection": "close",
        ]
        return bytes(status, nil, headers) + Data(body.utf8)
    }

    /// The reason phrases of [RFC 9110 §15](https://www.rfc-editor.org/rfc/rfc9110#section-15).
    private static let reasons: [Int: String] = [
        100: "Continue", 101: "Switching Protocols", 103: "Early Hints",
        200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
        205: "Reset Content", 206: "Partial Content",
        300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required",
        408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed",
        413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable",
        417: "Expectation Failed", 421: "Misdirected Request", 422: "Unprocessable Content", 425: "Too Early",
        426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
        431: "Request Header Fields Too Large",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout", 505: "HTTP Version Not Supported", 511: "Network Authentication Required",
    ]
}
