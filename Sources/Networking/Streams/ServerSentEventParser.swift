/// A parser of event streams
/// ([WHATWG HTML §9.2.6](https://html.spec.whatwg.org/multipage/server-sent-events.html)).
///
/// It takes bytes in parts of any size and keeps at most one line and one event in memory.
struct ServerSentEventParser {
    /// The longest time to wait before reconnecting that a server can ask for.
    static let maximumRetry = Duration.seconds(3600)

    /// The ID to send when reconnecting: that of the last complete block.
    private(set) var lastEventID: String
    /// The time to wait before reconnecting, once the server has sent one.
    private(set) var reconnectionTime: Duration?

    /// The maximum size of a line, and of an event's data, in bytes.
    private let maximumSize: Int
    /// The incomplete line.
    private var line: [UInt8] = []
    private var isFirstLine = true
    /// A Boolean value that indicates whether a line feed would belong to the previous line's end.
    private var followsCarriageReturn = false

    // The fields of the incomplete event.
    private var data: [UInt8] = []
    private var type: [UInt8] = []
    private var id: String
    private var retry: Duration?

    /// Creates a parser with the ID before the first event.
    init(lastEventID: String = "", maximumSize: Int) {
        self.lastEventID = lastEventID
        id = lastEventID
        self.maximumSize = maximumSize
    }

    /// Prepares for another connection: an incomplete event is dropped.
    mutating func restart() {
        var parser = Self(lastEventID: lastEventID, maximumSize: maximumSize)
        parser.reconnectionTime = reconnectionTime
        self = parser
    }

    /// Reads a part of the stream up to the end of the next event, and returns the event, or `nil`
    /// at the end of the part.
    ///
    /// - Throws: ``NetworkError`` with the code `bodyTooLarge`; the parser can't be used further.
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

    /// Ends a line that began in an earlier part.
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

    /// Sets a field; a comment has an empty name, and is ignored like unknown names.
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

    /// Returns the time if the value consists of digits, capped at ``maximumRetry``.
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
