import Networking

extension ConformanceCase {
    /// Status lines, interim responses and responses that never have a body.
    static let statusLines: [Self] = finalStatuses + oddStatusLines + interimResponses + withoutBodies

    private static let finalStatuses: [Self] = [
        Self(
            "404 with a body",
            "RFC 9110 §15.5.5",
            "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope",
            .keepOpen,
            .response(status: 404, body: "nope")
        ),
        Self(
            "500 without a body",
            "RFC 9110 §15.6.1",
            "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
            .keepOpen,
            .response(status: 500, body: "")
        ),
        Self(
            "a redirect is returned",
            "RFC 9110 §15.4: the transport doesn't follow redirects",
            "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 4\r\n\r\nmove",
            .keepOpen,
            .response(status: 302, body: "move"),
            headers: ["Location": "/elsewhere", "Content-Length": "4"]
        ),
        Self(
            "401 with a Basic challenge",
            "RFC 9110 §15.5.2: the transport doesn't answer challenges",
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 4\r\n\r\nwho?",
            .keepOpen,
            .response(status: 401, body: "who?")
        ),
        Self(
            "an unknown status",
            "RFC 9110 §15: as x00 of its class",
            "HTTP/1.1 299 Odd\r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 299, body: "hello")
        ),
        Self(
            "a status beyond the classes",
            "RFC 9110 §15: as a 5xx",
            "HTTP/1.1 799 Odd\r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 799, body: "hello")
        ),
    ]

    private static let oddStatusLines: [Self] = [
        Self(
            "a status line without a reason",
            "RFC 9112 §4",
            "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            urlSession: .skipped("rejected by FoundationNetworking")
        ),
        Self(
            "a status line without a reason and without the space before it",
            "RFC 9112 §4",
            "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            urlSession: .skipped("rejected by FoundationNetworking")
        ),
        Self(
            "a reason with bytes that aren't ASCII",
            "RFC 9112 §4: obs-text, to be ignored",
            "HTTP/1.1 200 D'accord \u{E9}\r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            urlSession: .readsHeadersOtherwise
        ),
        Self(
            "HTTP/1.0",
            "RFC 9112 §6.3, 8",
            "HTTP/1.0 200 OK\r\n\r\nhello",
            .close,
            .response(status: 200, body: "hello")
        ),
        Self(
            "HTTP/1.0 with a length and keep-alive",
            "RFC 9112 §C.2.2",
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello")
        ),
        Self(
            "an unsupported major version",
            "RFC 9110 §2.5",
            "HTTP/3.0 200 OK\r\nContent-Length: 0\r\n\r\n",
            .close,
            .failure(.invalidResponse),
            urlSession: .skipped("accepted by libcurl 8.23, and FoundationNetworking hides the version")
        ),
        Self(
            "a later minor version",
            "RFC 9110 §2.5",
            "HTTP/1.9 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            .close,
            .failure(.invalidResponse),
            urlSession: .readsHeadersOtherwise
        ),
        Self(
            "a status of two digits",
            "RFC 9112 §4",
            "HTTP/1.1 20 OK\r\n\r\n",
            .close,
            .failure(.invalidResponse),
            urlSession: .endsProcess
        ),
        Self(
            "a status of four digits",
            "RFC 9112 §4",
            "HTTP/1.1 2000 OK\r\n\r\n",
            .close,
            .failure(.invalidResponse),
            urlSession: .endsProcess
        ),
        Self(
            "a status below 100",
            "RFC 9110 §15",
            "HTTP/1.1 099 Low\r\n\r\n",
            .close,
            .failure(.invalidResponse),
            urlSession: .endsProcess
        ),
        Self(
            "a status that isn't a number",
            "RFC 9112 §4",
            "HTTP/1.1 OK\r\n\r\n",
            .close,
            .failure(.invalidResponse),
            urlSession: .endsProcess
        ),
        Self(
            "HTTP in lowercase",
            "RFC 9112 §2.3",
            "http/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            .close,
            .failure(.invalidResponse),
            urlSession: .skipped("accepted by FoundationNetworking")
        ),
        Self("HTTP/0.9", "RFC 9110 §2.5: not supported", "<html>hello</html>", .close, .failure(.invalidResponse)),
        Self(
            "garbage instead of HTTP",
            "RFC 9112 §2.1",
            "\u{0}\u{1}garbage\r\n\r\n",
            .close,
            .failure(.invalidResponse)
        ),
        Self("another protocol", "RFC 9112 §2.1", "SSH-2.0-OpenSSH_9.2\r\n", .close, .failure(.invalidResponse)),
        Self(
            "unexpected TLS",
            "RFC 9112 §2.1",
            "\u{15}\u{3}\u{1}\u{0}\u{2}\u{2}\u{50}",
            .close,
            .failure(.invalidResponse)
        ),
        Self(
            "an empty line before the status line",
            "RFC 9112 §2.2: only servers skip it",
            "\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            .close,
            .failure(.invalidResponse)
        ),
    ]

    private static let interimResponses: [Self] = [
        Self(
            "103 before the final response",
            "RFC 9110 §15.2",
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            headers: ["Content-Length": "5"]
        ),
        Self(
            "100 without Expect",
            "RFC 9110 §15.2.1",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            headers: ["Content-Length": "5"]
        ),
        Self(
            "several kinds of interim responses, byte by byte",
            "RFC 9110 §15.2",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nX: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nX: 2\r\n\r\n"
                + "HTTP/1.1 199 Odd\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            pace: .octetByOctet,
            headers: ["Content-Length": "5"]
        ),
        Self(
            "a hundred interim responses",
            "RFC 9110 §15.2",
            String(repeating: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", count: 100)
                + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            headers: ["Content-Length": "5"]
        ),
        Self(
            "interim responses over the header limit",
            "a limit of the transport: 256 KiB of header",
            String(repeating: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", count: 10_000),
            .close,
            .failure(.invalidResponse),
            urlSession: .endsProcess
        ),
        Self(
            "an interim response with a length, which is ignored",
            "RFC 9112 §6.3, 1",
            "HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            headers: ["Content-Length": "5"]
        ),
        Self(
            "an unrequested switch of protocols",
            "RFC 9110 §15.2.2",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhello",
            .close,
            .failure(.invalidResponse),
            urlSession: .endsProcess
        ),
        Self(
            "a switch of protocols on a connection that stays open",
            "RFC 9110 §15.2.2",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
            .keepOpen,
            .failure(.invalidResponse),
            urlSession: .endsProcess
        ),
        Self(
            "only an interim response",
            "RFC 9110 §15.2",
            "HTTP/1.1 100 Continue\r\n\r\n",
            .close,
            .failure(.connectionLost),
            urlSession: .endsProcess
        ),
    ]

    private static let withoutBodies: [Self] = [
        Self(
            "204 without a body",
            "RFC 9112 §6.3, 1",
            "HTTP/1.1 204 No Content\r\n\r\n",
            .keepOpen,
            .response(status: 204, body: "")
        ),
        Self(
            "204 with Content-Length",
            "RFC 9112 §6.3, 1",
            "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
            .keepOpen,
            .response(status: 204, body: "")
        ),
        Self(
            "204 with Transfer-Encoding",
            "RFC 9112 §6.3, 1",
            "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
            .keepOpen,
            .response(status: 204, body: "")
        ),
        Self(
            "304 with Content-Length",
            "RFC 9112 §6.3, 1",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nEtag: \"1\"\r\n\r\n",
            .keepOpen,
            .response(status: 304, body: ""),
            headers: ["Content-Length": "5", "Etag": "\"1\""]
        ),
        Self(
            "304 with a content coding",
            "RFC 9112 §6.3, 1",
            "HTTP/1.1 304 Not Modified\r\nContent-Encoding: gzip\r\n\r\n",
            .keepOpen,
            .response(status: 304, body: "")
        ),
        Self(
            "HEAD with Content-Length and Content-Encoding",
            "RFC 9112 §6.3, 1",
            method: .head,
            "HTTP/1.1 200 OK\r\nContent-Length: 500\r\nContent-Encoding: gzip\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: ""),
            headers: ["Content-Length": "500", "Content-Encoding": "gzip"]
        ),
        Self(
            "HEAD with Transfer-Encoding",
            "RFC 9112 §6.3, 1",
            method: .head,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: ""),
            headers: ["Transfer-Encoding": "chunked"]
        ),
        Self(
            "HEAD with a Content-Length over the limit, without a body",
            "RFC 9110 §9.3.2",
            method: .head,
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: "")
        ),
    ]
}
