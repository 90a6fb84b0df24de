import Networking

extension ConformanceCase {
    /// Bodies whose length comes from Content-Length or from the end of the connection.
    static let lengths: [Self] = accepted + contradictory + tooLarge

    private static let accepted: [Self] = [
        Self(
            "a body that ends with the connection",
            "RFC 9112 §6.3, 8",
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
            .close,
            .response(status: 200, body: "hello")
        ),
        Self(
            "an empty body that ends with the connection",
            "RFC 9112 §6.3, 8",
            "HTTP/1.1 200 OK\r\n\r\n",
            .close,
            .response(status: 200, body: "")
        ),
        Self(
            "the same length twice",
            "RFC 9110 §8.6",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello")
        ),
        Self(
            "the same length twice in one field",
            "RFC 9110 §8.6",
            "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            urlSession: .doesNotCheckFraming
        ),
        Self(
            "a length with leading zeros",
            "RFC 9110 §8.6",
            "HTTP/1.1 200 OK\r\nContent-Length: 0005\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello")
        ),
        Self(
            "a length before chunks, which override it",
            "RFC 9112 §6.3, 3",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: "hello")
        ),
        Self(
            "chunks before a length, which they override",
            "RFC 9112 §6.3, 3",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 300\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: "hello")
        ),
    ]

    private static let contradictory: [Self] = [
        Self(
            "two lengths",
            "RFC 9112 §6.3, 5",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nhello",
            .close,
            .failure(.invalidResponse),
            urlSession: .doesNotCheckFraming
        ),
        Self(
            "two lengths in one field",
            "RFC 9112 §6.3, 5",
            "HTTP/1.1 200 OK\r\nContent-Length: 5, 3\r\n\r\nhello",
            .close,
            .failure(.invalidResponse),
            urlSession: .doesNotCheckFraming
        ),
        Self(
            "a length that isn't a number",
            "RFC 9112 §6.3, 5",
            "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello",
            .close,
            .failure(.invalidResponse),
            urlSession: .doesNotCheckFraming
        ),
        Self(
            "a length with characters after the number",
            "RFC 9112 §6.3, 5",
            "HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\nhello",
            .close,
            .failure(.invalidResponse),
            urlSession: .doesNotCheckFraming
        ),
        Self(
            "a negative length",
            "RFC 9110 §8.6",
            "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
            .close,
            .failure(.invalidResponse),
            urlSession: .doesNotCheckFraming
        ),
        Self(
            "a length with a plus sign",
            "RFC 9110 §8.6",
            "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
            .close,
            .failure(.invalidResponse),
            urlSession: .doesNotCheckFraming
        ),
        Self(
            "an empty length",
            "RFC 9110 §8.6",
            "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\nhello",
            .close,
            .failure(.invalidResponse),
            urlSession: .doesNotCheckFraming
        ),
        Self(
            "a length that overflows any integer",
            "RFC 9110 §8.6",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999999\r\n\r\nhello",
            .close,
            .failure(.invalidResponse),
            urlSession: .doesNotCheckFraming
        ),
    ]

    private static let tooLarge: [Self] = [
        Self(
            "a body over the limit, with Content-Length",
            "a limit of the caller",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .failure(.bodyTooLarge),
            maximumBodySize: 4
        ),
        Self(
            "a body over the limit, without a length",
            "a limit of the caller",
            "HTTP/1.1 200 OK\r\n\r\nhello",
            .keepOpen,
            .failure(.bodyTooLarge),
            maximumBodySize: 4
        ),
        Self(
            "a body exactly at the limit",
            "a limit of the caller",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            .keepOpen,
            .response(status: 200, body: "hello"),
            maximumBodySize: 5
        ),
        Self(
            "an empty body with a limit of 0",
            "a limit of the caller",
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            .keepOpen,
            .response(status: 200, body: ""),
            maximumBodySize: 0
        ),
    ]
}
