import Foundation

extension HTTPTransportRequest {
    /// Checks everything that could turn this request into another one on the wire.
    ///
    /// Every transport calls this before it sends a byte.
    ///
    /// - Returns: The origin of the URL.
    /// - Throws: ``NetworkError`` with the code `invalidRequest`, naming the URL's or the field's defect.
    @discardableResult
    package func validate() throws(NetworkError) -> HTTPOrigin {
        let origin = try validatedOrigin()
        try validateMethod()
        for field in headers { try field.validate() }
        try validateFraming()
        return origin
    }

    private func validatedOrigin() throws(NetworkError) -> HTTPOrigin {
        guard let origin = HTTPOrigin(url) else {
            let scheme = url.scheme?.lowercased()
            guard scheme == "http" || scheme == "https" else {
                throw NetworkError(
                    .invalidRequest,
                    "the URL's scheme must be http or https, not “\(url.scheme ?? "none")”; give an absolute URL"
                )
            }
            throw NetworkError(.invalidRequest, "the URL has no host; give an absolute URL")
        }
        guard (1...65535).contains(origin.port) else {
            throw NetworkError(.invalidRequest, "the URL's port must be 1…65535, not \(origin.port)")
        }
        // RFC 9110 §4.2.4: a sender must not generate user information, and who sets it here would rely on it silently.
        guard url.user == nil, url.password == nil else {
            throw NetworkError(
                .invalidRequest,
                "the URL has user information; remove it and send an Authorization header field instead"
            )
        }
        // Two parsers see the URL, Foundation's and the engine's; what they could read differently is not sent.
        guard url.absoluteString.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else {
            throw NetworkError(
                .invalidRequest,
                "the URL has a character that must be percent-encoded (or, in the host, in the IDNA form)"
            )
        }
        return origin
    }

    private func validateMethod() throws(NetworkError) {
        if method == .connect {
            throw NetworkError(.invalidRequest, "CONNECT asks a proxy for a tunnel; it can't be sent as a request")
        }
        if method == .head || method == .trace, body.contentLength != 0 {
            throw NetworkError(.invalidRequest, "a \(method) request can't have a body")
        }
    }

    /// The transport frames the message; a field that says otherwise would let bytes pass for another request.
    private func validateFraming() throws(NetworkError) {
        var hasHost = false
        for field in headers {
            // RFC 9112 §3.2: whoever gets two may believe either.
            if field.name.equalsIgnoringASCIICase("Host") {
                guard !hasHost else {
                    throw NetworkError(.invalidRequest, "the request has more than one Host header field; leave one")
                }
                hasHost = true
            }
            if field.name.equalsIgnoringASCIICase("Transfer-Encoding") {
                throw NetworkError(
                    .invalidRequest,
                    "Transfer-Encoding is the transport's to set; remove the header field"
                )
            }
            guard field.name.equalsIgnoringASCIICase("Content-Length"), let length = body.contentLength else {
                continue
            }
            guard field.value == String(length) else {
                throw NetworkError(
                    .invalidRequest,
                    "the Content-Length header field is not the body's length, \(length); remove the header field"
                )
            }
        }
    }
}

extension HTTPHeaders.Field {
    /// Checks that the field can be sent as it is ([RFC 9110 §5](https://www.rfc-editor.org/rfc/rfc9110#section-5)).
    ///
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the name isn't a token, or the value has a control character.
    package func validate() throws(NetworkError) {
        guard HTTPSyntax.isToken(name) else {
            throw NetworkError(
                .invalidRequest,
                "a header field's name has \(name.isEmpty ? "no characters" : "a character it must not have"): "
                    + name.debugDescription.prefix(64)
            )
        }
        guard HTTPSyntax.isFieldValue(value) else {
            throw NetworkError(
                .invalidRequest,
                "the value of the header field “\(name)” has a control character, such as a line break"
            )
        }
    }
}
