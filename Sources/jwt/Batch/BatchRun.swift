import Glibc
import TokenGeneration

/// A batch: each line of input produces one line of JSON, in order, even if some lines are invalid.
struct BatchRun {
    enum Result {
        /// A token, which needs no JSON escapes.
        case token(String)
        case object(JSONObject)
        case refused(JSONObject)
    }

    static let flag = Flag(
        "batch",
        "Process standard input line by line, and print one line of JSON for each in the same order"
    )

    private static let bufferSize = 65_536

    let input: InputFile
    /// The members of the result of a line that failed, besides its error.
    var failureMembers: JSONObject = [:]

    /// Prints buffered results if the buffer is full or the next line isn't available yet, so that
    /// pipes stay fast and a program that waits for each result receives it.
    ///
    /// - Throws: ``CommandFailure`` with the code `rejected` after the last line if at least one
    ///   line failed.
    func run(on console: Console, _ body: ([UInt8]) throws -> Result) throws {
        let flushesLines = FileDescriptor.standard(STDOUT_FILENO).isTerminal
        var output: [UInt8] = []
        output.reserveCapacity(Self.bufferSize + 4_096)
        var (count, refusedCount) = (0, 0)
        let flush = { (output: inout [UInt8]) throws(CommandFailure) in
            if output.isEmpty { return }
            try console.write(output)
            output.removeAll(keepingCapacity: true)
        }
        let subject = "\(input.name): can't be read"
        var reader = try CommandFailure.reporting(at: subject) {
            let file =
                input.isStandardInput ? FileDescriptor.standard(STDIN_FILENO) : try FileDescriptor(reading: input.path)
            return LineReader(file, limit: TokenInput.sizeLimit)
        }
        var progress = BatchProgress(on: console, total: reader.totalCount)
        defer { progress?.end() }
        while let line = try CommandFailure.reporting(at: subject, { try reader.next { try flush(&output) } }) {
            count += 1
            let result = result(of: line, body)
            if case .refused = result { refusedCount += 1 }
            Self.append(result, to: &output)
            if flushesLines || output.count >= Self.bufferSize { try flush(&output) }
            progress?.move(to: reader.octetCount)
        }
        try flush(&output)
        progress?.end(isComplete: true)
        guard refusedCount == 0 else {
            throw CommandFailure(.rejected, "\(refusedCount) of \(count) lines failed")
        }
    }

    static func object(in line: [UInt8]) throws(TokenError) -> JSONObject {
        do throws(TokenError) {
            return try JSONObject(parsing: line, limits: .document)
        } catch {
            throw TokenError(error.code, "claims must be a JSON object: \(error.message)", cause: error)
        }
    }

    static func token(in line: [UInt8]) throws(TokenError) -> String {
        guard let token = String(validating: line, as: UTF8.self) else {
            throw TokenError(.malformedToken, "not a token: the input isn't valid UTF-8")
        }
        return TokenInput.unwrapped(token)
    }

    private func result(of line: LineReader.Line, _ body: ([UInt8]) throws -> Result) -> Result {
        guard case .octets(let octets) = line else {
            return refusal("tooLarge", "the line is longer than \(TokenInput.sizeLimit >> 20) MiB")
        }
        do {
            return try body(TokenInput.trimmed(octets))
        } catch let error as TokenError {
            return refusal(error.code.description, error.message)
        } catch let error as CommandFailure {
            return refusal(error.reason, error.message)
        } catch let error as ValueError {
            return refusal("duplicateClaim", error.message)
        } catch {
            return refusal("failed", "\(error)")
        }
    }

    private func refusal(_ code: String, _ message: String) -> Result {
        var report = failureMembers
        report["error"] = ["code": .string(code), "message": .string(CommandWords.plain(message))]
        return .refused(report)
    }

    private static func append(_ result: Result, to output: inout [UInt8]) {
        switch result {
        case .token(let token):
            output += "{\"token\":\"".utf8
            output += token.utf8
            output += "\"}\n".utf8
        case .object(let object), .refused(let object):
            output += VisibleText.json(object.serialized()).utf8
            output.append(UInt8(ascii: "\n"))
        }
    }
}

struct LineReader: ~Copyable {
    enum Line: Equatable {
        case octets([UInt8])
        case tooLong
    }

    private let file: FileDescriptor
    private let limit: Int
    private var chunk = [UInt8](repeating: 0, count: 65_536)
    private var rest: Range<Int> = 0..<0
    private var readCount = 0

    /// The total number of input bytes, or `nil` if it is unknown.
    let totalCount: Int?
    var octetCount: Int { readCount - rest.count }

    init(_ file: consuming FileDescriptor, limit: Int) {
        totalCount = file.remainingCount
        self.file = file
        self.limit = limit
    }

    /// Returns the next line, and calls the closure before a read that may block, because the
    /// writer may be waiting for a response.
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
