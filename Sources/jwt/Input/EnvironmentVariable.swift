import Glibc

/// An environment variable that the user specifies, for secrets that aren't in files.
struct EnvironmentVariable: ArgumentValue, Equatable {
    static let placeholder = "NAME"

    let name: String

    init(argument: String) throws(ValueError) {
        let isName =
            argument.utf8.first.map { !(0x30...0x39).contains($0) } ?? false
            && argument.utf8.allSatisfy {
                $0 == UInt8(ascii: "_") || (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF)
            }
        guard isName else {
            throw ValueError(message: "must be the name of an environment variable, without $, not its value")
        }
        name = argument
    }

    /// Returns the value of the variable.
    ///
    /// Messages contain the option instead of the name, which may be a secret that the user entered
    /// by mistake.
    func value(for option: String) throws(CommandFailure) -> String {
        guard Self.isSet(name) else {
            throw CommandFailure(.failed, "the environment variable for \(option) is unset or empty")
        }
        guard let text = Self.validText(of: name) else {
            throw CommandFailure(.failed, "the environment variable for \(option) isn't valid UTF-8")
        }
        return text
    }

    /// Returns the value of a fixed variable, or `nil` if it isn't set.
    ///
    /// Throws if the value isn't UTF-8, because repaired text could name another file or program.
    static func text(of name: String) throws(CommandFailure) -> String? {
        guard isSet(name) else { return nil }
        guard let text = validText(of: name) else {
            throw CommandFailure(.failed, "the environment variable \(name) isn't valid UTF-8")
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
