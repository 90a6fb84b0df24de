/// The lines of a file or a pipe, one at a time, however long the whole is.
struct LineReader: ~Copyable {
    /// One line without its line break.
    enum Line: Equatable {
        case octets([UInt8])
        /// It has more octets than the limit and was passed over.
        case tooLong
    }

    private let file: FileDescriptor
    private let limit: Int
    private var chunk = [UInt8](repeating: 0, count: 65_536)
    private var rest: Range<Int> = 0..<0
    private var readCount = 0

    /// How many octets there will be; `nil` if nobody knows.
    let totalCount: Int?
    /// How many octets the lines so far have, line breaks included.
    var octetCount: Int { readCount - rest.count }

    /// - Parameters:
    ///   - file: Where the lines are.
    ///   - limit: The most octets of a line.
    init(_ file: consuming FileDescriptor, limit: Int) {
        totalCount = file.remainingCount
        self.file = file
        self.limit = limit
    }

    /// The next line; the last one needs no line break.
    ///
    /// - Parameter beforeWaiting: Called before reading may take a while, because whoever writes is waiting for our answers.
    /// - Returns: The line, or `nil` at the end.
    /// - Throws: `FileDescriptor.Failure`, and whatever the closure throws.
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
