import Foundation

extension HTTPTransportRequest {
    /// Checks for anything that could make a peer read a different request.
    ///
    /// Every transport calls this before it sends a byte.
    ///
    /// - Returns: The origin of the URL.
    /// - Throws: ``NetworkError`` with the code `invalidRequest`, naming the URL's or field's
    ///   defect.
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
        // RFC 9110 §4.2.4: a sender must not generate user information. Dropping it silently would
        // surprise the caller.
        guard url.user == nil, url.password == nil else {
            throw NetworkError(
                .invalidRequest,
                "the URL has user information; remove it and send an Authorization header field instead"
            )
        }
        // Foundation and the engine both parse the URL. Reject what they could read differently.
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
            throw NetworkError(
                .invalidRequest,
                "CONNECT is only for proxy tunnels and can't be sent as a request; use another method"
            )
        }
        if method == .head || method == .trace, body.contentLength != 0 {
            throw NetworkError(.invalidRequest, "a \(method) request can't have a body")
        }
    }

    /// Rejects fields that contradict the framing, which would turn body bytes into another
    /// request.
    private func validateFraming() throws(NetworkError) {
        var hasHost = false
        for field in headers {
            // RFC 9112 §3.2: with two Host fields, a recipient may believe either.
            if field.name.equalsIgnoringASCIICase("Host") {
                guard !hasHost else {
                    throw NetworkError(.invalidRequest, "the request has more than one Host header field; keep one")
                }
                hasHost = true
            }
            if field.name.equalsIgnoringASCIICase("Transfer-Encoding") {
                throw NetworkError(
                    .invalidRequest,
                    "the transport sets Transfer-Encoding; remove the header field"
                )
            }
            guard field.name.equalsIgnoringASCIICase("Content-Length"), let length = body.contentLength else {
                continue
            }
            guard field.value == String(length) else {
                throw NetworkError(
                    .invalidRequest,
                    "the Content-Length header field doesn't match the body's length, \(length); remove the header field"
                )
            }
        }
    }
}

extension HTTPHeaders.Field {
    /// Checks that the field can be sent unchanged
    /// ([RFC 9110 §5](https://www.rfc-editor.org/rfc/rfc9110#section-5)).
    ///
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the name isn't a token or the
    ///   value contains a control character.
    package func validate() throws(NetworkError) {
        guard HTTPSyntax.isToken(name) else {
            throw NetworkError(
                .invalidRequest,
                "a header field's name \(name.isEmpty ? "is empty" : "has an invalid character"): "
                    + name.debugDescription.prefix(64)
            )
        }
        guard HTTPSyntax.isFieldValue(value) else {
            throw NetworkError(
                .invalidRequest,
                "the value of the header field “\(name)” contains a control character, such as a line break"
            )
        }
    }
}
