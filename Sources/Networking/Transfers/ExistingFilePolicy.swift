import Foundation
import Glibc

/// The handling of an existing file with the name of a download's target.
@nonexhaustive
public enum ExistingFilePolicy: Sendable {
    /// A policy to fail with ``NetworkError/Code/fileExists``, before sending anything if the file
    /// exists by then, otherwise at the end of the download.
    case fail
    /// A policy to replace the file in a single step at the end of the download.
    ///
    /// It replaces a symbolic link itself, not the link's target. It never replaces anything else,
    /// such as a folder or a device.
    case replace
    /// A policy to use another name: `report (1).pdf`, `report (2).pdf` and so on.
    case unique

    /// Fails early if the download would fail at its end.
    func check(_ target: String) throws(NetworkError) {
        switch self {
        case .replace: try Self.checkIsReplaceable(target)
        case .unique: return
        case .fail:
            var status = stat()
            if unsafe lstat(target, &status) == 0 { throw Self.exists(target) }
        }
    }

    private static func checkIsReplaceable(_ target: String) throws(NetworkError) {
        var status = stat()
        guard unsafe lstat(target, &status) == 0 else { return }
        switch status.st_mode & S_IFMT {
        case S_IFREG, S_IFLNK: return
        case S_IFDIR: throw isFolder(target)
        default: throw NetworkError(.fileExists, "“\(name(target))” isn't a regular file and can't be replaced")
        }
    }

    func rename(_ path: String, to target: String) throws(NetworkError) -> String {
        switch self {
        case .replace:
            try Self.checkIsReplaceable(target)
            guard unsafe Glibc.rename(path, target) == 0 else {
                if errno == EISDIR { throw Self.isFolder(target) }
                throw .file(Self.name(target), cannotBe: "made", number: errno)
            }
            return target
        case .fail:
            guard try Self.renameKeeping(path, to: target) else { throw Self.exists(target) }
            return target
        case .unique:
            if try Self.renameKeeping(path, to: target) { return target }
            for number in 1..<10_000 {
                let other = Self.numbered(target, number)
                if try Self.renameKeeping(path, to: other) { return other }
            }
            throw Self.exists(target)
        }
    }

    /// Renames a file without replacing another; returns `false` if the name is in use.
    ///
    /// A hard link never replaces a file. If the file system doesn't support hard links, this
    /// creates an empty file with the name and then replaces it.
    private static func renameKeeping(_ path: String, to target: String) throws(NetworkError) -> Bool {
        if unsafe link(path, target) == 0 {
            _ = unsafe unlink(path)
            return true
        }
        var number = errno
        if [EPERM, EOPNOTSUPP, ENOSYS].contains(number) {
            let descriptor = unsafe open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            number = errno
            if descriptor >= 0 {
                close(descriptor)
                if unsafe Glibc.rename(path, target) == 0 { return true }
                number = errno
                _ = unsafe unlink(target)
            }
        }
        if number == EEXIST { return false }
        throw .file(name(target), cannotBe: "made", number: number)
    }

    /// Returns a name such as `folder/report (1).pdf`.
    private static func numbered(_ target: String, _ number: Int) -> String {
        let folder = (target as NSString).deletingLastPathComponent
        let last = name(target)
        let (stem, ending) = FileName.split(last)
        let mark = " (\(number))"
        let room = FileName.maximumLength - ending.utf8.count - mark.utf8.count
        return (folder as NSString).appendingPathComponent(FileName.shortened(stem, to: room) + mark + ending)
    }

    private static func name(_ path: String) -> String { (path as NSString).lastPathComponent }

    private static func exists(_ target: String) -> NetworkError {
        NetworkError(
            .fileExists,
            "“\(name(target))” already exists; remove it, or use the policy replace or unique"
        )
    }

    private static func isFolder(_ target: String) -> NetworkError {
        NetworkError(.fileExists, "“\(name(target))” is a folder; choose a file in it")
    }
}
