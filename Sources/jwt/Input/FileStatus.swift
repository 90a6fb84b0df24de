import Glibc

/// The permissions of an open file, and its name as far as it is known.
struct FileStatus: Equatable {
    let mode: mode_t
    /// The path for `chmod`; `nil` if the file has no name.
    let path: String?

    /// A warning, if the file is an ordinary one and has permissions that it shouldn't have.
    ///
    /// - Parameters:
    ///   - name: The file's name in messages.
    ///   - unwanted: The permissions that it shouldn't have.
    ///   - danger: The consequence, such as "other users may use this private key".
    ///   - remedy: The argument of `chmod` that takes them away.
    /// - Returns: One line that says how to take them away.
    func warning(_ name: String, unwanted: mode_t, _ danger: String, remedy: String) -> String? {
        guard mode & S_IFMT == S_IFREG, mode & unwanted != 0 else { return nil }
        let permissions = String(mode & 0o777, radix: 8)
        let command = path.map { "chmod \(remedy) \(ShellWord.quoted($0))" } ?? "chmod \(remedy) that file"
        return "\(name): \(danger) (mode \(permissions)); to stop it: \(command)"
    }

    /// A warning if other users may read or change a file that only its owner may use.
    ///
    /// - Parameters:
    ///   - name: The file's name in messages.
    ///   - noun: What the file holds, such as "private key".
    /// - Returns: One line that says how to stop it, or `nil`.
    func secretWarning(_ name: String, _ noun: String) -> String? {
        warning(name, unwanted: 0o077, "other users may use this \(noun)", remedy: "600")
    }
}

/// A word of a shell's command line.
enum ShellWord {
    /// A file's name as the shell and `chmod` take it: quoted where it has to be, and never an option.
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
