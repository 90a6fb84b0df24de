internal import COpenSSL
internal import Glibc

/// The paths of the certificates that the system trusts.
struct SystemPaths {
    let file: String?
    let directory: String?

    /// The paths from the environment, otherwise the defaults that OpenSSL was built with.
    static var current: SystemPaths {
        unsafe SystemPaths(
            file: text(getenv(X509_get_default_cert_file_env())) ?? text(X509_get_default_cert_file()),
            directory: text(getenv(X509_get_default_cert_dir_env())) ?? text(X509_get_default_cert_dir())
        )
    }

    /// A Boolean value that indicates whether the file is readable or a directory isn't empty.
    var exist: Bool {
        if let file, unsafe access(file, R_OK) == 0 { return true }
        guard let directory else { return false }
        // The value may list several directories, separated by colons.
        return directory.split(separator: ":").contains { Self.hasEntries(String($0)) }
    }

    private static func hasEntries(_ path: String) -> Bool {
        guard let folder = unsafe opendir(path) else { return false }
        defer { unsafe closedir(folder) }
        while let entry = unsafe readdir(folder) {
            // Every directory contains “.” and “..”.
            if unsafe entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { return true }
        }
        return false
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String? {
        unsafe pointer.map { unsafe String(cString: $0) }
    }
}
