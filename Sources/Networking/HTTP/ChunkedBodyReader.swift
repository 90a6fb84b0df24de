/// A parser for content with the chunked transfer coding
/// ([RFC 9112 §7.1](https://www.rfc-editor.org/rfc/rfc9112#section-7.1)), in bytes that arrive in
/// pieces of any size.
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
    /// The decoded content so far.
    package private(set) var body: [UInt8] = []

    /// Creates a reader with the maximum sizes of the decoded content and of a line with a chunk's
    /// size, in bytes.
    package init(limit: Int, lineLimit: Int = RequestHeadReader.Limits().line) {
        self.limit = limit
        self.lineLimit = lineLimit
    }

    /// Consumes input until the content is complete or the input is empty.
    ///
    /// - Returns: The trailer fields; `nil` if the content is incomplete.
    /// - Throws: A fault; the reader can't be used again.
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
        guard !digits.isEmpty, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
            throw RequestFault("a chunk's size isn't a number")
        }
        // A number that doesn't fit in an Int exceeds every limit.
        guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size <= limit - body.count else {
            throw RequestFault(413, "the body is larger than \(limit) bytes")
        }
        state = size == 0 ? .trailers : .chunk(remaining: size)
    }
}
