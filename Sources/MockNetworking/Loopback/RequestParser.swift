import Networking

/// Reads requests from bytes that arrive in pieces of any size.
///
/// It follows [RFC 9112](https://www.rfc-editor.org/rfc/rfc9112) strictly: lines end with CRLF, nothing is folded or
/// repaired. Each byte is looked at once, and nothing is kept that is larger than the limits.
struct RequestParser: Sendable {
    /// What a peer may make the server remember.
    struct Limits: Sendable, Equatable {
        /// Octets of the request line, or of a line with a chunk's size.
        var line = 16 << 10
        /// Octets of the header or the trailer section.
        var fields = 64 << 10
        /// Number of header or trailer fields.
        var fieldCount = 256
        /// Octets of the decoded body.
        var body = 64 << 20
    }

    /// A whole request.
    struct Message: Equatable, Sendable {
        var head: RequestHead
        var body: [UInt8]
        var trailers: HTTPHeaders
    }

    /// What the bytes so far amount to.
    enum Step: Equatable, Sendable {
        /// The input is used up and the request isn't whole.
        case needsInput
        /// The head is whole and the client may be waiting for `100 (Continue)`.
        case expectsContinue
        /// A request is whole; what is left of the input belongs to the next one.
        case message(Message)
    }

    private enum State {
        case requestLine
        case fields
        case body(remaining: Int)
        case chunkSize
        case chunk(remaining: Int)
        case chunkEnd
        case trailers
    }

    private let limits: Limits
    private var state = State.requestLine
    private var partialLine: [UInt8] = []
    private var emptyLines = 0
    private var sectionSize = 0
    private var head = RequestHead(method: .get, target: "", minorVersion: 1, headers: [:])
    private var fields: [HTTPHeaders.Field] = []
    private var body: [UInt8] = []

    init(limits: Limits) {
        self.limits = limits
    }

    /// Uses up input until a request is whole, or the input is empty.
    ///
    /// - Throws: A fault; the parser can't be used again.
    mutating func consume(_ input: inout ArraySlice<UInt8>) throws(RequestFault) -> Step {
        while true {
            switch state {
            case .requestLine:
                guard let line = try takeLine(from: &input, limit: limits.line, status: 414) else {
                    return .needsInput
                }
                try readRequestLine(line)
            case .fields:
                let room = limits.fields - sectionSize
                guard let line = try takeLine(from: &input, limit: room, status: 431) else { return .needsInput }
                guard line.isEmpty else {
                    try readField(line)
                    continue
                }
                if try beginBody(), input.isEmpty { return .expectsContinue }
            case .body(let remaining):
                guard remaining > 0 else { return .message(finish(trailers: [])) }
                guard !input.isEmpty else { return .needsInput }
                state = .body(remaining: remaining - takeBody(from: &input, atMost: remaining))
            case .chunkSize:
                guard let line = try takeLine(from: &input, limit: limits.line, status: 400) else {
                    return .needsInput
                }
                try readChunkSize(line)
            case .chunk(let remaining):
                guard !input.isEmpty else { return .needsInput }
                let rest = remaining - takeBody(from: &input, atMost: remaining)
                state = rest == 0 ? .chunkEnd : .chunk(remaining: rest)
            case .chunkEnd:
                guard let line = try takeLine(from: &input, limit: 2, status: 400) else { return .needsInput }
                guard line.isEmpty else { throw RequestFault("a chunk is longer than its size") }
                state = .chunkSize
            case .trailers:
                let room = limits.fields - sectionSize
                guard let line = try takeLine(from: &input, limit: room, status: 431) else { return .needsInput }
                if line.isEmpty { return .message(finish(trailers: fields)) }
                try readField(line)
            }
        }
    }

    /// Takes a line without its CRLF, or `nil` if its end isn't there yet.
    private mutating func takeLine(
        from input: inout ArraySlice<UInt8>,
        limit: Int,
        status: Int
    ) throws(RequestFault) -> [UInt8]? {
        let end = input.firstIndex(of: 0x0A)
        let piece = input[..<(end ?? input.endIndex)]
        guard partialLine.count + piece.count + (end == nil ? 0 : 1) <= limit else {
            throw RequestFault(status, "a line or section is longer than the server accepts")
        }
        // Before the end of the line is there, so that a TLS hello, say, is refused and not waited on.
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
        sectionSize += partialLine.count + 2
        return partialLine
    }

    private mutating func readRequestLine(_ line: [UInt8]) throws(RequestFault) {
        if line.isEmpty {
            // RFC 9112 §2.2 asks to ignore an empty line before a request; more than a few is nobody's mistake.
            emptyLines += 1
            guard emptyLines <= 4 else { throw RequestFault("empty lines instead of a request") }
            return
        }
        let parts = line.split(separator: 0x20, omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw RequestFault("the request line doesn't have three parts") }
        guard let method = HTTPMethod(String(decoding: parts[0], as: UTF8.self)) else {
            throw RequestFault("the method is not a token")
        }
        guard parts[1].allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x23 }) else {
            throw RequestFault("the request target has a character it must not have")
        }
        let target = String(decoding: parts[1], as: UTF8.self)
        guard RequestHead.isTarget(target, for: method) else {
            throw RequestFault("the request target has none of the four forms")
        }
        let version = String(decoding: parts[2], as: UTF8.self)
        guard version.hasPrefix("HTTP/"), version.utf8.count == 8 else { throw RequestFault("no HTTP version") }
        guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
            throw RequestFault(505, "the server speaks HTTP/1.1")
        }
        head = RequestHead(
            method: method,
            target: target,
            minorVersion: version == "HTTP/1.1" ? 1 : 0,
            headers: [:]
        )
        sectionSize = 0
        state = .fields
    }

    private mutating func readField(_ line: [UInt8]) throws(RequestFault) {
        guard fields.count < limits.fieldCount else { throw RequestFault(431, "more than \(limits.fieldCount) fields") }
        guard let colon = line.firstIndex(of: 0x3A) else { throw RequestFault("a field line without a colon") }
        let name = String(decoding: line[..<colon], as: UTF8.self)
        guard HTTPSyntax.isToken(name) else { throw RequestFault("a field's name is not a token") }
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        let value = line[(colon + 1)...].drop(while: isSpace)
        let trimmed = value[..<((value.lastIndex { !isSpace($0) }).map { $0 + 1 } ?? value.startIndex)]
        fields.append(HTTPHeaders.Field(name: name, value: Self.text(trimmed)))
    }

    /// A field's value as text: UTF-8, or else ISO 8859-1, which has a character for each octet.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map(Unicode.Scalar.init)))
    }

    /// Ends the header section.
    ///
    /// - Returns: Whether the client expects `100 (Continue)` before it sends a body.
    private mutating func beginBody() throws(RequestFault) -> Bool {
        head.headers = HTTPHeaders(fields)
        fields = []
        sectionSize = 0
        switch try head.framing(maximumBodySize: limits.body) {
        case .length(let length):
            state = .body(remaining: length)
            body.reserveCapacity(min(length, 1 << 20))
            return length > 0 && head.expectsContinue
        case .chunked:
            state = .chunkSize
            return head.expectsContinue
        }
    }

    private mutating func takeBody(from input: inout ArraySlice<UInt8>, atMost count: Int) -> Int {
        let piece = input.prefix(count)
        body.append(contentsOf: piece)
        input = input.dropFirst(piece.count)
        return piece.count
    }

    private mutating func readChunkSize(_ line: [UInt8]) throws(RequestFault) {
        let digits = line.prefix { $0 != 0x3B && $0 != 0x20 && $0 != 0x09 }
        let rest = line[digits.endIndex...].drop { $0 == 0x20 || $0 == 0x09 }
        guard rest.isEmpty || rest.first == 0x3B else { throw RequestFault("a chunk's size is not a number") }
        guard !digits.isEmpty, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
            throw RequestFault("a chunk's size is not a number")
        }
        // A number that doesn't fit is larger than any limit.
        guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size <= limits.body - body.count
        else {
            throw RequestFault(413, "the body is larger than \(limits.body) octets")
        }
        sectionSize = 0
        state = size == 0 ? .trailers : .chunk(remaining: size)
    }

    private mutating func finish(trailers: [HTTPHeaders.Field]) -> Message {
        let message = Message(head: head, body: body, trailers: HTTPHeaders(trailers))
        body = []
        fields = []
        emptyLines = 0
        sectionSize = 0
        state = .requestLine
        return message
    }
}
