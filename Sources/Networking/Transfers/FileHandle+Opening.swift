import Foundation
import Glibc

extension FileHandle {
    /// Opens a file with close-on-exec; Foundation's initializers let child processes inherit the
    /// file.
    static func opened(_ path: String, _ flags: Int32) throws -> FileHandle {
        let descriptor = unsafe open(path, flags | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}
