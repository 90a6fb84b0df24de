import Networking

extension ConformanceCase {
    private static let gzippedHello =
        "\u{1F}\u{8B}\u{08}\u{00}\u{00}\u{00}\u{00}\u{00}\u{02}\u{03}\u{CB}\u{48}\u{CD}\u{C9}\u{C9}\u{07}\u{00}\u{86}\u{A6}"
        + "\u{10}\u{36}\u{05}\u{00}\u{00}\u{00}"

    private static func coded(_ coding: String, _ body: String) -> String {
        "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.unicodeScalars.count)\r\nX-Y: z\r\n\r\n"
            + body
    }

    /// Bodies in content codings.
    ///
    /// A coded body that lacks its end in a message that is whole is not among them: libcurl delivers what there is.
    static let codings: [Self] = [
        Self(
            "a gzip body, decoded, with the fields of the coding removed",
            "RFC 9110 §8.4.1.3",
            coded("gzip", gzippedHello),
            .keepOpen,
            .response(status: 200, body: "hello"),
            headers: ["X-Y": "z"]
        ),
        Self(
            "a gzip body, octet by octet in chunks",
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
            "a larger body than accepted once decoded",
            "a limit of the caller's",
            coded("gzip", gzippedHello),
            .keepOpen,
            .failure(.bodyTooLarge),
            maximumBodySize: 4
        ),
        Self(
            "a gzip body that is none",
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
