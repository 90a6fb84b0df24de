import Glibc

/// A new file that appears under its name complete or not at all.
///
/// The content is written under another name in the same folder; ``commit()`` gives it its name. If that never
/// happens, nothing stays.
struct StagedFile: ~Copyable {
    let path: String
    private let file: FileDescriptor
    private let temporaryPath: String
    private let replaces: Bool

    /// Writes the content, or its beginning, to the disk.
    ///
    /// - Parameters:
    ///   - path: Where the file shall appear.
    ///   - mode: Its permissions.
    ///   - octets: Its contents, as far as they are there; ``append(_:)`` adds others.
    ///   - replaces: Whether a file that is there already is replaced. Only ordinary files are: a device or a link never is.
    /// - Throws: ``CommandFailure`` if the file exists and is not to be replaced, or cannot be written.
    init(path: String, mode: mode_t, octets: [UInt8] = [], replaces: Bool) throws(CommandFailure) {
        if let type = Self.type(of: path) {
            guard replaces else { throw Self.exists(path) }
            guard type == S_IFREG else {
                throw CommandFailure(.failed, "\(path): not replaced, because it is not an ordinary file")
            }
        }
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        let temporaryPath = "\(folder).jwt-\(String(UInt64.random(in: 0...UInt64.max), radix: 36)).tmp"
        do throws(FileDescriptor.Failure) {
            let file = try TemporaryFiles.create(temporaryPath, mode: mode)
            do throws(FileDescriptor.Failure) {
                try file.writeAll(octets)
                try file.synchronize()
            } catch {
                TemporaryFiles.remove(temporaryPath)
                throw error
            }
            self.file = file
        } catch {
            throw Self.unwritable(path, error)
        }
        self.path = path
        self.temporaryPath = temporaryPath
        self.replaces = replaces
    }

    /// Writes more of the content.
    ///
    /// - Throws: ``CommandFailure``.
    func append(_ octets: [UInt8]) throws(CommandFailure) {
        do throws(FileDescriptor.Failure) {
            try file.writeAll(octets)
        } catch {
            throw Self.unwritable(path, error)
        }
    }

    /// Gives the file these permissions, and not what the user's umask leaves of them: those of a file that it replaces.
    ///
    /// - Throws: ``CommandFailure``.
    func setMode(_ mode: mode_t) throws(CommandFailure) {
        do throws(FileDescriptor.Failure) {
            try file.setMode(mode)
        } catch {
            throw Self.unwritable(path, error)
        }
    }

    deinit {
        TemporaryFiles.remove(temporaryPath)
    }

    /// Gives the file its name.
    ///
    /// - Throws: ``CommandFailure`` if a file of that name has appeared meanwhile and is not to be replaced, or the system refuses.
    func commit() throws(CommandFailure) {
        do throws(FileDescriptor.Failure) {
            try file.synchronize()
        } catch {
            throw Self.unwritable(path, error)
        }
        let number = replaces ? replace() : create()
        guard number != 0 else { return }
        if number == EEXIST { throw Self.exists(path) }
        throw Self.unwritable(path, FileDescriptor.Failure(number: number))
    }

    /// Takes a committed file away again.
    func revoke() {
        if !replaces { Self.remove(path) }
    }

    private func replace() -> Int32 {
        TemporaryFiles.rename(temporaryPath, to: path)
    }

    /// Gives the file its name if no file has it.
    ///
    /// A second link never replaces anything, and the temporary name goes with the owner. Where the file system has
    /// no links, the name is taken with an empty file first, which only this process may replace.
    private func create() -> Int32 {
        if unsafe link(temporaryPath, path) == 0 { return 0 }
        guard [EPERM, EOPNOTSUPP, ENOSYS].contains(errno) else { return errno }
        do throws(FileDescriptor.Failure) {
            _ = try TemporaryFiles.create(path, mode: 0o600)
        } catch {
            return error.number
        }
        let number = replace()
        if number != 0 { TemporaryFiles.remove(path) }
        return number
    }

    private static func unwritable(_ path: String, _ failure: FileDescriptor.Failure) -> CommandFailure {
        CommandFailure(.failed, "\(path): cannot be written: \(failure.reason)", cause: failure)
    }

    private static func exists(_ path: String) -> CommandFailure {
        CommandFailure(.failed, "\(path): exists already; --force replaces it")
    }

    private static func type(of path: String) -> mode_t? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    private static func remove(_ path: String) {
        _ = unsafe unlink(path)
    }
}
