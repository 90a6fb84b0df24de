package import Foundation

/// A recording in the format HTTP Archive 1.2, which browsers' developer tools read and write
/// ([specification](http://www.softwareishard.com/blog/har-12-spec/)).
///
/// As the specification requires, names of custom members begin with an underscore.
package struct HARLog: Codable {
    package var version = "1.2"
    package var creator = Creator()
    package var entries: [HAREntry] = []

    package struct Creator: Codable {
        var name = "swift-authenticated-client"
        var version = "0"
    }

    private struct Document: Codable {
        var log: HARLog
    }

    init() {}

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

    /// Returns the text before the entries, on its own line.
    static func head() throws -> Data {
        var text = try encoder.encode(Document(log: HARLog()))
        let end = Data(#"[],"version":"1.2"}}"#.utf8)
        guard text.suffix(end.count) == end else {
            throw NetworkError(.unknown, "the head of the recording couldn't be encoded")
        }
        text.removeLast(end.count)
        return text + Data("[\n".utf8)
    }

    /// The text after the entries.
    static let tail = #"],"version":"1.2"}}"# + "\n"

    static func line(_ entry: HAREntry) throws -> Data {
        try encoder.encode(entry)
    }

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
