import Foundation
import Glibc
import Synchronization

/// The hidden file next to the target that contains a download's bytes until it's complete, and the
/// record for resuming it.
///
/// The record is a second file with the validator of the representation. It's written after the old
/// bytes are discarded and before new ones are written, so the bytes always belong to the recorded
/// validator. It's removed before the file gets the target's name: if the process is killed in
/// between, the next download starts over and nothing is left behind.
final class PartFile: Sendable {
    struct Record: Codable, Hashable {
        /// The SHA-256 hash of the URL, because the URL itself may contain a secret.
        var resource: String
        var validator: ResumeValidator
        var total: Int
        /// The number of bytes that are certainly on the disk, even after a crash of the machine.
        var synchronized: Int
        /// The identifier of the boot during which the record was written.
        var boot: String
        /// The digest of the whole file that the first response offered, as a field value.
        var digest: String?

        /// Returns how many of the bytes in the part file are certainly correct: all, or only those
        /// that were flushed to the disk.
        ///
        /// After a crash of the machine, other bytes may be missing or zero. If the identifier of
        /// the current boot is empty, whether the machine crashed isn't known.
        func usableCount(of count: Int, boot current: String) -> Int {
            boot == current && !current.isEmpty ? count : min(count, synchronized)
        }
    }

    private struct State {
        var record: Record?
        var count = 0
        var isRemoved = false
    }

    /// The name of the target, for messages.
    let name: String
    let path: String
    /// The SHA-256 hash of the URL.
    let resource: String
    private let file: OpenFile
    private let state = Mutex(State())

    private var recordPath: String { path + ".resume" }

    /// Opens the part file of a download, and determines how much of it is usable.
    ///
    /// - Throws: ``NetworkError`` with the code `transferInProgress` or `cannotUseFile`.
    init(path: String, name: String, resource: String) throws(NetworkError) {
        self.path = path
        self.name = name
        self.resource = resource
        file = try OpenFile(path: path, name: name)
        let count = file.length
        guard let octets = OpenFile.privateContents(path + ".resume"),
            let record = try? JSONDecoder().decode(Record.self, from: octets), record.resource == resource, count > 0,
            record.total > 0, count <= record.total
        else { return }
        let usable = record.usableCount(of: count, boot: Self.boot)
        guard usable > 0 else { return }
        state.withLock { $0 = State(record: record, count: usable) }
    }

    /// Removes the part file of a download that was killed while its file had both names.
    static func removeLeftover(_ path: String) {
        var status = stat()
        if unsafe lstat(path, &status) == 0, status.st_nlink > 1 { _ = unsafe unlink(path) }
    }

    var count: Int { state.withLock(\.count) }
    /// The total number of bytes, if known.
    var total: Int? { state.withLock { $0.record?.total } }
    /// The record, if this process or another can resume the download.
    var record: Record? { state.withLock { $0.count > 0 ? $0.record : nil } }

    /// The offset and the validator to resume with, or `nil` to start over.
    ///
    /// For a complete part, the last byte is requested again, so that the server confirms that
    /// nothing has changed.
    var resumePoint: (offset: Int, validator: ResumeValidator)? {
        record.map { (min(count, $0.total - 1), $0.validator) }
    }

    /// Discards the bytes, and writes the record for the next ones, if they can be resumed.
    ///
    /// - Throws: ``NetworkError`` with the code `cannotUseFile`.
    func begin(_ record: Record?) throws(NetworkError) {
        try truncate(to: 0)
        state.withLock { $0.record = record }
        try writeRecord()
    }

    func truncate(to count: Int) throws(NetworkError) {
        try file.truncate(to: count, name: name)
        state.withLock { $0.count = count }
    }

    func append(_ octets: Data) throws(NetworkError) {
        let position = count
        try file.write(octets, at: position, name: name)
        state.withLock { $0.count = position + octets.count }
    }

    /// Returns the digest of a range of the file, or of an incomplete range if the file shrank.
    func digest(by algorithms: [HTTPDigest.Algorithm], in range: Range<Int>) throws -> HTTPDigest {
        let hasher = try HTTPDigest.Hasher(algorithms)
        var position = range.lowerBound
        while position < range.upperBound {
            let part = try file.read(min(range.upperBound - position, 1 << 20), at: position, name: name)
            guard !part.isEmpty else { break }
            try hasher.update(part)
            position += part.count
        }
        return try hasher.finish()
    }

    /// Saves the state for resuming later, or removes everything if the download can't be resumed.
    func suspend() {
        guard var record else { return remove() }
        guard (try? file.synchronize(name: name)) != nil else { return }
        record.synchronized = count
        record.boot = Self.boot
        state.withLock { $0.record = record }
        try? writeRecord()
    }

    /// Removes the part file and its record.
    func remove() {
        let isRemoved = state.withLock { state in
            defer { state = State(isRemoved: true) }
            return state.isRemoved
        }
        guard !isRemoved else { return }
        _ = unsafe unlink(recordPath)
        _ = unsafe unlink(path)
    }

    /// Releases the file for other transfers.
    ///
    /// Must be the last use of the file. The last reference may live longer, because a queue that
    /// ran work on the file releases it at any time.
    func unlock() {
        file.unlock()
    }

    /// Gives the file the target's name and permissions, and returns its final path.
    ///
    /// - Throws: ``NetworkError`` with the code `fileExists` or `cannotUseFile`.
    func commit(to target: String, existing: ExistingFilePolicy, mode: mode_t) throws(NetworkError) -> String {
        let whole = state.withLock(\.record)
        try file.truncate(to: count, name: name)
        try file.setPermissions(mode, name: name)
        try file.synchronize(name: name)
        _ = unsafe unlink(recordPath)
        do throws(NetworkError) {
            let path = try existing.rename(path, to: target)
            state.withLock { $0.isRemoved = true }
            Self.synchronizeFolder(of: path)
            return path
        } catch {
            // Restores the record, so that the download can be completed without receiving
            // everything again.
            state.withLock { $0.record = whole }
            try? writeRecord()
            throw error
        }
    }

    private func writeRecord() throws(NetworkError) {
        guard let record = state.withLock(\.record) else {
            _ = unsafe unlink(recordPath)
            return
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        guard let octets = try? encoder.encode(record) else { return }
        let file = try OpenFile(path: recordPath, name: name)
        try file.write(octets, at: 0, name: name)
        try file.truncate(to: octets.count, name: name)
    }

    /// The identifier of the current boot, or an empty string if it can't be read.
    static let boot: String = {
        let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        return text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
    }()

    /// Flushes the folder, without which the new name isn't on the disk.
    private static func synchronizeFolder(of path: String) {
        let folder = unsafe open((path as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }
}
