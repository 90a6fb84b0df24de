import CLibFuzzer
import Foundation

/// The `fuzz` program.
///
/// `fuzz seeds FOLDER` writes the seeds of each target, and `fuzz TARGET [OPTION…]` runs a target
/// with libFuzzer's options and folders.
@main
struct Fuzz {
    static func main() throws {
        let arguments = CommandLine.arguments
        if arguments.count == 3, arguments[1] == "seeds" {
            try Seeds.write(to: URL(filePath: arguments[2], directoryHint: .isDirectory))
            return
        }
        guard arguments.count > 1, let target = FuzzTarget(rawValue: arguments[1]) else {
            let names = FuzzTarget.allCases.map(\.rawValue).joined(separator: "|")
            FileHandle.standardError.write(Data("usage: fuzz seeds FOLDER\n       fuzz \(names) [OPTION…]\n".utf8))
            exit(64)
        }
        unsafe chosenTarget = target
        // Moves the arguments, so the target's name takes the position of the program.
        var count = CommandLine.argc - 1
        var values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe CommandLine.unsafeArgv + 1
        exit(unsafe LLVMFuzzerRunDriver(&count, &values, testOneInput))
    }
}

/// The target, set once before the first input.
nonisolated(unsafe) private var chosenTarget = FuzzTarget.json

/// Runs the target. The symbol name is required by libFuzzer's `main`, which is linked but not
/// used.
#if compiler(>=6.3)
    @c(LLVMFuzzerTestOneInput)
#else
    @_cdecl("LLVMFuzzerTestOneInput")
#endif
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    unsafe chosenTarget.run(bytes)
    return 0
}
