import Networking

extension ConformanceCase {
    private static let gzippedHello =
        "\u{1F}\u{8B}\u{08}\u{00}\u{00}\u{00}\u{00}\u{00}\u{02}\u{03}\u{CB}\u{48}\u{CD}\u{C9}\u{C9}\u{07}\u{00}\u{86}\u{A6}"
        + "\u{10}\u{36}\u{05}\u{00}\u{00}\u{00}"

    static let all: [Self] = wellFormed + oddButAccepted + cutOff + malformed

    private static let wellFormed: [Self] = [
        Self(
            "200 with a body",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Y: z\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            headers: ["Content-Length": "5", "X-Y": "z"]
        ),
        Self("204 without a body", "HTTP/1.1 204 No Content\r\n\r\n", .keepOpen, .response(status: 204, body: "")),
        Self(
            "204 with Content-Length",
            "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
            .keepOpen,
            .response(status: 204, body: "")
        ),
        Self(
            "304 with Content-Length",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nEtag: \"1\"\r\n\r\n",
            .keepOpen,
            .response(status: 304, body: ""),
            headers: ["Content-Length": "5", "Etag": "\"1\""]
        ),
        Self(
            "404 with a body",
            "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope",
            .keepOpen,
            .response(status: 404, body: "nope")
        ),
        Self(
            "500 without a body",
            "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
            .keepOpen,
            .response(status: 500, body: "")
        ),
        Self(
            "HEAD with Content-Length and Content-Encoding",
            method: .head,
            "HTTP/1.1 200 OK\r\nContent-Length: 500\r\nContent-Encoding: gzip\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: ""),
            headers: ["Content-Length": "500", "Content-Encoding": "gzip"]
        ),
        Self(
            "a redirect is returned",
            "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 4\r\n\r\nmove",
            .keepOpen,
            .response(status: 302, body: "move"),
            headers: ["Location": "/elsewhere", "Content-Length": "4"]
        ),
        Self(
            "401 with a Basic challenge",
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 4\r\n\r\nwho?",
            .keepOpen,
            .response(status: 401, body: "who?")
        ),
        Self(
            "chunked, with an extension",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: "hello")
        ),
        Self(
            "chunked, with trailers, which are no header fields",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: "hello"),
            headers: ["Transfer-Encoding": "chunked"],
            urlSession: .skipped("trailers end the process: swift-corelibs-foundation #5285")
        ),
        Self(
            "1xx before the final response",
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            headers: ["Content-Length": "5"]
        ),
        Self(
            "a body that ends with the connection",
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
            .close,
            .response(status: 200, body: "hello")
        ),
        Self(
            "a gzip body, decoded, with the fields of the coding removed",
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 25\r\nX-Y: z\r\n\r\n" + gzippedHello,
            .keepOpen,
            .response(status: 200, body: "hello"),
            headers: ["X-Y": "z"]
        ),
        Self(
            "HTTP/1.0",
            "HTTP/1.0 200 OK\r\n\r\nhello",
            .close,
            .response(status: 200, body: "hello")
        ),
    ]

    private static let oddButAccepted: [Self] = [
        Self(
            "repeated fields keep their order",
            "HTTP/1.1 200 OK\r\nSet-Cookie: b=1\r\nX: 1\r\nSet-Cookie: a=2\r\nContent-Length: 0\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: ""),
            headers: ["Set-Cookie": "b=1", "X": "1", "Set-Cookie": "a=2", "Content-Length": "0"],
            urlSession: .skipped("order and repetition are lost")
        ),
        Self(
            "a folded field is one field",
            "HTTP/1.1 200 OK\r\nX-Long: one\r\n  two\r\nContent-Length: 0\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: ""),
            headers: ["X-Long": "one two", "Content-Length": "0"],
            urlSession: .skipped("how a folded field arrives is not defined")
        ),
        Self(
            "a field without a space after the colon",
            "HTTP/1.1 200 OK\r\nX:y\r\nContent-Length: 0\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: ""),
            headers: ["X": "y", "Content-Length": "0"],
            urlSession: .skipped("refused: swift-corelibs-foundation #5527")
        ),
        Self(
            "a field with a Latin-1 octet",
            "HTTP/1.1 200 OK\r\nX: caf\u{E9}\r\nContent-Length: 0\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: ""),
            headers: ["X": "café", "Content-Length": "0"],
            urlSession: .skipped("refused: octets must be UTF-8")
        ),
        Self(
            "a status line without a reason",
            "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            urlSession: .skipped("refused by FoundationNetworking")
        ),
        Self(
            "lines that end in LF only",
            "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            urlSession: .skipped("refused by FoundationNetworking")
        ),
    ]

    private static let cutOff: [Self] = [
        Self("closed before any octet", "", .close, .failure(.connectionLost)),
        Self("reset before any octet", "", .reset, .failure(.connectionLost)),
        Self(
            "closed within the header",
            "HTTP/1.1 200 OK\r\nX: ",
            .close,
            .failure(.connectionLost),
            urlSession: .skipped("a cut header ends the process: swift-corelibs-foundation #5285")
        ),
        Self(
            "a body shorter than Content-Length",
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
            .close,
            .failure(.connectionLost)
        ),
        Self(
            "a chunked body without its end",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            .close,
            .failure(.connectionLost)
        ),
        Self(
            "a larger body than accepted, with Content-Length",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .failure(.bodyTooLarge),
            maximumBodySize: 4
        ),
        Self(
            "a larger body than accepted, without Content-Length",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
            .keepOpen,
            .failure(.bodyTooLarge),
            maximumBodySize: 4
        ),
        Self(
            "a larger body than accepted once decoded",
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 25\r\n\r\n" + gzippedHello,
            .keepOpen,
            .failure(.bodyTooLarge),
            maximumBodySize: 4
        ),
        Self(
            "a body exactly as large as accepted",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            maximumBodySize: 5
        ),
    ]

    private static let malformed: [Self] = [
        Self("garbage instead of HTTP", "\u{0}\u{1}garbage\r\n\r\n", .close, .failure(.invalidResponse)),
        Self("HTTP/0.9", "<html>hello</html>", .close, .failure(.invalidResponse)),
        Self("another protocol", "SSH-2.0-OpenSSH_9.2\r\n", .close, .failure(.invalidResponse)),
        Self(
            "a chunk size that is no number",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nhello\r\n",
            .close,
            .failure(.invalidResponse)
        ),
        Self(
            "a gzip body that is none",
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
            .close,
            .failure(.invalidResponse),
            urlSession: .skipped("reported as unknown, without a cause that can be told apart")
        ),
        Self(
            "an unknown content coding",
            "HTTP/1.1 200 OK\r\nContent-Encoding: rot13\r\nContent-Length: 5\r\n\r\nuryyb",
            .close,
            .failure(.invalidResponse),
            urlSession: .skipped("reported as unknown, without a cause that can be told apart")
        ),
        Self(
            "a header line without a colon",
            "HTTP/1.1 200 OK\r\nnonsense\r\nContent-Length: 0\r\n\r\n",
            .close,
            .failure(.invalidResponse),
            urlSession: .skipped("what FoundationNetworking makes of it is not defined")
        ),
        Self(
            "a header of more than 256 KiB",
            "HTTP/1.1 200 OK\r\n" + String(repeating: "X-Flood: 0123456789\r\n", count: 14_000) + "\r\n",
            .close,
            .failure(.invalidResponse),
            urlSession: .skipped("its header parser takes quadratic time")
        ),
        Self(
            "a switch of protocols that nobody asked for",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhello",
            .close,
            .failure(.invalidResponse),
            urlSession: .skipped("a missing final response ends the process: swift-corelibs-foundation #5285")
        ),
        Self(
            "only a 1xx response",
            "HTTP/1.1 100 Continue\r\n\r\n",
            .close,
            .failure(.connectionLost),
            urlSession: .skipped("a missing final response ends the process: swift-corelibs-foundation #5285")
        ),
    ]
}
