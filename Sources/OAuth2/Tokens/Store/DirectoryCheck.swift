import Foundation
import Glibc

/// A check that only the user and root can replace the contents of a folder, as OpenSSH makes it for keys.
///
/// The folder and everything above it must belong to the user or root, and no other user may write to it. A folder that all users may
/// write to is good if it is sticky, as `/tmp` is: there, others can't rename or remove files that they don't own.
struct DirectoryCheck {
    private let path: String
    private let isStore: Bool

    /// - Parameters:
    ///   - path: The folder, or a symbolic link to it.
    ///   - isStore: Whether the files are in it: then being sticky is not enough.
    init(_ path: String, isStore: Bool) {
        self.path = path
        self.isStore = isStore
    }

    /// The folders of a path from the root on, and the path itself.
    static func chain(of path: String) -> [String] {
        let names = path.split(separator: "/").map(String.init)
        return (0...names.count).map { "/" + names.prefix($0).joined(separator: "/") }
    }

    /// Makes the check.
    ///
    /// - Throws: ``OAuth2Error`` with the code `storeFailed`, whose message names the folder and the command that repairs it.
    func check() throws(OAuth2Error) {
        var (link, folder) = (stat(), stat())
        guard unsafe lstat(path, &link) == 0, unsafe stat(path, &folder) == 0, folder.st_mode & S_IFMT == S_IFDIR else {
            throw OAuth2Error(.storeFailed, "“\(path)” of the token store's path is not a folder that can be used")
        }
        for owner in [link.st_uid, folder.st_uid] where owner != 0 && owner != geteuid() {
            throw OAuth2Error(
                .storeFailed,
                "“\(path)” belongs to another user (\(owner)), who could replace the token store; "
                    + "run chown \(geteuid()) \(quoted), or choose another folder"
            )
        }
        let isSticky = folder.st_mode & S_ISVTX != 0 && !isStore
        guard folder.st_mode & 0o022 == 0 || isSticky else {
            throw OAuth2Error(
                .storeFailed,
                "“\(path)” can be written to by others, who could replace the token store; run chmod go-w \(quoted)"
            )
        }
    }

    /// The path for a shell.
    private var quoted: String { "'" + path.replacingOccurrences(of: "'", with: "'\\''") + "'" }
}
