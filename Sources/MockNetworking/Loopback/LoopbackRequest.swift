public import Foundation
public import Networking

/// A complete request that the loopback server received.
public struct LoopbackRequest: Sendable {
    /// The method.
    public let method: HTTPMethod
    /// The request target as sent, usually a path and a query.
    public let target: String
    /// The header fields in the order in which they arrived.
    public let headers: HTTPHeaders
    /// The trailer fields of a chunked body.
    public let trailers: HTTPHeaders
    /// The body, with the chunked coding removed.
    public let body: Data
    /// The protocol version, `HTTP/1.1` or `HTTP/1.0`.
    public let version: String
    /// The number of the connection; the first connection has the number 1.
    public let connection: Int
    /// The time at which the request was complete.
    public let arrival: ContinuousClock.Instant
    /// The certificate that the client presented in the TLS handshake, in DER; `nil` without one.
    public let clientCertificateDER: Data?

    /// The path as sent, with percent escapes, without the query.
    ///
    /// For the absolute form, which clients send to a proxy, it's the path in the URL. For a target
    /// without a path (`CONNECT` and `OPTIONS *`), it's the whole target.
    public var path: String {
        let target = originForm
        return String(target.prefix { $0 != "?" })
    }

    /// The query as sent, without the question mark; `nil` without one.
    public var query: String? {
        let target = originForm
        return target.firstIndex(of: "?").map { String(target[target.index(after: $0)...]) }
    }

    /// The names and values in the query, in order, decoded with `+` as a space.
    public var queryItems: [URLQueryItem] { query.map { FormText.items(in: $0.utf8) } ?? [] }

    /// The names and values in an `application/x-www-form-urlencoded` body, in order; the
    /// `Content-Type` isn't checked.
    public var formItems: [URLQueryItem] { FormText.items(in: body) }

    /// Returns the first value with a name in the query.
    ///
    /// - Parameter name: The decoded name.
    /// - Returns: The value, or `nil` if the query doesn't contain the name.
    public func queryValue(_ name: String) -> String? { queryItems.first { $0.name == name }?.value }

    /// Returns the first value with a name in the body's form.
    ///
    /// - Parameter name: The decoded name.
    /// - Returns: The value, or `nil` if the form doesn't contain the name.
    public func formValue(_ name: String) -> String? { formItems.first { $0.name == name }?.value }

    private var originForm: Substring {
        guard !target.hasPrefix("/"), let scheme = target.range(of: "://") else { return target[...] }
        let rest = target[scheme.upperBound...]
        return rest.firstIndex { $0 == "/" || $0 == "?" }.map { rest[$0...] } ?? "/"
    }
}

extension LoopbackRequest {
    init(
        _ message: RequestParser.Message,
        connection: Int,
        arrival: ContinuousClock.Instant,
        clientCertificateDER: Data? = nil
    ) {
        method = message.head.method
        target = message.head.target
        headers = message.head.headers
        trailers = message.trailers
        body = Data(message.body)
        version = message.head.minorVersion == 1 ? "HTTP/1.1" : "HTTP/1.0"
        self.connection = connection
        self.arrival = arrival
        self.clientCertificateDER = clientCertificateDER
    }
}

enum FormText {
    /// Returns the names and values, in order; a name without `=` has no value.
    static func items(in text: some Sequence<UInt8>) -> [URLQueryItem] {
        Array(text).split(separator: UInt8(ascii: "&")).map { pair in
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map { String(decoding: FormURLEncoded.decodeLeniently($0), as: UTF8.self) }
            return URLQueryItem(name: parts[0], value: parts.count > 1 ? parts[1] : nil)
        }
    }
}

struct RequestParser: Sendable {
    struct Limits: Sendable, Equatable {
        var head = RequestHeadReader.Limits()
        var body = 64 << 20
    }

    struct Message: Equatable, Sendable {
        var head: RequestHead
        var body: [UInt8]
        var trailers: HTTPHeaders
    }

    enum Step: Equatable, Sendable {
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
