import Foundation
import TestPrograms

/// A compressor for texts.
enum GzipText {
    /// Returns a gzip file ([RFC 1952](https://www.rfc-editor.org/rfc/rfc1952)), made by the
    /// system's `gzip`.
    static func coded(_ text: String) -> [UInt8] {
        let result = try? ProgramResult.blocking("/usr/bin/gzip", ["-9cn"], input: Data(text.utf8))
        return result.map { [UInt8]($0.output) } ?? []
    }
}
