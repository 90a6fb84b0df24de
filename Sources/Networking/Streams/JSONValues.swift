import Foundation

/// The JSON values of a response, decoded while they're received.
///
/// A slow reader slows the server down, and at most one value is in memory. To end the transfer,
/// leave the loop or cancel the task.
public struct JSONValues<Value: Decodable & SendableMetatype>: AsyncSequence, Sendable {
    /// A decoded value.
    public typealias Element = Value

    /// The unused iterator, of which each reader gets a copy.
    let iterator: Iterator

    /// Creates an iterator, which sends the request when it's first used.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator { iterator }

    /// An iterator over the values.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        enum Source: Sendable {
            case body(HTTPResponseBody)
            case resource(Resource, NetworkClient)
        }

        /// `nil` once the source is open.
        var source: Source?
        var splitter: JSONSplitter
        let decoder: JSONDecoder
        var reader = BodyReader()
        /// The number of values so far, including those that couldn't be decoded.
        var count = 0
        var hasEnded = false

        /// Waits for the next value.
        ///
        /// - Returns: The value, or `nil` at the end of the stream.
        /// - Throws: ``ServerError`` or ``NetworkError`` if the request fails. ``NetworkError``
        ///   with the code `decoding` for a value that is malformed, incomplete or of another type,
        ///   and `bodyTooLarge` for one that is too large; the message has the value's index,
        ///   counted from 0. After a value that couldn't be decoded, the next call continues with
        ///   the next value, as it does after a defect in a text sequence. After any other error,
        ///   such as `CancellationError`, the stream has ended.
        public mutating func next() async throws -> Value? {
            guard !hasEnded else { return nil }
            let bytes: [UInt8]
            do {
                guard let next = try await nextBytes() else {
                    end()
                    return nil
                }
                bytes = next
            } catch let failure as JSONSplitter.Failure {
                defer { count += 1 }
                if !failure.isRecoverable(splitter.framing) { end() }
                throw failure.networkError(index: count)
            } catch {
                end()
                throw error
            }
            defer { count += 1 }
            do {
                return try decoder.decodeChecked(Value.self, from: Data(bytes))
            } catch {
                throw NetworkError(
                    .decoding,
                    "the value at index \(count) of the stream couldn't be decoded as \(Value.self)",
                    cause: DecodingFailure(error)
                )
            }
        }

        private mutating func nextBytes() async throws -> [UInt8]? {
            switch source.take() {
            case nil: break
            case .body(let body): reader = BodyReader(body)
            case .resource(let resource, let client):
                let accept = splitter.framing.accept
                let loop = AttemptLoop(client: client, resource: resource, delivery: .endless)
                let response = try await loop.run {
                    var base = try await resource.makeBase()
                    base.headers.setDefault("Accept", accept)
                    return base
                }
                guard response.status != 204, response.status != 205 else { return nil }
                reader = BodyReader(response.stream)
            }
            while true {
                if let value = try splitter.next(in: reader.part, from: &reader.index) { return value }
                guard try await reader.advance() else { return try splitter.finish() }
            }
        }

        private mutating func end() {
            hasEnded = true
            reader.close()
        }
    }
}

extension JSONSplitter.Failure {
    fileprivate func networkError(index: Int) -> NetworkError {
        switch self {
        case .tooLarge(let size):
            NetworkError(
                .bodyTooLarge,
                "the value at index \(index) of the stream is larger than \(size) bytes; raise maximumValueSize"
            )
        case .incomplete: .malformed("the stream ended before or within the value at index \(index)")
        case .truncated: .malformed("the value at index \(index) of the stream is truncated")
        case .misplaced: .malformed("the stream isn't framed as expected before the value at index \(index)")
        }
    }
}

extension NetworkError {
    fileprivate static func malformed(_ message: String) -> Self {
        let context = DecodingError.Context(codingPath: [], debugDescription: message)
        return Self(.decoding, message, cause: DecodingFailure(DecodingError.dataCorrupted(context)))
    }
}

/// The way in which the JSON values of a stream are separated.
@nonexhaustive
public enum JSONFraming: Sendable {
    /// One value per line, as in [NDJSON](https://github.com/ndjson/ndjson-spec) and
    /// [JSON Lines](https://jsonlines.org).
    ///
    /// Blank lines are skipped, and the last line needs no line feed.
    case lines
    /// Values that follow a record separator each
    /// ([RFC 7464](https://www.rfc-editor.org/rfc/rfc7464)), with the type `application/json-seq`.
    ///
    /// A number, `true`, `false` or `null` must end with white space, because it could otherwise be
    /// truncated.
    case textSequence
    /// Values that follow each other, with or without white space.
    case concatenated
    /// The elements of one array, which is the whole body.
    case arrayElements

    var accept: String {
        switch self {
        case .lines: "application/x-ndjson, application/jsonl"
        case .textSequence: "application/json-seq"
        case .concatenated, .arrayElements: "application/json"
        }
    }
}

/// A splitter of a stream into its JSON values.
///
/// It finds the end of each value by its brackets and strings, and leaves the rest of the syntax to
/// the decoder. It takes bytes in parts of any size and keeps at most one value in memory.
struct JSONSplitter: Sendable {
    enum Failure: Error, Equatable {
        /// The value is the maximum size in bytes.
        case tooLarge(Int)
        /// The stream ended within a value, or before the end of the array.
        case incomplete
        /// Another value began within a value of a text sequence.
        case truncated
        /// There's a byte that can't occur between two values.
        case misplaced

        func isRecoverable(_ framing: JSONFraming) -> Bool {
            framing == .textSequence && (self == .truncated || self == .misplaced)
        }
    }

    private enum Expectation {
        /// The array's bracket or the first record separator.
        case opening
        /// A value, or the end of the array or stream.
        case valueOrEnd
        case value
        /// A comma or record separator, or the end of the array or stream.
        case separator
        /// Nothing but white space, after the array.
        case nothing
        /// A record separator, after a defect.
        case resumption
    }

    let framing: JSONFraming
    private let maximumSize: Int
    private var expectation: Expectation
    /// The bytes of the incomplete value.
    private var value: [UInt8] = []

    // The position in the incomplete value.
    private var isInValue = false
    private var isScalar = false
    private var depth = 0
    private var isInString = false
    private var isEscaped = false

    init(_ framing: JSONFraming, maximumSize: Int) {
        self.framing = framing
        self.maximumSize = maximumSize
        expectation = framing == .concatenated ? .valueOrEnd : .opening
    }

    /// Returns `nil` at the end of the part; after a recoverable failure, the splitter can be used.
    mutating func next(in bytes: [UInt8], from index: inout Int) throws(Failure) -> [UInt8]? {
        if framing == .lines { return try nextLine(in: bytes, from: &index) }
        while index < bytes.count {
            if isInValue {
                if try continueValue(in: bytes, from: &index) { return takeValue() }
            } else {
                try beginValue(bytes[index], &index)
            }
        }
        return nil
    }

    mutating func finish() throws(Failure) -> [UInt8]? {
        switch framing {
        case .lines: return value.allSatisfy(\.isJSONWhitespace) ? nil : takeValue()
        case .concatenated:
            guard isInValue else { return nil }
            guard isScalar else { throw .incomplete }
            return takeValue()
        case .textSequence: if isInValue { throw .incomplete }
        case .arrayElements: if expectation != .nothing { throw .incomplete }
        }
        return nil
    }

    private mutating func takeValue() -> [UInt8] {
        defer { value = [] }
        isInValue = false
        return value
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>) throws(Failure) {
        guard bytes.count <= maximumSize - value.count else { throw .tooLarge(maximumSize) }
        value += bytes
    }

    // MARK: Lines

    private mutating func nextLine(in bytes: [UInt8], from index: inout Int) throws(Failure) -> [UInt8]? {
        while index < bytes.count {
            let rest = bytes[index...]
            let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
            try append(rest[..<end])
            index = min(end + 1, bytes.count)
            guard end < bytes.count else { return nil }
            let line = takeValue()
            if !line.allSatisfy(\.isJSONWhitespace) { return line }
        }
        return nil
    }

    // MARK: Between values

    private mutating func beginValue(_ byte: UInt8, _ index: inout Int) throws(Failure) {
        if byte.isJSONWhitespace {
            index += 1
            return
        }
        if let next = expectation(after: byte) {
            expectation = next
            index += 1
            return
        }
        switch byte {
        case _ where expectation != .value && expectation != .valueOrEnd,
            UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "]"), UInt8(ascii: "}"):
            expectation = .resumption
            throw .misplaced
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""): isScalar = false
        default: isScalar = true
        }
        (isInValue, depth, isInString, isEscaped) = (true, 0, false, false)
        expectation = framing == .concatenated ? .valueOrEnd : .separator
    }

    /// Returns `nil` for a byte that doesn't separate values.
    private func expectation(after byte: UInt8) -> Expectation? {
        switch (framing, expectation, byte) {
        case (.textSequence, _, .recordSeparator): .valueOrEnd
        case (.textSequence, .resumption, _): .resumption
        case (.arrayElements, .opening, UInt8(ascii: "[")): .valueOrEnd
        case (.arrayElements, .valueOrEnd, UInt8(ascii: "]")): .nothing
        case (.arrayElements, .separator, UInt8(ascii: "]")): .nothing
        case (.arrayElements, .separator, UInt8(ascii: ",")): .value
        default: nil
        }
    }

    // MARK: Within values

    /// Returns `true` at the end of the value.
    private mutating func continueValue(in bytes: [UInt8], from index: inout Int) throws(Failure) -> Bool {
        let start = index
        let separator = framing == .textSequence ? bytes[start...].firstIndex(of: .recordSeparator) : nil
        let rest = bytes[start..<(separator ?? bytes.count)]
        let isComplete = isScalar ? skipScalar(rest, &index) : skipBrackets(rest, &index)
        if separator != nil, !isComplete {
            _ = takeValue()
            throw .truncated
        }
        try append(bytes[start..<index])
        return isComplete
    }

    private func skipScalar(_ bytes: ArraySlice<UInt8>, _ index: inout Int) -> Bool {
        while index < bytes.endIndex, !bytes[index].endsJSONScalar { index += 1 }
        return index < bytes.endIndex
    }

    private mutating func skipBrackets(_ bytes: ArraySlice<UInt8>, _ index: inout Int) -> Bool {
        // The state is in local variables, because each access to a property takes time.
        var (position, depth, isInString, isEscaped) = (index, depth, isInString, isEscaped)
        var isComplete = false
        while position < bytes.endIndex, !isComplete {
            let byte = bytes[position]
            position += 1
            if isEscaped {
                isEscaped = false
            } else if isInString {
                guard byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
                isEscaped = byte == UInt8(ascii: "\\")
                isInString = isEscaped
                isComplete = !isInString && depth == 0
            } else if byte == UInt8(ascii: "\"") {
                isInString = true
            } else if byte | 0x20 == UInt8(ascii: "{") {
                // A bracket and the brace with the same direction differ only in this bit.
                depth += 1
            } else if byte | 0x20 == UInt8(ascii: "}") {
                depth -= 1
                isComplete = depth == 0
            }
        }
        (index, self.depth, self.isInString, self.isEscaped) = (position, depth, isInString, isEscaped)
        return isComplete
    }
}

extension UInt8 {
    /// [RFC 7464](https://www.rfc-editor.org/rfc/rfc7464).
    fileprivate static var recordSeparator: UInt8 { 0x1E }

    fileprivate var isJSONWhitespace: Bool {
        switch self {
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): true
        default: false
        }
    }

    /// A byte that can't be part of a number or literal.
    fileprivate var endsJSONScalar: Bool {
        switch self {
        case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: "["),
            UInt8(ascii: "{"), UInt8(ascii: "\""):
            true
        default: isJSONWhitespace
        }
    }
}
