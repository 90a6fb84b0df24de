import Foundation
import Glibc
import Synchronization

/// The file of a recording session, which is a complete HAR document at all times.
///
/// An entry and the end of the document are written at once over the previous end.
final class RecordingFile: Sendable {
    private struct State {
        let handle: FileHandle
        var end: UInt64
        var isFirst = true
    }

    let url: URL
    private let state: Mutex<State>

    /// Creates a file in a folder, and removes the oldest sessions beyond a limit.
    init(in folder: URL, at date: Date, limit: Int) throws {
        let files = FileManager.default
        try files.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        url = folder.appending(path: Self.name(date))
        // The file contains bodies, so only this user can read it.
        guard
            files.createFile(
                atPath: url.path,
                contents: Data((HARLog.head + HARLog.tail).utf8),
                attributes: [.posixPermissions: 0o600]
            )
        else { throw CocoaError(.fileWriteUnknown) }
        state = Mutex(State(handle: try FileHandle.opened(url.path, O_WRONLY), end: UInt64(HARLog.head.utf8.count)))
        try Self.removeOldest(in: folder, limit: limit)
    }

    func append(_ entry: HAREntry) throws {
        let line = try HARLog.line(entry)
        try state.withLock { state in
            let text = Data((state.isFirst ? "" : ",\n").utf8) + line
            do {
                try state.handle.seek(toOffset: state.end)
                try state.handle.write(contentsOf: text + Data("\n\(HARLog.tail)".utf8))
            } catch {
                // A full disk must not damage the existing entries.
                try? state.handle.truncate(atOffset: state.end)
                try? state.handle.write(contentsOf: Data(HARLog.tail.utf8))
                throw error
            }
            state.end += UInt64(text.count)
            state.isFirst = false
        }
    }

    // MARK: Names

    /// Returns a name that sorts by time, without colons, which some file systems don't support.
    private static func name(_ date: Date) -> String {
        let time = date.harText.replacingOccurrences(of: ":", with: "-")
        return "session-\(time)-\(String(format: "%08x", UInt32.random(in: .min ... .max))).har"
    }

    private static func removeOldest(in folder: URL, limit: Int) throws {
        // Only remove files named by this type; the folder may contain others.
        let pattern = /session-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d+Z-[0-9a-f]{8}\.har/
        let sessions = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.wholeMatch(of: pattern) != nil }.sorted()
        for name in sessions.dropLast(max(1, limit)) {
            try FileManager.default.removeItem(at: folder.appending(path: name))
        }
    }
}
