import Networking

extension ConformanceCase {
    /// Responses that end early.
    static let endings: [Self] = [
        Self("closed before any byte", "RFC 9112 §8", "", .close, .failure(.connectionLost)),
        Self("reset before any byte", "RFC 9112 §8", "", .reset, .failure(.connectionLost)),
        Self(
            "closed within the status line",
            "RFC 9112 §8",
            "HTTP/1.1 2",
            .close,
            .failure(.connectionLost),
            urlSession: .endsProcess
        ),
        Self(
            "closed after the status line",
            "RFC 9112 §8",
            "HTTP/1.1 200 OK\r\n",
            .close,
            .failure(.connectionLost),
            urlSession: .endsProcess
        ),
        Self(
            "closed within the header",
            "RFC 9112 §8",
            "HTTP/1.1 200 OK\r\nX: ",
            .close,
            .failure(.connectionLost),
            urlSession: .endsProcess
        ),
        Self(
            "closed before the header's last line",
            "RFC 9112 §8",
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
            .close,
            .failure(.connectionLost),
            urlSession: .endsProcess
        ),
        Self(
            "reset within the header",
            "RFC 9112 §8",
            "HTTP/1.1 200 OK\r\nX: ",
            .reset,
            .failure(.connectionLost),
            urlSession: .endsProcess
        ),
        Self(
            "closed after the header",
            "RFC 9112 §8",
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
            .close,
            .failure(.connectionLost)
        ),
        Self(
            "closed after a header that declares chunks",
            "RFC 9112 §8",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            .close,
            .failure(.connectionLost)
        ),
        Self(
            "a body shorter than Content-Length",
            "RFC 9112 §8",
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
            .close,
            .failure(.connectionLost)
        ),
        Self(
            "reset within the body",
            "RFC 9112 §8",
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
            .reset,
            .failure(.connectionLost)
        ),
        Self(
            "reset instead of closed after a body without a length",
            "RFC 9112 §9.5: a reset isn't an end",
            "HTTP/1.1 200 OK\r\n\r\nhello",
            .reset,
            .failure(.connectionLost)
        ),
        Self(
            "a chunked body without its last chunk",
            "RFC 9112 §8",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            .close,
            .failure(.connectionLost)
        ),
        Self(
            "a chunked body truncated within a chunk",
            "RFC 9112 §8",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
            .close,
            .failure(.connectionLost)
        ),
        Self(
            "a chunked body truncated within a size",
            "RFC 9112 §8",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1",
            .close,
            .failure(.connectionLost)
        ),
        Self(
            "a chunked body truncated after its last chunk",
            "RFC 9112 §8",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
            .close,
            .failure(.connectionLost)
        ),
    ]
}
