import Networking

extension ConformanceCase {
    private static let gzippedHello =
        "\u{1F}\u{8B}\u{08}\u{00}\u{00}\u{00}\u{00}\u{00}\u{02}\u{03}\u{CB}\u{48}\u{CD}\u{C9}\u{C9}\u{07}\u{00}\u{86}\u{A6}"
        + "\u{10}\u{36}\u{05}\u{00}\u{00}\u{00}"

    /// The text coded with `br`, then with `gzip`.
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
            .keepOpen,
            .failure(.invalidResponse),
            urlSession: .skipped("libcurl's decoder doesn't detect it and FoundationNetworking doesn't check")
        )
    }

    /// Bodies with content codings.
    static let codings: [Self] = [
        Self(
            "a decoded gzip body, without the coding's header fields",
            "RFC 9110 §8.4.1.3",
            coded("gzip", gzippedHello),
            .keepOpen,
            .response(status: 200, body: "hello"),
            headers: ["X-Y": "z"]
        ),
        Self(
            "a chunked gzip body, byte by byte",
            "RFC 9110 §8.4.1.3",
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
                + gzippedHello.unicodeScalars.map { "1\r\n\($0)\r\n" }.joined() + "0\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: "hello"),
            pace: .octetByOctet
        ),
        Self(
            "x-gzip",
            "RFC 9110 §8.4.1.3",
            coded("x-gzip", gzippedHello),
            .keepOpen,
            .response(status: 200, body: "hello")
        ),
        Self(
            "identity",
            "RFC 9110 §8.4",
            coded("identity", "hello"),
            .keepOpen,
            .response(status: 200, body: "hello")
        ),
        Self(
            "a body over the limit after decoding",
            "a limit of the caller",
            coded("gzip", gzippedHello),
            .keepOpen,
            .failure(.bodyTooLarge),
            maximumBodySize: 4
        ),
        Self(
            "a gzip body that isn't gzip",
            "RFC 9110 §8.4.1.3",
            coded("gzip", "hello"),
            .close,
            .failure(.invalidResponse),
            urlSession: .unknownError
        ),
        Self(
            "a gzip body with a wrong checksum",
            "RFC 9110 §8.4.1.3",
            coded("gzip", gzippedHello.replacing("\u{86}\u{A6}", with: "\u{87}\u{A6}")),
            .close,
            .failure(.invalidResponse),
            urlSession: .unknownError
        ),
        cut(1, "its first bytes"), cut(10, "the header"), cut(14, "the content"), cut(21, "the checksum"),
        cut(24, "the size"),
        Self(
            "a gzip body of two members",
            "RFC 9110 §8.4.1.3, RFC 1952 §2.2",
            coded("gzip", gzippedHello + gzippedHello),
            .keepOpen,
            .response(status: 200, body: "hellohello"),
            urlSession: .skipped("libcurl's decoder rejects the second member as garbage")
        ),
        Self(
            "a gzip body with data after it",
            "RFC 9110 §8.4.1.3, RFC 1952 §2.2",
            coded("gzip", gzippedHello + "x"),
            .close,
            .failure(.invalidResponse),
            urlSession: .unknownError
        ),
        Self(
            "a body in two codings",
            "RFC 9110 §8.4",
            coded("br, gzip", twiceCodedHello),
            .keepOpen,
            .response(status: 200, body: "hello"),
            headers: ["X-Y": "z"]
        ),
        Self(
            "an unknown content coding",
            "RFC 9110 §8.4",
            coded("rot13", "uryyb"),
            .close,
            .failure(.invalidResponse),
            urlSession: .unknownError
        ),
    ]
}
