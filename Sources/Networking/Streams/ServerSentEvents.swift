public import Foundation

/// The events of a server-sent event stream, received while they're read.
///
/// Each iterator makes its own requests, beginning with the first ``Iterator/next()``. A slow
/// reader slows the server down. To end the stream, leave the loop or cancel the task: the
/// connection closes at once.
public struct ServerSentEvents: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = ServerSentEvent

    /// The unread stream, of which each iterator gets a copy.
    let stream: EventStream

    /// Creates an iterator, which connects when it's first used.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(stream: stream) }

    /// An iterator over events.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var stream: EventStream

        /// Waits for the next event, and reconnects as often as necessary.
        ///
        /// - Returns: The event, or `nil` at the end of the stream.
        /// - Throws: ``ServerError`` or ``NetworkError`` for a failure that the policy doesn't
        ///   retry. ``NetworkError`` with the code `invalidResponse` if the response isn't an event
        ///   stream, `bodyTooLarge` if an event is too large. `CancellationError` if the task is
        ///   cancelled. After an error, the stream has ended.
        public mutating func next() async throws -> ServerSentEvent? {
            try await stream.next()
        }
    }
}

/// An event of a server-sent event stream
/// ([WHATWG HTML §9.2](https://html.spec.whatwg.org/multipage/server-sent-events.html)).
public struct ServerSentEvent: Sendable, Hashable {
    /// The last event ID of the stream, which this event or an earlier one set; empty if none did.
    ///
    /// Store it to continue the stream later, with the parameter `lastEventID`.
    public var id: String
    /// The type of the event; `message` if the server doesn't name one.
    public var event: String
    /// The data, with its lines separated by line feeds.
    public var data: String
    /// The time to wait before reconnecting that the server sent with this event, at most an hour;
    /// `nil` if it sent none.
    ///
    /// The client applies it by itself.
    public var retry: Duration?

    /// Creates an event, for tests.
    public init(id: String = "", event: String = "message", data: String, retry: Duration? = nil) {
        self.id = id
        self.event = event
        self.data = data
        self.retry = retry
    }

    /// Decodes the data as JSON.
    ///
    /// - Parameters:
    ///   - model: The type of the model.
    ///   - decoder: The decoder. The default is a plain `JSONDecoder`.
    /// - Returns: The model.
    /// - Throws: ``NetworkError`` with the code `decoding` and a ``DecodingFailure`` as its cause.
    public func decode<Model: Decodable>(
        as model: Model.Type = Model.self,
        decoder: JSONDecoder = JSONDecoder()
    ) throws -> Model {
        do {
            return try decoder.decodeChecked(model, from: Data(data.utf8))
        } catch {
            throw NetworkError(
                .decoding,
                "the data of a server-sent event couldn't be decoded as \(model)",
                cause: DecodingFailure(error)
            )
        }
    }
}

/// A parser of event streams
/// ([WHATWG HTML §9.2.6](https://html.spec.whatwg.org/multipage/server-sent-events.html)).
///
/// It takes bytes in parts of any size and keeps at most one line and one event in memory.
struct ServerSentEventParser {
    /// The longest time before reconnecting that a server can ask for.
    static let maximumRetry = Duration.seconds(3600)

    /// The ID to send when reconnecting: that of the last complete block.
    private(set) var lastEventID: String
    private(set) var reconnectionTime: Duration?

    private let maximumSize: Int
    private var line: [UInt8] = []
    private var isFirstLine = true
    /// A Boolean value that indicates whether a line feed would belong to the previous line's end.
    private var followsCarriageReturn = false

    // The fields of the incomplete event.
    private var data: [UInt8] = []
    private var type: [UInt8] = []
    private var id: String
    private var retry: Duration?

    init(lastEventID: String = "", maximumSize: Int) {
        self.lastEventID = lastEventID
        id = lastEventID
        self.maximumSize = maximumSize
    }

    /// Drops an incomplete event.
    mutating func restart() {
        var parser = Self(lastEventID: lastEventID, maximumSize: maximumSize)
        parser.reconnectionTime = reconnectionTime
        self = parser
    }

    /// Returns `nil` at the end of the part; after an error, the parser can't be used.
    mutating func next(in bytes: [UInt8], from index: inout Int) throws(NetworkError) -> ServerSentEvent? {
        while index < bytes.count {
            if followsCarriageReturn {
                followsCarriageReturn = false
                if bytes[index] == UInt8(ascii: "\n") {
                    index += 1
                    continue
                }
            }
            var end = index
            while end < bytes.count, bytes[end] != UInt8(ascii: "\n"), bytes[end] != UInt8(ascii: "\r") { end += 1 }
            guard end - index <= maximumSize - line.count else { throw excess("a line") }
            let range = index..<end
            index = end
            guard end < bytes.count else {
                line += bytes[range]
                return nil
            }
            followsCarriageReturn = bytes[end] == UInt8(ascii: "\r")
            index += 1
            let event = try line.isEmpty ? endLine(bytes, range) : endDividedLine(with: bytes[range])
            if let event { return event }
        }
        return nil
    }

    private mutating func endDividedLine(with rest: ArraySlice<UInt8>) throws(NetworkError) -> ServerSentEvent? {
        let whole = line + rest
        line = []
        return try endLine(whole, whole.indices)
    }

    private mutating func endLine(_ bytes: [UInt8], _ line: Range<Int>) throws(NetworkError) -> ServerSentEvent? {
        var start = line.lowerBound
        if isFirstLine {
            isFirstLine = false
            if bytes[line].starts(with: [0xEF, 0xBB, 0xBF]) { start += 3 }
        }
        guard start < line.upperBound else { return dispatch() }
        var colon = start
        while colon < line.upperBound, bytes[colon] != UInt8(ascii: ":") { colon += 1 }
        var value = min(colon + 1, line.upperBound)
        if value < line.upperBound, bytes[value] == UInt8(ascii: " ") { value += 1 }
        try setField(bytes[start..<colon], to: bytes[value..<line.upperBound])
        return nil
    }

    /// Ignores unknown names and comments, whose name is empty.
    private mutating func setField(_ name: ArraySlice<UInt8>, to value: ArraySlice<UInt8>) throws(NetworkError) {
        switch name.count {
        case 4 where name.elementsEqual("data".utf8):
            guard value.count < maximumSize - data.count else { throw excess("the data of an event") }
            data += value
            data.append(UInt8(ascii: "\n"))
        case 5 where name.elementsEqual("event".utf8): type = Array(value)
        case 2 where name.elementsEqual("id".utf8):
            if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
        case 5 where name.elementsEqual("retry".utf8):
            guard let time = Self.milliseconds(value) else { return }
            retry = time
            reconnectionTime = time
        default: break
        }
    }

    private mutating func dispatch() -> ServerSentEvent? {
        lastEventID = id
        defer {
            type = []
            retry = nil
        }
        guard !data.isEmpty else { return nil }
        defer { data.removeAll(keepingCapacity: true) }
        return ServerSentEvent(
            id: id,
            event: type.isEmpty ? "message" : String(decoding: type, as: UTF8.self),
            data: String(decoding: data.dropLast(), as: UTF8.self),
            retry: retry
        )
    }

    /// Returns `nil` unless the value consists of digits.
    private static func milliseconds(_ value: ArraySlice<UInt8>) -> Duration? {
        guard !value.isEmpty, value.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        // A number that doesn't fit in an `Int32` exceeds the maximum.
        return min(.milliseconds(Int32(String(decoding: value, as: UTF8.self)) ?? .max), maximumRetry)
    }

    private func excess(_ part: String) -> NetworkError {
        NetworkError(
            .bodyTooLarge,
            "\(part) of the event stream is larger than \(maximumSize) bytes; raise maximumEventSize"
        )
    }
}
