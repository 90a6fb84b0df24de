import Glibc

/// An environment variable the user named, for secrets that are in no file.
struct EnvironmentVariable: ArgumentValue, Equatable {
    let name: String

    init(argument: String) throws(ValueError) {
        let isName =
            argument.utf8.first.map { !(0x30...0x39).contains($0) } ?? false
            && argument.utf8.allSatisfy {
                $0 == UInt8(ascii: "_") || (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF)
            }
        guard isName else {
            throw ValueError(message: "must be the name of an environment variable, without $ and not its value")
        }
        name = argument
    }

    /// The value.
    ///
    /// - Parameter option: The option that names the variable. The name itself may be a secret that was given by mistake.
    /// - Returns: Its text.
    /// - Throws: ``CommandFailure`` if the variable is not set, empty or not UTF-8.
    func value(for option: String) throws(CommandFailure) -> String {
        guard Self.isSet(name) else {
            throw CommandFailure(.failed, "the environment variable that \(option) names is not set, or empty")
        }
        guard let text = Self.validText(of: name) else {
            throw CommandFailure(.failed, "the environment variable that \(option) names is not text in UTF-8")
        }
        return text
    }

    /// The value of a variable of our own choice, or `nil` if it is not set.
    ///
    /// - Throws: ``CommandFailure`` if it is not UTF-8: a repaired text would name another file or another program.
    static func text(of name: String) throws(CommandFailure) -> String? {
        guard isSet(name) else { return nil }
        guard let text = validText(of: name) else {
            throw CommandFailure(.failed, "the environment variable \(name) is not text in UTF-8")
        }
        return text
    }

    /// Returns whether a variable is set and not empty.
    static func isSet(_ name: String) -> Bool {
        guard let value = unsafe getenv(name) else { return false }
        return unsafe value[0] != 0
    }

    private static func validText(of name: String) -> String? {
        unsafe getenv(name).flatMap { unsafe String(validatingCString: $0) }
    }
}
