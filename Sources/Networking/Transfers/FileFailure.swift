import Foundation
import Glibc

extension NetworkError {
    /// What the system said when a file of a transfer could not be used.
    ///
    /// - Parameters:
    ///   - name: The name of the file, without its folder.
    ///   - action: What was tried, such as `written`.
    ///   - number: The value of `errno`.
    /// - Returns: The error.
    static func file(_ name: String, cannotBe action: String, number: Int32) -> NetworkError {
        let code = POSIXErrorCode(rawValue: number)
        let words = unsafe String(cString: strerror(number))
        let advice =
            switch number {
            case ENOSPC, EDQUOT: "; make room on the disk and start the transfer again"
            case EFBIG: "; the file would be larger than the process or the file system allows"
            case EACCES, EPERM, EROFS: "; choose a folder in which files can be made"
            case ENOENT, ENOTDIR: "; make the folder first"
            default: ""
            }
        return NetworkError(
            .cannotUseFile,
            "“\(name)” can't be \(action): \(words)\(advice)",
            cause: code.map { POSIXError($0) }
        )
    }
}
