import Networking

extension ConformanceCase {
    static let lengths: [Self] = accepted + contradictory + tooLarge

    private static let accepted: [Self] = [
        Self(
            "a body that ends with the connection",
            "RFC 9112 §6.3, 8",
            ok("Connection: close", "hello"),
            ending: .close
        ),
        Self(
            "an empty body that ends with the connection",
            "RFC 9112 §6.3, 8",
            ok("", ""),
            .body(""),
            ending: .close
        ),
        Self("the same length twice", "RFC 9110 §8.6", ok("Content-Length: 5\r\nContent-Length: 5", "hello")),
        Self(
            "the same length twice in one field",
            "RFC 9110 §8.6",
            ok("Content-Length: 5, 5", "hello"),
            urlSession: .doesNotCheckFraming
        ),
        Self("a length with leading zeros", "RFC 9110 §8.6", ok("Content-Length: 0005", "hello")),
        Self(
            "a length before chunks, which override it",
            "RFC 9112 §6.3, 3",
            ok("Content-Length: 3\r\nTransfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n")
        ),
        Self(
            "chunks before a length, which they override",
            "RFC 9112 §6.3, 3",
            ok("Transfer-Encoding: chunked\r\nContent-Length: 300", "5\r\nhello\r\n0\r\n\r\n")
        ),
    ]

    private static let contradictory: [Self] = failing(
        .invalidResponse,
        urlSession: .doesNotCheckFraming,
        [
            ("two lengths", "RFC 9112 §6.3, 5", ok("Content-Length: 3\r\nContent-Length: 5", "hello")),
            ("two lengths in one field", "RFC 9112 §6.3, 5", ok("Content-Length: 5, 3", "hello")),
            ("a length that isn't a number", "RFC 9112 §6.3, 5", ok("Content-Length: five", "hello")),
            ("a length with characters after the number", "RFC 9112 §6.3, 5", ok("Content-Length: 5x", "hello")),
            ("a negative length", "RFC 9110 §8.6", ok("Content-Length: -5", "hello")),
            ("a length with a plus sign", "RFC 9110 §8.6", ok("Content-Length: +5", "hello")),
            ("an empty length", "RFC 9110 §8.6", ok("Content-Length: ", "hello")),
            (
                "a length that overflows any integer", "RFC 9110 §8.6",
                ok("Content-Length: 99999999999999999999999999", "hello")
            ),
        ]
    )

    private static let tooLarge: [Self] = [
        Self(
            "a body over the limit, with Content-Length",
            "a limit of the caller",
            ok("Content-Length: 5", "hello"),
            .failure(.bodyTooLarge),
            limit: 4
        ),
        Self(
            "a body over the limit, without a length",
            "a limit of the caller",
            ok("", "hello"),
            .failure(.bodyTooLarge),
            limit: 4
        ),
        Self("a body exactly at the limit", "a limit of the caller", ok("Content-Length: 5", "hello"), limit: 5),
        Self(
            "an empty body with a limit of 0",
            "a limit of the caller",
            ok("Content-Length: 0"),
            .body(""),
            limit: 0
        ),
    ]

    static let chunks: [Self] = wellFormedChunks + malformedChunks

    private static func chunked(_ body: String) -> String {
        ok("Transfer-Encoding: chunked", body)
    }

    private static let wellFormedChunks: [Self] = [
        Self(
            "chunks with extensions",
            "RFC 9112 §7.1.1",
            chunked("3;a=b\r\nhel\r\n2;c;d=\"e;f\"\r\nlo\r\n0;end\r\n\r\n")
        ),
        Self(
            "chunks byte by byte, with sizes in both cases and with leading zeros",
            "RFC 9112 §7.1",
            chunked("0A\r\n0123456789\r\n00b\r\nabcdefghijk\r\n000\r\n\r\n"),
            .body("0123456789abcdefghijk"),
            pace: .octetByOctet
        ),
        Self("only the last chunk", "RFC 9112 §7.1", chunked("0\r\n\r\n"), .body("")),
        Self(
            "chunked with a capital letter",
            "RFC 9112 §7",
            ok("transfer-encoding: Chunked", "5\r\nhello\r\n0\r\n\r\n")
        ),
        Self(
            "trailers, which aren't header fields",
            "RFC 9110 §6.5.1",
            chunked("5\r\nhello\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\n"),
            headers: ["Transfer-Encoding": "chunked"],
            urlSession: .crashesWithTrailers
        ),
        Self(
            "a status line in the trailers, which is ignored",
            "RFC 9112 §7.1.2",
            chunked("5\r\nhello\r\n0\r\nHTTP/1.1 500 Oops: x\r\n\r\n"),
            headers: ["Transfer-Encoding": "chunked"],
            urlSession: .crashesWithTrailers
        ),
        Self(
            "a chunked body over the limit",
            "a limit of the caller",
            chunked("3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"),
            .failure(.bodyTooLarge),
            limit: 4
        ),
    ]

    private static let malformedChunks: [Self] =
        failing(
            .invalidResponse,
            [
                ("a chunk size that isn't a number", "RFC 9112 §7.1", chunked("xyz\r\nhello\r\n0\r\n\r\n")),
                ("no chunk size", "RFC 9112 §7.1", chunked("\r\nhello\r\n0\r\n\r\n")),
                ("a negative chunk size", "RFC 9112 §7.1", chunked("-5\r\nhello\r\n0\r\n\r\n")),
                ("a chunk size with 0x", "RFC 9112 §7.1", chunked("0x5\r\nhello\r\n0\r\n\r\n")),
                (
                    "a chunk size that overflows any integer", "RFC 9112 §7.1",
                    chunked("FFFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n")
                ),
                (
                    "a chunk size that fits only an unsigned integer", "RFC 9112 §7.1",
                    chunked("FFFFFFFFFFFFFFFB\r\nhello\r\n0\r\n\r\n")
                ),
                ("a chunk size of unlimited length", "RFC 9112 §7.1", chunked(String(repeating: "0", count: 100_000))),
                ("a chunk longer than its size", "RFC 9112 §7.1", chunked("3\r\nhello\r\n0\r\n\r\n")),
            ]
        )
        + failing(
            .invalidResponse,
            urlSession: .unknownError,
            [
                ("an unknown transfer coding", "RFC 9112 §6.1", ok("Transfer-Encoding: rot13", "uryyb")),
                (
                    "a transfer coding that wasn't requested", "RFC 9112 §6.1, §7.4",
                    ok("Transfer-Encoding: gzip, chunked", "5\r\nhello\r\n0\r\n\r\n")
                ),
            ]
        )

    private static let gzippedHello =
        "\u{1F}\u{8B}\u{08}\u{00}\u{00}\u{00}\u{00}\u{00}\u{02}\u{03}\u{CB}\u{48}\u{CD}\u{C9}\u{C9}\u{07}\u{00}\u{86}\u{A6}"
        + "\u{10}\u{36}\u{05}\u{00}\u{00}\u{00}"

    private static let twiceCodedHello =
        "\u{1F}\u{8B}\u{08}\u{00}\u{00}\u{00}\u{00}\u{00}\u{02}\u{FF}\u{E3}\u{66}\u{6A}\u{C8}"
        + "\u{48}\u{CD}\u{C9}\u{C9}\u{67}\u{06}\u{00}\u{DB}\u{4E}\u{4B}\u{50}\u{09}\u{00}\u{00}"
        + "\u{00}"

    private static func coded(_ coding: String, _ body: String) -> String {
        "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.unicodeScalars.count)\r\nX-Y: z\r\n\r\n"
            + body
    }

    private static func cut(_ count: Int, _ place: String) -> Self {
        Self(
            "a gzip body truncated in \(place), in a complete message",
            "RFC 9110 §8.4.1.3, RFC 1952 §2.3",
            coded("gzip", String(String.UnicodeScalarView(gzippedHello.unicodeScalars.prefix(count)))),
            .failure(.invalidResponse),
            urlSession: .skipped("libcurl's decoder doesn't detect it and FoundationNetworking doesn't check")
        )
    }

    static let codings: [Self] =
        [
            Self(
                "a decoded gzip body, without the coding's header fields",
                "RFC 9110 §8.4.1.3",
                coded("gzip", gzippedHello),
                headers: ["X-Y": "z"]
            ),
            Self(
                "a chunked gzip body, byte by byte",
                "RFC 9110 §8.4.1.3",
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + gzippedHello.unicodeScalars.map { "1\r\n\($0)\r\n" }.joined() + "0\r\n\r\n",
                pace: .octetByOctet
            ),
            Self("x-gzip", "RFC 9110 §8.4.1.3", coded("x-gzip", gzippedHello)),
            Self("identity", "RFC 9110 §8.4", coded("identity", "hello")),
            Self(
                "a body over the limit after decoding",
                "a limit of the caller",
                coded("gzip", gzippedHello),
                .failure(.bodyTooLarge),
                limit: 4
            ),
            Self(
                "a gzip body of two members",
                "RFC 9110 §8.4.1.3, RFC 1952 §2.2",
                coded("gzip", gzippedHello + gzippedHello),
                .body("hellohello"),
                urlSession: .skipped("libcurl's decoder rejects the second member as garbage")
            ),
            Self("a body in two codings", "RFC 9110 §8.4", coded("br, gzip", twiceCodedHello), headers: ["X-Y": "z"]),
            cut(1, "its first bytes"),
            cut(10, "the header"),
            cut(14, "the content"),
            cut(21, "the checksum"),
            cut(24, "the size"),
        ]
        + failing(
            .invalidResponse,
            urlSession: .unknownError,
            [
                ("a gzip body that isn't gzip", "RFC 9110 §8.4.1.3", coded("gzip", "hello")),
                (
                    "a gzip body with a wrong checksum", "RFC 9110 §8.4.1.3",
                    coded("gzip", gzippedHello.replacing("\u{86}\u{A6}", with: "\u{87}\u{A6}"))
                ),
                (
                    "a gzip body with data after it", "RFC 9110 §8.4.1.3, RFC 1952 §2.2",
                    coded("gzip", gzippedHello + "x")
                ),
                ("an unknown content coding", "RFC 9110 §8.4", coded("rot13", "uryyb")),
            ]
        )

    static let endings: [Self] =
        [
            Self(
                "reset within the header",
                "RFC 9112 §8",
                "HTTP/1.1 200 OK\r\nX: ",
                .failure(.connectionLost),
                ending: .reset,
                urlSession: .endsProcess
            )
        ]
        + failing(
            .connectionLost,
            [
                ("closed before any byte", "RFC 9112 §8", ""),
                ("closed after the header", "RFC 9112 §8", ok("Content-Length: 10")),
                ("closed after a header that declares chunks", "RFC 9112 §8", chunked("")),
                ("a body shorter than Content-Length", "RFC 9112 §8", ok("Content-Length: 10", "hello")),
                ("a chunked body without its last chunk", "RFC 9112 §8", chunked("5\r\nhello\r\n")),
                ("a chunked body truncated within a chunk", "RFC 9112 §8", chunked("5\r\nhel")),
                ("a chunked body truncated within a size", "RFC 9112 §8", chunked("5\r\nhello\r\n1")),
                ("a chunked body truncated after its last chunk", "RFC 9112 §8", chunked("5\r\nhello\r\n0\r\n")),
            ]
        )
        + failing(
            .connectionLost,
            ending: .reset,
            [
                ("reset before any byte", "RFC 9112 §8", ""),
                ("reset within the body", "RFC 9112 §8", ok("Content-Length: 10", "hello")),
                (
                    "reset instead of closed after a body without a length", "RFC 9112 §9.5: a reset isn't an end",
                    ok("", "hello")
                ),
            ]
        )
        + failing(
            .connectionLost,
            urlSession: .endsProcess,
            [
                ("closed within the status line", "RFC 9112 §8", "HTTP/1.1 2"),
                ("closed after the status line", "RFC 9112 §8", "HTTP/1.1 200 OK\r\n"),
                ("closed within the header", "RFC 9112 §8", "HTTP/1.1 200 OK\r\nX: "),
                ("closed before the header's last line", "RFC 9112 §8", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"),
            ]
        )
}
