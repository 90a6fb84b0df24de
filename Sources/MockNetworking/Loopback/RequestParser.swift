import Networking

/// An incremental parser of requests.
struct RequestParser: Sendable {
    /// The limits on the server's memory use for a peer.
    struct Limits: Sendable, Equatable {
        var head = RequestHeadReader.Limits()
        /// The maximum size of the decoded body in bytes.
        var body = 64 << 20
    }

    /// A complete request.
    struct Message: Equatable, Sendable {
        var head: RequestHead
        var body: [UInt8]
        var trailers: HTTPHeaders
    }

    /// The result of parsing the available bytes.
    enum Step: Equatable, Sendable {
        /// The input is consumed, but the request is incomplete.
        case needsInput
        /// The head is complete, and the client may be waiting for `100 (Continue)`.
        case expectsContinue
        /// A request is complete; the remaining input belongs to the next one.
        case message(Message)
    }

    private enum State {
        case head
        case body(remaining: Int)
        case chunkSize
        case chunk(remaining: Int)
        case chunkEnd
        case trailers
    }

    private let limits: Limits
    private var reader: RequestHeadReader
    private var state = State.head
    private var head = RequestHead(method: .get, target: "", minorVersion: 1, headers: [:])
    private var body: [UInt8] = []

    init(limits: Limits) {
        self.limits = limits
        reader = RequestHeadReader(limits: limits.head)
    }

    /// Consumes input until a request is complete or the input is empty.
    ///
    /// - Throws: A fault, after which the parser can't be used again.
    mutating func consume(_ input: inout ArraySlice<UInt8>) throws(RequestFault) -> Step {
        while true {
            switch state {
            case .head:
                guard let head = try reader.readHead(from: &input) else { return .needsInput }
                if try beginBody(of: head), input.isEmpty { return .expectsContinue }
            case .body(let remaining):
                guard remaining > 0 else { return .message(finish(trailers: [:])) }
                guard !input.isEmpty else { return .needsInput }
                state = .body(remaining: remaining - takeBody(from: &input, atMost: remaining))
            case .chunkSize:
                guard let line = try reader.readLine(from: &input, limit: limits.head.line, status: 400) else {
                    return .needsInput
                }
                try readChunkSize(line)
            case .chunk(let remaining):
                guard !input.isEmpty else { return .needsInput }
                let rest = remaining - takeBody(from: &input, atMost: remaining)
                state = rest == 0 ? .chunkEnd : .chunk(remaining: rest)
            case .chunkEnd:
                guard let line = try reader.readLine(from: &input, limit: 2, status: 400) else { return .needsInput }
                guard line.isEmpty else { throw RequestFault("a chunk is longer than its size") }
                state = .chunkSize
            case .trailers:
                guard let trailers = try reader.readFields(from: &input) else { return .needsInput }
                return .message(finish(trailers: trailers))
            }
        }
    }

    /// Processes the end of the header.
    ///
    /// - Returns: Whether the client expects `100 (Continue)` before it sends a body.
    private mutating func beginBody(of head: RequestHead) throws(RequestFault) -> Bool {
        self.head = head
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
        guard rest.isEmpty || rest.first == 0x3B else { throw RequestFault("a chunk's size isn't a number") }
        guard !digits.isEmpty, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
            throw RequestFault("a chunk's size isn't a number")
        }
        // A number that doesn't fit in an Int exceeds every limit.
        guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size <= limits.body - body.count
        else {
            throw RequestFault(413, "the body is larger than \(limits.body) bytes")
        }
        state = size == 0 ? .trailers : .chunk(remaining: size)
    }

    private mutating func finish(trailers: HTTPHeaders) -> Message {
        defer { (body, state) = ([], .head) }
        return Message(head: head, body: body, trailers: trailers)
    }
}
