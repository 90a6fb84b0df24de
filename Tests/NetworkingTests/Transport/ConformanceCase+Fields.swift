import Networking

extension ConformanceCase {
    /// The syntax, order and number of header fields.
    static let fields: [Self] = [
        Self(
            "200 with a body",
            "RFC 9112 §2.1",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Y: z\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            headers: ["Content-Length": "5", "X-Y": "z"]
        ),
        Self(
            "200 with a body, byte by byte",
            "RFC 9112 §2.2",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Y: z\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            pace: .octetByOctet,
            headers: ["Content-Length": "5", "X-Y": "z"]
        ),
        Self(
            "repeated fields keep their order",
            "RFC 9110 §5.3",
            "HTTP/1.1 200 OK\r\nSet-Cookie: b=1\r\nX: 1\r\nSet-Cookie: a=2\r\nx: 2\r\nContent-Length: 0\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: ""),
            headers: ["Set-Cookie": "b=1", "X": "1", "Set-Cookie": "a=2", "x": "2", "Content-Length": "0"],
            urlSession: .skipped("order and repetition are lost")
        ),
        Self(
            "a folded field is one field",
            "RFC 9112 §5.2",
            "HTTP/1.1 200 OK\r\nX-Long: one\r\n  two\r\n\tthree\r\nContent-Length: 0\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: ""),
            headers: ["X-Long": "one two three", "Content-Length": "0"],
            urlSession: .skipped("the handling of folded fields isn't defined")
        ),
        Self(
            "a field without a space after the colon, and with several around the value",
            "RFC 9112 §5.1",
            "HTTP/1.1 200 OK\r\nX:y\r\nZ: \t v  \r\nContent-Length: 0\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: ""),
            headers: ["X": "y", "Z": "v", "Content-Length": "0"],
            urlSession: .skipped("rejected: swift-corelibs-foundation #5527")
        ),
        Self(
            "an empty field",
            "RFC 9110 §5.5",
            "HTTP/1.1 200 OK\r\nX:\r\nY: \r\nContent-Length: 0\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: ""),
            headers: ["X": "", "Y": "", "Content-Length": "0"],
            urlSession: .readsHeadersOtherwise
        ),
        Self(
            "a field with a Latin-1 byte",
            "RFC 9110 §5.5: obs-text",
            "HTTP/1.1 200 OK\r\nX: caf\u{E9}\r\nContent-Length: 0\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: ""),
            headers: ["X": "café", "Content-Length": "0"],
            urlSession: .skipped("rejected: bytes must be UTF-8")
        ),
        Self(
            "a field in UTF-8",
            "RFC 9110 §5.5: obs-text",
            "HTTP/1.1 200 OK\r\nX: caf\u{C3}\u{A9}\r\nContent-Length: 0\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: ""),
            headers: ["X": "café", "Content-Length": "0"]
        ),
        Self(
            "lines that end with LF only",
            "RFC 9112 §2.2",
            "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            urlSession: .skipped("rejected by FoundationNetworking")
        ),
        Self(
            "a NUL in a field",
            "RFC 9110 §5.5",
            "HTTP/1.1 200 OK\r\nX: a\u{0}b\r\nContent-Length: 0\r\n\r\n",
            .close,
            .failure(.invalidResponse)
        ),
        Self(
            "a NUL in the status line",
            "RFC 9110 §5.5",
            "HTTP/1.1 200 O\u{0}K\r\nContent-Length: 0\r\n\r\n",
            .close,
            .failure(.invalidResponse)
        ),
        Self(
            "a CR within a field",
            "RFC 9110 §5.5",
            "HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b=1\r\nContent-Length: 0\r\n\r\n",
            .close,
            .failure(.invalidResponse),
            urlSession: .readsHeadersOtherwise
        ),
        Self(
            "a header line without a colon",
            "RFC 9112 §5",
            "HTTP/1.1 200 OK\r\nnonsense\r\nContent-Length: 0\r\n\r\n",
            .close,
            .failure(.invalidResponse),
            urlSession: .readsHeadersOtherwise
        ),
        Self(
            "a field without a name",
            "RFC 9112 §5",
            "HTTP/1.1 200 OK\r\n: nonsense\r\nContent-Length: 0\r\n\r\n",
            .close,
            .failure(.invalidResponse),
            urlSession: .readsHeadersOtherwise
        ),
        Self(
            "a space before the colon",
            "RFC 9112 §5.1",
            "HTTP/1.1 200 OK\r\nContent-Length : 3\r\n\r\nhello",
            .close,
            .failure(.invalidResponse),
            urlSession: .readsHeadersOtherwise
        ),
        Self(
            "a name that isn't a token",
            "RFC 9110 §5.1",
            "HTTP/1.1 200 OK\r\nX Y: 3\r\nContent-Length: 0\r\n\r\n",
            .close,
            .failure(.invalidResponse),
            urlSession: .readsHeadersOtherwise
        ),
        Self(
            "a folded first line",
            "RFC 9112 §2.2",
            "HTTP/1.1 200 OK\r\n X: y\r\nContent-Length: 0\r\n\r\n",
            .close,
            .failure(.invalidResponse),
            urlSession: .readsHeadersOtherwise
        ),
        Self(
            "4,000 fields",
            "RFC 9110 §5.4: any number",
            "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 4000) + "Content-Length: 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            urlSession: .skipped("its header parser takes quadratic time")
        ),
        Self(
            "12,000 fields",
            "a limit of the transport: 5000 fields",
            "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 12_000) + "Content-Length: 5\r\n\r\nhello",
            .close,
            .failure(.invalidResponse),
            urlSession: .skipped("its header parser takes quadratic time")
        ),
        Self(
            "a field of 90 KiB",
            "RFC 9110 §5.4: any size",
            "HTTP/1.1 200 OK\r\nX: " + String(repeating: "0123456789", count: 9216)
                + "\r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            urlSession: .skipped("its header parser takes quadratic time")
        ),
        Self(
            "a field of 400 KiB",
            "a limit of the transport: 256 KiB of header",
            "HTTP/1.1 200 OK\r\nX: " + String(repeating: "0123456789", count: 40_960) + "\r\n\r\n",
            .close,
            .failure(.invalidResponse),
            urlSession: .skipped("its header parser takes quadratic time")
        ),
        Self(
            "a header of more than 256 KiB",
            "a limit of the transport: 256 KiB of header",
            "HTTP/1.1 200 OK\r\n"
                + String(repeating: "X-Flood: " + String(repeating: "0123456789", count: 100) + "\r\n", count: 280)
                + "\r\n",
            .close,
            .failure(.invalidResponse),
            urlSession: .skipped("its header parser takes quadratic time")
        ),
    ]
}
