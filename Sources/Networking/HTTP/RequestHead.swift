/// A request's first line and header fields.
package struct RequestHead: Equatable, Sendable {
    /// How the end of the body is found ([RFC 9112 §6](https://www.rfc-editor.org/rfc/rfc9112#section-6)).
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

    /// Whether the client waits for `100 (Continue)` before it sends the body.
    package var expectsContinue: Bool {
        minorVersion >= 1 && headers.values(for: "Expect").contains { $0.equalsIgnoringASCIICase("100-continue") }
    }

    /// Whether the client wants to use the connection again
    /// ([RFC 9112 §9.3](https://www.rfc-editor.org/rfc/rfc9112#section-9.3)).
    package var keepsAlive: Bool {
        let options = headers.values(for: "Connection").flatMap { $0.split { ", \t".contains($0) } }
        if options.contains(where: { $0.equalsIgnoringASCIICase("close") }) { return false }
        return minorVersion >= 1 || options.contains { $0.equalsIgnoringASCIICase("keep-alive") }
    }

    /// Whether the text has one of the four forms of [RFC 9112 §3.2](https://www.rfc-editor.org/rfc/rfc9112#section-3.2).
    static func isTarget(_ text: String, for method: HTTPMethod) -> Bool {
        switch method {
        case .connect: text.contains(":") && !text.contains("/")
        case .options where text == "*": true
        default: text.hasPrefix("/") || text.hasPrefix("http://") || text.hasPrefix("https://")
        }
    }

    /// Checks the fields that decide where the message ends.
    ///
    /// A message that two parties could read differently is refused, not repaired.
    package func framing(maximumBodySize: Int) throws(RequestFault) -> Framing {
        let hosts = headers.values(for: "Host")
        guard hosts.count == 1 || (minorVersion == 0 && hosts.isEmpty) else {
            throw RequestFault("a request must have one Host field, not \(hosts.count)")
        }
        let lengths = headers.values(for: "Content-Length")
        let codings = headers.values(for: "Transfer-Encoding")
        guard codings.isEmpty else {
            guard minorVersion >= 1 else { throw RequestFault("HTTP/1.0 has no Transfer-Encoding") }
            guard lengths.isEmpty else { throw RequestFault("both Transfer-Encoding and Content-Length") }
            guard codings.count == 1, let coding = codings.first, coding.equalsIgnoringASCIICase("chunked") else {
                throw RequestFault(501, "the only transfer coding here is chunked")
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
            throw RequestFault(413, "the body is larger than \(maximumBodySize) octets")
        }
        return .length(length)
    }
}

/// Why bytes are not a request, and the status that says so.
package struct RequestFault: Error, Equatable, Sendable {
    package let status: Int
    package let reason: String

    package init(_ status: Int, _ reason: String) {
        self.status = status
        self.reason = reason
    }

    /// A fault of the message's syntax.
    package init(_ reason: String) {
        self.init(400, reason)
    }
}
