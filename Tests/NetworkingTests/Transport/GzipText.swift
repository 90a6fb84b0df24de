import Foundation
import Synchronization

/// Compresses texts.
enum GzipText {
    /// The octets of a gzip file ([RFC 1952](https://www.rfc-editor.org/rfc/rfc1952)), made by the `gzip` that every Linux has.
    static func coded(_ text: String) -> [UInt8] {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/gzip")
        process.arguments = ["-9cn"]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        do { try ChildServer.starting.withLock { _ in try process.run() } } catch { return [] }
        Thread.detachNewThread {
            try? input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
            try? input.fileHandleForWriting.close()
        }
        let coded = (try? output.fileHandleForReading.readToEnd()) ?? Data()
        process.waitUntilExit()
        return [UInt8](coded)
    }
}
