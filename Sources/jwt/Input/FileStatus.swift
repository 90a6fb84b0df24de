import Glibc

/// The permissions and, if known, the path of an open file.
struct FileStatus: Equatable {
    let mode: mode_t
    /// The path for `chmod`, or `nil` if the file has none.
    let path: String?

    /// Returns a warning with a remedy if a regular file has unwanted permissions.
    ///
    /// The danger is the consequence, such as "other users can use this private key", and the
    /// remedy is the `chmod` argument that removes the permissions.
    func warning(_ name: String, unwanted: mode_t, _ danger: String, remedy: String) -> String? {
        guard mode & S_IFMT == S_IFREG, mode & unwanted != 0 else { return nil }
        let permissions = String(mode & 0o777, radix: 8)
        let command = path.map { "chmod \(remedy) \(ShellWord.quoted($0))" } ?? "chmod \(remedy) the file"
        return "\(name): \(danger) (mode \(permissions)); fix: \(command)"
    }

    /// Returns a warning if other users can read or change a file with a secret.
    func secretWarning(_ name: String, _ noun: String) -> String? {
        warning(name, unwanted: 0o077, "other users can access this \(noun)", remedy: "600")
    }
}

/// Quoting for shell command lines.
enum ShellWord {
    /// Quotes a path for the shell if necessary, and ensures that `chmod` doesn't take it for an
    /// option.
    static func quoted(_ path: String) -> String {
        let path = path.hasPrefix("-") ? "./" + path : path
        let isPlain = path.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80...0xFF: true
            default: "_@%+=:,./-".utf8.contains(byte)
            }
        }
        return isPlain ? path : "'" + path.replacing("'", with: "'\\''") + "'"
    }
}
