/// The request line and header fields of a request.
package struct RequestHead: Equatable, Sendable {
    /// The framing that determines the end of the body
    /// ([RFC 9112 §6](https://www.rfc-editor.org/rfc/rfc9112#section-6)).
    package enum Framing: Equatable, Sendable {
        case length(Int)
        case chunked
    }

    package var method: HTTPMethod
    package var target: String
    /// The digit after `HTTP/1.`.
    package var minorVersion: Int
    package var headers: HTTPHeaders

    package init(method: HTTPMethod, target: String, minorVersion: Int, headers: HTTPHeaders) {
        (self.method, self.target) = (method, target)
        (self.minorVersion, self.headers) = (minorVersion, headers)
    }

    /// A Boolean value that indicates whether the client waits for `100 (Continue)`.
    package var expectsContinue: Bool {
        minorVersion >= 1 && headers.values(for: "Expect").contains { $0.equalsIgnoringASCIICase("100-continue") }
    }

    /// A Boolean value that indicates whether the client keeps the connection alive
    /// ([RFC 9112 §9.3](https://www.rfc-editor.org/rfc/rfc9112#section-9.3)).
    package var keepsAlive: Bool {
        let options = headers.values(for: "Connection").flatMap { $0.asciiOnly.split { ", \t".contains($0) } }
        if options.contains(where: { $0.equalsIgnoringASCIICase("close") }) { return false }
        return minorVersion >= 1 || options.contains { $0.equalsIgnoringASCIICase("keep-alive") }
    }

    /// Returns whether the text has one of the four forms of
    /// [RFC 9112 §3.2](https://www.rfc-editor.org/rfc/rfc9112#section-3.2).
    static func isTarget(_ text: String, for method: HTTPMethod) -> Bool {
        switch method {
        case .connect: text.contains(":") && !text.contains("/")
        case .options where text == "*": true
        default: text.hasPrefix("/") || text.hasPrefix("http://") || text.hasPrefix("https://")
        }
    }

    /// Returns the framing, after validating the fields that determine the end of the message.
    ///
    /// An ambiguous message is rejected and not repaired.
    package func framing(maximumBodySize: Int) throws(RequestFault) -> Framing {
        let hosts = headers.values(for: "Host")
        guard hosts.count == 1 || (minorVersion == 0 && hosts.isEmpty) else {
            throw RequestFault("a request must have one Host field, not \(hosts.count)")
        }
        let lengths = headers.values(for: "Content-Length")
        let codings = headers.values(for: "Transfer-Encoding")
        guard codings.isEmpty else {
            guard minorVersion >= 1 else { throw RequestFault("HTTP/1.0 doesn't support Transfer-Encoding") }
            guard lengths.isEmpty else { throw RequestFault("both Transfer-Encoding and Content-Length") }
            guard codings.count == 1, let coding = codings.first, coding.equalsIgnoringASCIICase("chunked") else {
                throw RequestFault(501, "the only supported transfer coding is chunked")
            }
            return .chunked
        }
        guard let text = lengths.first else { return .length(0) }
        guard lengths.count == 1 else { throw RequestFault("more than one Content-Length") }
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw RequestFault("Content-Length is not a number")
        }
        // A number that doesn't fit is larger than any limit.
        guard let length = Int(text), length <= maximumBodySize else {
            throw RequestFault(413, "the body is larger than \(maximumBodySize) bytes")
        }
        return .length(length)
    }
}

/// The reason why bytes aren't a valid request, and the status for the response.
package struct RequestFault: Error, Equatable, Sendable {
    package let status: Int
    package let reason: String

    package init(_ status: Int, _ reason: String) {
        self.status = status
        self.reason = reason
    }

    /// Creates a syntax fault with the status 400.
    package init(_ reason: String) {
        self.init(400, reason)
    }
}
