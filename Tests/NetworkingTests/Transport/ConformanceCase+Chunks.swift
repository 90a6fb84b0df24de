import Networking

extension ConformanceCase {
    /// Chunked bodies.
    static let chunks: [Self] = wellFormedChunks + malformedChunks

    private static func chunked(_ body: String) -> String {
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body
    }

    private static let wellFormedChunks: [Self] = [
        Self(
            "chunks with extensions",
            "RFC 9112 §7.1.1",
            chunked("3;a=b\r\nhel\r\n2;c;d=\"e;f\"\r\nlo\r\n0;end\r\n\r\n"),
            .keepOpen,
            .response(status: 200, body: "hello")
        ),
        Self(
            "chunks byte by byte, with sizes in both cases and with leading zeros",
            "RFC 9112 §7.1",
            chunked("0A\r\n0123456789\r\n00b\r\nabcdefghijk\r\n000\r\n\r\n"),
            .keepOpen,
            .response(status: 200, body: "0123456789abcdefghijk"),
            pace: .octetByOctet
        ),
        Self(
            "only the last chunk",
            "RFC 9112 §7.1",
            chunked("0\r\n\r\n"),
            .keepOpen,
            .response(status: 200, body: "")
        ),
        Self(
            "chunked with a capital letter",
            "RFC 9112 §7",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: "hello")
        ),
        Self(
            "trailers, which aren't header fields",
            "RFC 9110 §6.5.1",
            chunked("5\r\nhello\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\n"),
            .keepOpen,
            .response(status: 200, body: "hello"),
            headers: ["Transfer-Encoding": "chunked"],
            urlSession: .skipped("trailers crash the process: swift-corelibs-foundation #5285")
        ),
        Self(
            "a status line in the trailers, which is ignored",
            "RFC 9112 §7.1.2",
            chunked("5\r\nhello\r\n0\r\nHTTP/1.1 500 Oops: x\r\n\r\n"),
            .keepOpen,
            .response(status: 200, body: "hello"),
            headers: ["Transfer-Encoding": "chunked"],
            urlSession: .skipped("trailers crash the process: swift-corelibs-foundation #5285")
        ),
        Self(
            "a chunked body over the limit",
            "a limit of the caller",
            chunked("3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"),
            .keepOpen,
            .failure(.bodyTooLarge),
            maximumBodySize: 4
        ),
    ]

    private static let malformedChunks: [Self] = [
        Self(
            "a chunk size that isn't a number",
            "RFC 9112 §7.1",
            chunked("xyz\r\nhello\r\n0\r\n\r\n"),
            .close,
            .failure(.invalidResponse)
        ),
        Self("no chunk size", "RFC 9112 §7.1", chunked("\r\nhello\r\n0\r\n\r\n"), .close, .failure(.invalidResponse)),
        Self(
            "a negative chunk size",
            "RFC 9112 §7.1",
            chunked("-5\r\nhello\r\n0\r\n\r\n"),
            .close,
            .failure(.invalidResponse)
        ),
        Self(
            "a chunk size with 0x",
            "RFC 9112 §7.1",
            chunked("0x5\r\nhello\r\n0\r\n\r\n"),
            .close,
            .failure(.invalidResponse)
        ),
        Self(
            "a chunk size that overflows any integer",
            "RFC 9112 §7.1",
            chunked("FFFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n"),
            .close,
            .failure(.invalidResponse)
        ),
        Self(
            "a chunk size that fits only an unsigned integer",
            "RFC 9112 §7.1",
            chunked("FFFFFFFFFFFFFFFB\r\nhello\r\n0\r\n\r\n"),
            .close,
            .failure(.invalidResponse)
        ),
        Self(
            "a chunk size of unlimited length",
            "RFC 9112 §7.1",
            chunked(String(repeating: "0", count: 100_000)),
            .close,
            .failure(.invalidResponse)
        ),
        Self(
            "a chunk longer than its size",
            "RFC 9112 §7.1",
            chunked("3\r\nhello\r\n0\r\n\r\n"),
            .close,
            .failure(.invalidResponse)
        ),
        Self(
            "an unknown transfer coding",
            "RFC 9112 §6.1",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: rot13\r\n\r\nuryyb",
            .close,
            .failure(.invalidResponse),
            urlSession: .unknownError
        ),
        Self(
            "a transfer coding that wasn't requested",
            "RFC 9112 §6.1, §7.4",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            .close,
            .failure(.invalidResponse),
            urlSession: .unknownError
        ),
    ]
}
