import Networking

extension ConformanceCase {
    static let statusLines: [Self] = finalStatuses + oddStatusLines + interimResponses + withoutBodies

    private static let finalStatuses: [Self] = [
        Self(
            "404 with a body",
            "RFC 9110 §15.5.5",
            "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope",
            .response(404, "nope")
        ),
        Self(
            "500 without a body",
            "RFC 9110 §15.6.1",
            "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
            .response(500, "")
        ),
        Self(
            "a redirect is returned",
            "RFC 9110 §15.4: the transport doesn't follow redirects",
            "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 4\r\n\r\nmove",
            .response(302, "move"),
            headers: ["Location": "/elsewhere", "Content-Length": "4"]
        ),
        Self(
            "401 with a Basic challenge",
            "RFC 9110 §15.5.2: the transport doesn't answer challenges",
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 4\r\n\r\nwho?",
            .response(401, "who?")
        ),
        Self(
            "an unknown status",
            "RFC 9110 §15: as x00 of its class",
            "HTTP/1.1 299 Odd\r\nContent-Length: 5\r\n\r\nhello",
            .response(299, "hello")
        ),
        Self(
            "a status beyond the classes",
            "RFC 9110 §15: as a 5xx",
            "HTTP/1.1 799 Odd\r\nContent-Length: 5\r\n\r\nhello",
            .response(799, "hello")
        ),
    ]

    private static let oddStatusLines: [Self] =
        [
            Self(
                "a status line without a reason",
                "RFC 9112 §4",
                "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello",
                urlSession: .isRejected
            ),
            Self(
                "a status line without a reason and without the space before it",
                "RFC 9112 §4",
                "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
                urlSession: .isRejected
            ),
            Self(
                "a reason with bytes that aren't ASCII",
                "RFC 9112 §4: obs-text, to be ignored",
                "HTTP/1.1 200 D'accord \u{E9}\r\nContent-Length: 5\r\n\r\nhello",
                urlSession: .readsHeadersOtherwise
            ),
            Self("HTTP/1.0", "RFC 9112 §6.3, 8", "HTTP/1.0 200 OK\r\n\r\nhello", ending: .close),
            Self(
                "HTTP/1.0 with a length and keep-alive",
                "RFC 9112 §C.2.2",
                "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello"
            ),
            Self(
                "an unsupported major version",
                "RFC 9110 §2.5",
                "HTTP/3.0 200 OK\r\nContent-Length: 0\r\n\r\n",
                .failure(.invalidResponse),
                ending: .close,
                urlSession: .skipped("accepted by libcurl 8.23, and FoundationNetworking hides the version")
            ),
            Self(
                "a later minor version",
                "RFC 9110 §2.5",
                "HTTP/1.9 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                .failure(.invalidResponse),
                ending: .close,
                urlSession: .readsHeadersOtherwise
            ),
            Self(
                "HTTP in lowercase",
                "RFC 9112 §2.3",
                "http/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                .failure(.invalidResponse),
                ending: .close,
                urlSession: .skipped("accepted by FoundationNetworking")
            ),
        ]
        + failing(
            .invalidResponse,
            urlSession: .endsProcess,
            [
                ("a status of two digits", "RFC 9112 §4", "HTTP/1.1 20 OK\r\n\r\n"),
                ("a status of four digits", "RFC 9112 §4", "HTTP/1.1 2000 OK\r\n\r\n"),
                ("a status below 100", "RFC 9110 §15", "HTTP/1.1 099 Low\r\n\r\n"),
                ("a status that isn't a number", "RFC 9112 §4", "HTTP/1.1 OK\r\n\r\n"),
            ]
        )
        + failing(
            .invalidResponse,
            [
                ("HTTP/0.9", "RFC 9110 §2.5: not supported", "<html>hello</html>"),
                ("garbage instead of HTTP", "RFC 9112 §2.1", "\u{0}\u{1}garbage\r\n\r\n"),
                ("another protocol", "RFC 9112 §2.1", "SSH-2.0-OpenSSH_9.2\r\n"),
                ("unexpected TLS", "RFC 9112 §2.1", "\u{15}\u{3}\u{1}\u{0}\u{2}\u{2}\u{50}"),
                (
                    "an empty line before the status line", "RFC 9112 §2.2: only servers skip it",
                    "\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
                ),
            ]
        )

    private static let interimResponses: [Self] =
        [
            Self(
                "103 before the final response",
                "RFC 9110 §15.2",
                "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                headers: ["Content-Length": "5"]
            ),
            Self(
                "100 without Expect",
                "RFC 9110 §15.2.1",
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                headers: ["Content-Length": "5"]
            ),
            Self(
                "several kinds of interim responses, byte by byte",
                "RFC 9110 §15.2",
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nX: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nX: 2\r\n\r\n"
                    + "HTTP/1.1 199 Odd\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                pace: .octetByOctet,
                headers: ["Content-Length": "5"]
            ),
            Self(
                "a hundred interim responses",
                "RFC 9110 §15.2",
                String(repeating: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", count: 100)
                    + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                headers: ["Content-Length": "5"]
            ),
            Self(
                "an interim response with a length, which is ignored",
                "RFC 9112 §6.3, 1",
                "HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                headers: ["Content-Length": "5"]
            ),
            Self(
                "a switch of protocols on a connection that stays open",
                "RFC 9110 §15.2.2",
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
                .failure(.invalidResponse),
                urlSession: .endsProcess
            ),
            Self(
                "only an interim response",
                "RFC 9110 §15.2",
                "HTTP/1.1 100 Continue\r\n\r\n",
                .failure(.connectionLost),
                ending: .close,
                urlSession: .endsProcess
            ),
        ]
        + failing(
            .invalidResponse,
            urlSession: .endsProcess,
            [
                (
                    "interim responses over the header limit", "a limit of the transport: 256 KiB of header",
                    String(repeating: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", count: 10_000)
                ),
                (
                    "an unrequested switch of protocols", "RFC 9110 §15.2.2",
                    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhello"
                ),
            ]
        )

    private static let withoutBodies: [Self] = [
        Self("204 without a body", "RFC 9112 §6.3, 1", "HTTP/1.1 204 No Content\r\n\r\n", .response(204, "")),
        Self(
            "204 with Content-Length",
            "RFC 9112 §6.3, 1",
            "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
            .response(204, "")
        ),
        Self(
            "204 with Transfer-Encoding",
            "RFC 9112 §6.3, 1",
            "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
            .response(204, "")
        ),
        Self(
            "304 with Content-Length",
            "RFC 9112 §6.3, 1",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nEtag: \"1\"\r\n\r\n",
            .response(304, ""),
            headers: ["Content-Length": "5", "Etag": "\"1\""]
        ),
        Self(
            "304 with a content coding",
            "RFC 9112 §6.3, 1",
            "HTTP/1.1 304 Not Modified\r\nContent-Encoding: gzip\r\n\r\n",
            .response(304, "")
        ),
        Self(
            "HEAD with Content-Length and Content-Encoding",
            "RFC 9112 §6.3, 1",
            ok("Content-Length: 500\r\nContent-Encoding: gzip"),
            .body(""),
            method: .head,
            headers: ["Content-Length": "500", "Content-Encoding": "gzip"]
        ),
        Self(
            "HEAD with Transfer-Encoding",
            "RFC 9112 §6.3, 1",
            ok("Transfer-Encoding: chunked"),
            .body(""),
            method: .head,
            headers: ["Transfer-Encoding": "chunked"]
        ),
        Self(
            "HEAD with a Content-Length over the limit, without a body",
            "RFC 9110 §9.3.2",
            ok("Content-Length: 99999999999"),
            .body(""),
            method: .head
        ),
    ]

    static let fields: [Self] =
        [
            Self(
                "200 with a body",
                "RFC 9112 §2.1",
                ok("Content-Length: 5\r\nX-Y: z", "hello"),
                headers: ["Content-Length": "5", "X-Y": "z"]
            ),
            Self(
                "200 with a body, byte by byte",
                "RFC 9112 §2.2",
                ok("Content-Length: 5\r\nX-Y: z", "hello"),
                pace: .octetByOctet,
                headers: ["Content-Length": "5", "X-Y": "z"]
            ),
            Self(
                "repeated fields keep their order",
                "RFC 9110 §5.3",
                ok("Set-Cookie: b=1\r\nX: 1\r\nSet-Cookie: a=2\r\nx: 2\r\nContent-Length: 0"),
                .body(""),
                headers: ["Set-Cookie": "b=1", "X": "1", "Set-Cookie": "a=2", "x": "2", "Content-Length": "0"],
                urlSession: .skipped("order and repetition are lost")
            ),
            Self(
                "a folded field is one field",
                "RFC 9112 §5.2",
                ok("X-Long: one\r\n  two\r\n\tthree\r\nContent-Length: 0"),
                .body(""),
                headers: ["X-Long": "one two three", "Content-Length": "0"],
                urlSession: .skipped("the handling of folded fields isn't defined")
            ),
            Self(
                "a field without a space after the colon, and with several around the value",
                "RFC 9112 §5.1",
                ok("X:y\r\nZ: \t v  \r\nContent-Length: 0"),
                .body(""),
                headers: ["X": "y", "Z": "v", "Content-Length": "0"],
                urlSession: .skipped("rejected: swift-corelibs-foundation #5527")
            ),
            Self(
                "an empty field",
                "RFC 9110 §5.5",
                ok("X:\r\nY: \r\nContent-Length: 0"),
                .body(""),
                headers: ["X": "", "Y": "", "Content-Length": "0"],
                urlSession: .readsHeadersOtherwise
            ),
            Self(
                "a field with a Latin-1 byte",
                "RFC 9110 §5.5: obs-text",
                ok("X: caf\u{E9}\r\nContent-Length: 0"),
                .body(""),
                headers: ["X": "café", "Content-Length": "0"],
                urlSession: .skipped("rejected: bytes must be UTF-8")
            ),
            Self(
                "a field in UTF-8",
                "RFC 9110 §5.5: obs-text",
                ok("X: caf\u{C3}\u{A9}\r\nContent-Length: 0"),
                .body(""),
                headers: ["X": "café", "Content-Length": "0"]
            ),
            Self(
                "lines that end with LF only",
                "RFC 9112 §2.2",
                "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
                urlSession: .isRejected
            ),
            Self(
                "4,000 fields",
                "RFC 9110 §5.4: any number",
                "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 4000) + "Content-Length: 5\r\n\r\nhello",
                urlSession: .takesQuadraticTime
            ),
            Self(
                "a field of 90 KiB",
                "RFC 9110 §5.4: any size",
                "HTTP/1.1 200 OK\r\nX: " + String(repeating: "0123456789", count: 9216)
                    + "\r\nContent-Length: 5\r\n\r\nhello",
                urlSession: .takesQuadraticTime
            ),
        ]
        + failing(
            .invalidResponse,
            [
                ("a NUL in a field", "RFC 9110 §5.5", ok("X: a\u{0}b\r\nContent-Length: 0")),
                ("a NUL in the status line", "RFC 9110 §5.5", "HTTP/1.1 200 O\u{0}K\r\nContent-Length: 0\r\n\r\n"),
            ]
        )
        + failing(
            .invalidResponse,
            urlSession: .readsHeadersOtherwise,
            [
                ("a CR within a field", "RFC 9110 §5.5", ok("X: a\rSet-Cookie: b=1\r\nContent-Length: 0")),
                ("a header line without a colon", "RFC 9112 §5", ok("nonsense\r\nContent-Length: 0")),
                ("a field without a name", "RFC 9112 §5", ok(": nonsense\r\nContent-Length: 0")),
                ("a space before the colon", "RFC 9112 §5.1", ok("Content-Length : 3", "hello")),
                ("a name that isn't a token", "RFC 9110 §5.1", ok("X Y: 3\r\nContent-Length: 0")),
                ("a folded first line", "RFC 9112 §2.2", ok(" X: y\r\nContent-Length: 0")),
            ]
        )
        + failing(
            .invalidResponse,
            urlSession: .takesQuadraticTime,
            [
                (
                    "12,000 fields", "a limit of the transport: 5000 fields",
                    "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 12_000)
                        + "Content-Length: 5\r\n\r\nhello"
                ),
                (
                    "a field of 400 KiB", "a limit of the transport: 256 KiB of header",
                    "HTTP/1.1 200 OK\r\nX: " + String(repeating: "0123456789", count: 40_960) + "\r\n\r\n"
                ),
                (
                    "a header of more than 256 KiB", "a limit of the transport: 256 KiB of header",
                    "HTTP/1.1 200 OK\r\n"
                        + String(
                            repeating: "X-Flood: " + String(repeating: "0123456789", count: 100) + "\r\n",
                            count: 280
                        ) + "\r\n"
                ),
            ]
        )
}
