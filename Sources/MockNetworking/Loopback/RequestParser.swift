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
        case chunks
    }

    private let limits: Limits
    private var reader: RequestHeadReader
    private var state = State.head
    private var head = RequestHead(method: .get, target: "", minorVersion: 1, headers: [:])
    private var body: [UInt8] = []
    private var chunks = ChunkedBodyReader(limit: 0)

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
                let piece = input.prefix(remaining)
                body.append(contentsOf: piece)
                input = input.dropFirst(piece.count)
                state = .body(remaining: remaining - piece.count)
            case .chunks:
                guard let trailers = try chunks.consume(&input, &reader) else { return .needsInput }
                (body, chunks) = (chunks.body, ChunkedBodyReader(limit: 0))
                return .message(finish(trailers: trailers))
            }
        }
    }

    /// Processes the end of the header, and returns whether the client expects `100 (Continue)`.
    private mutating func beginBody(of head: RequestHead) throws(RequestFault) -> Bool {
        self.head = head
        switch try head.framing(maximumBodySize: limits.body) {
        case .length(let length):
            state = .body(remaining: length)
            body.reserveCapacity(min(length, 1 << 20))
            return length > 0 && head.expectsContinue
        case .chunked:
            chunks = ChunkedBodyReader(limit: limits.body, lineLimit: limits.head.line)
            state = .chunks
            return head.expectsContinue
        }
    }

    private mutating func finish(trailers: HTTPHeaders) -> Message {
        defer { (body, state) = ([], .head) }
        return Message(head: head, body: body, trailers: trailers)
    }
}
