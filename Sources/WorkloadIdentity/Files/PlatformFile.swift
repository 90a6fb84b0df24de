import Foundation
import Glibc

/// A file that the platform replaces.
enum PlatformFile {
    /// Reads a file of at most ``PlatformToken/maximumSize`` bytes; `missing` is the way to get a
    /// missing one.
    ///
    /// Symbolic links are followed, because Kubernetes replaces files by replacing a link. The
    /// errors have the code `notConfigured`, `unreadableFile`, `insecureFile` or `tooLarge`.
    static func read(_ path: String, missing: String) throws(WorkloadIdentityError) -> [UInt8] {
        // A pipe without a writer would otherwise block.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw failure(errno, path, missing) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw failure(errno, path, missing) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw WorkloadIdentityError(.unreadableFile, "“\(path)” isn't a regular file; check the path")
        }
        guard status.st_mode & 0o022 == 0 else {
            throw WorkloadIdentityError(
                .insecureFile,
                "“\(path)” is writable by other users, who could replace the token; run chmod go-w on it"
            )
        }
        return try content(of: descriptor, path, missing)
    }

    private static func content(
        of descriptor: Int32,
        _ path: String,
        _ missing: String
    ) throws(WorkloadIdentityError) -> [UInt8] {
        var content: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16 << 10)
        while content.count <= PlatformToken.maximumSize {
            let count = unsafe Glibc.read(descriptor, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(errno, path, missing) }
            guard count > 0 else { return content }
            content += part[..<count]
        }
        throw WorkloadIdentityError(
            .tooLarge,
            "“\(path)” is larger than \(PlatformToken.maximumSize) bytes; check that it contains only a token"
        )
    }

    private static func failure(_ number: Int32, _ path: String, _ missing: String) -> WorkloadIdentityError {
        let cause = POSIXErrorCode(rawValue: number).map { POSIXError($0) }
        if [ENOENT, ENOTDIR].contains(number) {
            return WorkloadIdentityError(.notConfigured, "“\(path)” doesn't exist; \(missing)", cause: cause)
        }
        let problem =
            [EACCES, EPERM].contains(number)
            ? "this process may not read “\(path)”; check the file's owner and group and those of the process"
            : "“\(path)” can't be read (error \(number))"
        return WorkloadIdentityError(.unreadableFile, problem, cause: cause)
    }
}
