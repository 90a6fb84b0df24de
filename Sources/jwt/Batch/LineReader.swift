/// A reader that returns one line at a time, so that input of any size fits in memory.
struct LineReader: ~Copyable {
    /// A line without its line break.
    enum Line: Equatable {
        case octets([UInt8])
        /// A line that exceeds the size limit and was skipped.
        case tooLong
    }

    private let file: FileDescriptor
    private let limit: Int
    private var chunk = [UInt8](repeating: 0, count: 65_536)
    private var rest: Range<Int> = 0..<0
    private var readCount = 0

    /// The total number of input bytes, or `nil` if it is unknown.
    let totalCount: Int?
    /// The number of bytes in the lines so far, including line breaks.
    var octetCount: Int { readCount - rest.count }

    /// Creates a reader of lines with a maximum size in bytes.
    init(_ file: consuming FileDescriptor, limit: Int) {
        totalCount = file.remainingCount
        self.file = file
        self.limit = limit
    }

    /// Returns the next line, even if the last one has no line break, or `nil` at the end.
    ///
    /// It calls the closure before a read that may block: the writer may be waiting for a response.
    mutating func next(beforeWaiting: () throws -> Void) throws -> Line? {
        var line: [UInt8] = []
        var isTooLong = false
        while true {
            if rest.isEmpty {
                if !file.isReadable { try beforeWaiting() }
                let count = try file.read(into: &chunk)
                if count == 0 { return isTooLong ? .tooLong : line.isEmpty ? nil : .octets(line) }
                rest = 0..<count
                readCount += count
            }
            let end = chunk[rest].firstIndex(of: UInt8(ascii: "\n"))
            if line.count + (end ?? rest.upperBound) - rest.lowerBound > limit {
                isTooLong = true
                line = []
            } else if !isTooLong {
                line += chunk[rest.lowerBound..<(end ?? rest.upperBound)]
            }
            if let end {
                rest = (end + 1)..<rest.upperBound
                return isTooLong ? .tooLong : .octets(line)
            }
            rest = rest.upperBound..<rest.upperBound
        }
    }
}
