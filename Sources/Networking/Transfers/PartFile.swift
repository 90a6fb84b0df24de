import Foundation
import Glibc
import Synchronization

/// The octets of a download until they are whole, in a hidden file beside the target, and what is needed to go on after them.
///
/// Beside the octets is a second file with the validator of their representation. It is written when the octets have been discarded
/// and before the first new one is written, so that at every moment the octets there are belong to the validator there is. It is
/// removed before the octets get the target's name: a process that is killed in between begins anew, and leaves nothing behind.
final class PartFile: Sendable {
    /// What is kept beside the octets.
    struct Record: Codable, Hashable {
        /// The SHA-256 of the URL: the URL itself may have a secret in it.
        var resource: String
        var validator: ResumeValidator
        var total: Int
        /// How many octets are known to be on the disk, even if the machine stopped.
        var synchronized: Int
        /// Which run of the machine wrote this.
        var boot: String
    }

    private struct State {
        var record: Record?
        var count = 0
        var isRemoved = false
    }

    /// The name of the target, for messages.
    let name: String
    let path: String
    /// The SHA-256 of the URL.
    let resource: String
    private let file: OpenFile
    private let state = Mutex(State())

    private var recordPath: String { path + ".resume" }

    /// Opens the part file of a download, and finds out what can be used of it.
    ///
    /// - Parameters:
    ///   - path: Its path.
    ///   - name: The name of the target.
    ///   - resource: The SHA-256 of the URL.
    /// - Throws: ``NetworkError``: `transferInProgress` or `cannotUseFile`.
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
        // What the machine had not written to the disk before it stopped may be gone, or zeros.
        let usable = record.boot == Self.boot ? count : min(count, record.synchronized)
        guard usable > 0 else { return }
        state.withLock { $0 = State(record: record, count: usable) }
    }

    /// Removes the part file of a download that was killed in the moment in which its octets had both names.
    static func removeLeftover(_ path: String) {
        var status = stat()
        if unsafe lstat(path, &status) == 0, status.st_nlink > 1 { _ = unsafe unlink(path) }
    }

    /// How many octets there are.
    var count: Int { state.withLock(\.count) }
    /// How many octets there will be, if that is known.
    var total: Int? { state.withLock { $0.record?.total } }
    /// Whether a download can go on after the octets, in this process or another.
    var record: Record? { state.withLock { $0.count > 0 ? $0.record : nil } }

    /// Where to go on, and with which validator; `nil` to begin anew.
    ///
    /// Of a part that is whole already, the last octet is asked for again: that is how the server says that nothing has changed.
    var resumePoint: (offset: Int, validator: ResumeValidator)? {
        record.map { (min(count, $0.total - 1), $0.validator) }
    }

    /// Discards the octets, and takes down what the next ones belong to.
    ///
    /// - Parameter record: What is needed to go on later; `nil` if that will not be possible.
    /// - Throws: ``NetworkError`` with the code `cannotUseFile`.
    func begin(_ record: Record?) throws(NetworkError) {
        try truncate(to: 0)
        state.withLock { $0.record = record }
        try writeRecord()
    }

    /// Discards what follows the first octets.
    func truncate(to count: Int) throws(NetworkError) {
        try file.truncate(to: count, name: name)
        state.withLock { $0.count = count }
    }

    /// Appends octets.
    func append(_ octets: Data) throws(NetworkError) {
        let position = count
        try file.write(octets, at: position, name: name)
        state.withLock { $0.count = position + octets.count }
    }

    /// Reads octets from a position.
    func read(_ count: Int, at position: Int) throws(NetworkError) -> Data {
        try file.read(count, at: position, name: name)
    }

    /// Keeps what can be gone on with later, or else removes everything.
    func suspend() {
        guard var record else { return remove() }
        guard (try? file.synchronize(name: name)) != nil else { return }
        record.synchronized = count
        record.boot = Self.boot
        state.withLock { $0.record = record }
        try? writeRecord()
    }

    /// Removes everything.
    func remove() {
        let isRemoved = state.withLock { state in
            defer { state = State(isRemoved: true) }
            return state.isRemoved
        }
        guard !isRemoved else { return }
        _ = unsafe unlink(recordPath)
        _ = unsafe unlink(path)
    }

    /// Lets another transfer have the file; the last thing that is done with it.
    ///
    /// The last reference may go later: a queue that ran work on the file releases it when it likes.
    func unlock() {
        file.unlock()
    }

    /// Gives the octets the target's name.
    ///
    /// - Parameters:
    ///   - target: The path.
    ///   - existing: What happens to a file that has the name already.
    ///   - mode: The permissions of the file.
    /// - Returns: The path that it has got.
    /// - Throws: ``NetworkError``: `fileExists` or `cannotUseFile`.
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
            // Nothing is lost: whoever makes room for the name does not have to receive everything again.
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

    /// The identity of this run of the machine; empty if the system does not say.
    static let boot: String = {
        let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        return text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
    }()

    /// The new name is on the disk only when the folder is.
    private static func synchronizeFolder(of path: String) {
        let folder = unsafe open((path as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }
}
