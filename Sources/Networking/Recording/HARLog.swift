package import Foundation

/// A recording in the format HTTP Archive 1.2, which browsers' developer tools read and write
/// ([specification](http://www.softwareishard.com/blog/har-12-spec/)).
///
/// As the specification requires, names of custom members begin with an underscore.
package struct HARLog: Decodable {
    private let version: String
    private let creator: Creator
    package private(set) var entries: [HAREntry]

    private struct Creator: Decodable {
        let name: String
        let version: String
    }

    private struct Document: Decodable {
        let log: HARLog
    }

    /// Decodes a recording.
    ///
    /// A recording that is truncated in the middle of an entry, for example by a system crash, is
    /// decoded up to that entry if each entry is on its own line, as in this library's recordings.
    ///
    /// - Throws: ``NetworkError`` with the code `decoding`.
    package init(_ data: Data) throws(NetworkError) {
        do {
            self = try JSONDecoder().decode(Document.self, from: data).log
        } catch {
            guard let log = Self.repaired(data) else {
                throw NetworkError(.decoding, "the file isn't a HAR 1.2 recording", cause: DecodingFailure(error))
            }
            self = log
        }
    }

    private static func repaired(_ data: Data) -> HARLog? {
        var lines = data.split(separator: UInt8(ascii: "\n"))
        guard !lines.isEmpty,
            var log = try? JSONDecoder().decode(Document.self, from: lines.removeFirst() + Data(tail.utf8)).log
        else { return nil }
        for var line in lines {
            if line.last == UInt8(ascii: ",") { line.removeLast() }
            guard let entry = try? JSONDecoder().decode(HAREntry.self, from: line) else { break }
            log.entries.append(entry)
        }
        return log
    }

    // MARK: Incremental writing

    /// The text before the entries, on its own line.
    static let head =
        #"{"log":{"creator":{"name":"swift-authenticated-client","version":"0"},"entries":["# + "\n"

    /// The text after the entries.
    static let tail = #"],"version":"1.2"}}"# + "\n"

    static func line(_ entry: HAREntry) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(entry)
    }
}
