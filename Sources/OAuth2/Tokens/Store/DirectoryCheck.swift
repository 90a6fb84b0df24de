import Foundation
import Glibc

/// A check that only the user and root can replace a folder's contents, as OpenSSH does for keys.
///
/// The folder and all its parents must belong to the user or root, and no other user may write to
/// them. A folder that all users may write to is acceptable if it's sticky, as `/tmp` is: users
/// can't rename or remove the files of others there.
struct DirectoryCheck {
    let path: String
    /// A Boolean value that indicates whether being sticky isn't enough, as for the files' folder.
    let isStore: Bool

    /// Returns the folders of a path, from the root to the path itself.
    static func chain(of path: String) -> [String] {
        let names = path.split(separator: "/").map(String.init)
        return (0...names.count).map { "/" + names.prefix($0).joined(separator: "/") }
    }

    /// Performs the check.
    func check() throws(OAuth2Error) {
        var (link, folder) = (stat(), stat())
        guard unsafe lstat(path, &link) == 0, unsafe stat(path, &folder) == 0, folder.st_mode & S_IFMT == S_IFDIR else {
            throw OAuth2Error(.storeFailed, "“\(path)” in the token store's path isn't a usable folder")
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
                "“\(path)” is writable by other users, who could replace the token store; run chmod go-w \(quoted)"
            )
        }
    }

    /// The path, quoted for a shell.
    private var quoted: String { "'" + path.replacingOccurrences(of: "'", with: "'\\''") + "'" }
}
