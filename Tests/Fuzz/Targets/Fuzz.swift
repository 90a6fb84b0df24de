import CLibFuzzer
import Foundation

/// `fuzz seeds FOLDER` writes a folder of seeds per target; `fuzz TARGET [libFuzzer's options and folders]` runs one.
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
        // libFuzzer's first argument is the program, so that the target's name is dropped by moving the rest.
        var count = CommandLine.argc - 1
        var values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe CommandLine.unsafeArgv + 1
        exit(unsafe LLVMFuzzerRunDriver(&count, &values, testOneInput))
    }
}

/// Set once, before the first input.
nonisolated(unsafe) private var chosenTarget = FuzzTarget.json

/// The name is libFuzzer's: its own `main`, which is linked but not used, asks for it.
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
