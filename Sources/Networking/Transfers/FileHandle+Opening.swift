import Foundation
import Glibc

extension FileHandle {
    /// Opens a file that no other program inherits; Foundation's initializers let every program inherit it that the process starts.
    static func opened(_ path: String, _ flags: Int32) throws -> FileHandle {
        let descriptor = unsafe open(path, flags | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}
