internal import OpenSSLCrypto

package struct RequestHead: Equatable, Sendable {
    /// [RFC 9112 §6](https://www.rfc-editor.org/rfc/rfc9112#section-6).
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

    package var expectsContinue: Bool {
        minorVersion >= 1 && headers.values(for: "Expect").contains { $0.equalsIgnoringASCIICase("100-continue") }
    }

    /// [RFC 9112 §9.3](https://www.rfc-editor.org/rfc/rfc9112#section-9.3).
    package var keepsAlive: Bool {
        let options = headers.values(for: "Connection").flatMap { $0.asciiOnly.split { ", \t".contains($0) } }
        if options.contains(where: { $0.equalsIgnoringASCIICase("close") }) { return false }
        return minorVersion >= 1 || options.contains { $0.equalsIgnoringASCIICase("keep-alive") }
    }

    /// [RFC 9112 §3.2](https://www.rfc-editor.org/rfc/rfc9112#section-3.2).
    static func isTarget(_ text: String, for method: HTTPMethod) -> Bool {
        switch method {
        case .connect: text.contains(":") && !text.contains("/")
        case .options where text == "*": true
        default: text.hasPrefix("/") || text.hasPrefix("http://") || text.hasPrefix("https://")
        }
    }

    /// Rejects an ambiguous message, and doesn't repair it.
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

    /// The status is 400.
    package init(_ reason: String) {
        self.init(400, reason)
    }
}

/// A parser for request heads in bytes that arrive in pieces of any size.
///
/// It follows [RFC 9112](https://www.rfc-editor.org/rfc/rfc9112) strictly: lines end with CRLF, and
/// nothing is unfolded or repaired. Each byte is read once, and buffers never exceed the limits.
package struct RequestHeadReader: Sendable {
    package struct Limits: Sendable, Equatable {
        /// The sizes of the request line and of a section of fields, in bytes.
        package var line: Int
        package var fields: Int
        /// The maximum number of fields in a section.
        package var fieldCount: Int
        /// The maximum number of empty lines before a request
        /// ([RFC 9112 §2.2](https://www.rfc-editor.org/rfc/rfc9112#section-2.2)).
        package var emptyLines: Int

        package init(line: Int = 16 << 10, fields: Int = 64 << 10, fieldCount: Int = 256, emptyLines: Int = 4) {
            (self.line, self.fields) = (line, fields)
            (self.fieldCount, self.emptyLines) = (fieldCount, emptyLines)
        }
    }

    private let limits: Limits
    private var partialLine: [UInt8] = []
    private var emptyLines = 0
    private var sectionSize = 0
    private var fields: [HTTPHeaders.Field] = []
    /// The request line, until all fields are read.
    private var head: RequestHead?

    package init(limits: Limits) {
        self.limits = limits
    }

    /// Consumes input until a head is complete or the input is empty.
    ///
    /// After an error, the reader can't be used again.
    package mutating func readHead(from input: inout ArraySlice<UInt8>) throws(RequestFault) -> RequestHead? {
        while head == nil {
            guard let line = try readLine(from: &input, limit: limits.line, status: 414) else { return nil }
            if line.isEmpty {
                emptyLines += 1
                guard emptyLines <= limits.emptyLines else { throw RequestFault("empty lines instead of a request") }
            } else {
                head = try Self.requestLine(line)
            }
        }
        guard let headers = try readFields(from: &input) else { return nil }
        defer { (head, emptyLines) = (nil, 0) }
        head?.headers = headers
        return head
    }

    /// Consumes input until a header or trailer section is complete or the input is empty.
    package mutating func readFields(from input: inout ArraySlice<UInt8>) throws(RequestFault) -> HTTPHeaders? {
        while true {
            let room = limits.fields - sectionSize
            guard let line = try readLine(from: &input, limit: room, status: 431) else { return nil }
            guard !line.isEmpty else {
                defer { (fields, sectionSize) = ([], 0) }
                return HTTPHeaders(fields)
            }
            sectionSize += line.count + 2
            guard fields.count < limits.fieldCount else {
                throw RequestFault(431, "more than \(limits.fieldCount) fields")
            }
            fields.append(try Self.field(line.span))
        }
    }

    /// Consumes input until a line is complete or the input is empty, and returns a line without
    /// its CRLF.
    package mutating func readLine(
        from input: inout ArraySlice<UInt8>,
        limit: Int,
        status: Int
    ) throws(RequestFault) -> [UInt8]? {
        let end = input.firstIndex(of: 0x0A)
        let piece = input[..<(end ?? input.endIndex)]
        guard partialLine.count + piece.count + (end == nil ? 0 : 1) <= limit else {
            throw RequestFault(status, "a line or section is longer than the server accepts")
        }
        // Checked before the line is complete, to reject input such as a TLS hello at once.
        guard piece.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 || $0 == 0x0D }) else {
            throw RequestFault("a control character in a line")
        }
        partialLine.append(contentsOf: piece)
        guard let end else {
            input = []
            return nil
        }
        input = input[(end + 1)...]
        guard partialLine.popLast() == 0x0D else { throw RequestFault("a line doesn't end with CRLF") }
        guard !partialLine.contains(0x0D) else { throw RequestFault("a carriage return inside a line") }
        defer { partialLine = [] }
        return partialLine
    }

    private static func requestLine(_ line: [UInt8]) throws(RequestFault) -> RequestHead {
        let parts = line.split(separator: 0x20, omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw RequestFault("the request line doesn't have three parts") }
        guard let method = HTTPMethod(String(decoding: parts[0], as: UTF8.self)) else {
            throw RequestFault("the method is not a token")
        }
        guard parts[1].allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x23 }) else {
            throw RequestFault("the request target has an invalid character")
        }
        let target = String(decoding: parts[1], as: UTF8.self)
        guard RequestHead.isTarget(target, for: method) else {
            throw RequestFault("the request target has an invalid form")
        }
        let version = String(decoding: parts[2], as: UTF8.self)
        guard version.utf8.starts(with: "HTTP/".utf8), version.utf8.count == 8 else {
            throw RequestFault("missing HTTP version")
        }
        guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
            throw RequestFault(505, "the server supports only HTTP/1.0 and HTTP/1.1")
        }
        return RequestHead(method: method, target: target, minorVersion: version == "HTTP/1.1" ? 1 : 0, headers: [:])
    }

    private static func field(_ line: Span<UInt8>) throws(RequestFault) -> HTTPHeaders.Field {
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
        guard colon < line.count else { throw RequestFault("a field line has no colon") }
        let name = line.text(0..<colon)
        guard HTTPSyntax.isToken(name) else { throw RequestFault("a field's name is not a token") }
        return HTTPHeaders.Field(name: name, value: line.text(line.trimmed((colon + 1)..<line.count)))
    }
}

/// A parser for content with the chunked transfer coding, in bytes that arrive in pieces of any
/// size ([RFC 9112 §7.1](https://www.rfc-editor.org/rfc/rfc9112#section-7.1)).
package struct ChunkedBodyReader: Sendable {
    private enum State {
        case size
        case chunk(remaining: Int)
        case chunkEnd
        case trailers
    }

    private let limit: Int
    private let lineLimit: Int
    private var state = State.size
    package private(set) var body: [UInt8] = []

    /// The limits are of the decoded content and of a line with a chunk's size, in bytes.
    package init(limit: Int, lineLimit: Int = RequestHeadReader.Limits().line) {
        self.limit = limit
        self.lineLimit = lineLimit
    }

    /// Consumes input until the content is complete or the input is empty; returns the trailer
    /// fields of complete content.
    package mutating func consume(
        _ input: inout ArraySlice<UInt8>,
        _ reader: inout RequestHeadReader
    ) throws(RequestFault) -> HTTPHeaders? {
        while true {
            switch state {
            case .size:
                guard let line = try reader.readLine(from: &input, limit: lineLimit, status: 400) else { return nil }
                try readSize(line)
            case .chunk(let remaining):
                guard !input.isEmpty else { return nil }
                let piece = input.prefix(remaining)
                body.append(contentsOf: piece)
                input = input.dropFirst(piece.count)
                state = piece.count == remaining ? .chunkEnd : .chunk(remaining: remaining - piece.count)
            case .chunkEnd:
                guard let line = try reader.readLine(from: &input, limit: 2, status: 400) else { return nil }
                guard line.isEmpty else { throw RequestFault("a chunk is longer than its size") }
                state = .size
            case .trailers:
                return try reader.readFields(from: &input)
            }
        }
    }

    private mutating func readSize(_ line: [UInt8]) throws(RequestFault) {
        let digits = line.prefix { $0 != 0x3B && $0 != 0x20 && $0 != 0x09 }
        let rest = line[digits.endIndex...].drop { $0 == 0x20 || $0 == 0x09 }
        guard rest.isEmpty || rest.first == 0x3B else { throw RequestFault("a chunk's size isn't a number") }
        guard !digits.isEmpty, digits.allSatisfy({ $0.hexadecimalValue != nil }) else {
            throw RequestFault("a chunk's size isn't a number")
        }
        // A number that doesn't fit in an Int exceeds every limit.
        guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size <= limit - body.count else {
            throw RequestFault(413, "the body is larger than \(limit) bytes")
        }
        state = size == 0 ? .trailers : .chunk(remaining: size)
    }
}
