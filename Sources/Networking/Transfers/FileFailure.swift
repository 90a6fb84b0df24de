import Foundation
import Glibc

extension NetworkError {
    /// Returns the error for a failed system call on a transfer's file, with the file's name
    /// without its folder, the action that failed, such as `written`, and the value of `errno`.
    static func file(_ name: String, cannotBe action: String, number: Int32) -> NetworkError {
        let code = POSIXErrorCode(rawValue: number)
        let words = unsafe String(cString: strerror(number))
        let advice =
            switch number {
            case ENOSPC, EDQUOT: "; free up disk space and start the transfer again"
            case EFBIG: "; the file exceeds the size limit of the process or the file system"
            case EACCES, EPERM, EROFS: "; choose a writable folder"
            case ENOENT, ENOTDIR: "; create the folder first"
            default: ""
            }
        return NetworkError(
            .cannotUseFile,
            "“\(name)” can't be \(action): \(words)\(advice)",
            cause: code.map { POSIXError($0) }
        )
    }
}
