/// Reads the arguments of one command.
///
/// `--name value`, `--name=value`, `-n value`, `-nvalue`, `-n=value` and joined flags (`-ab`) are understood; `--`
/// ends the options; `-` alone is an ordinary argument. Names are never abbreviated, so that a new option cannot
/// break a script. No message repeats a value.
struct ArgumentParser {
    let path: [String]
    let definition: CommandDefinition

    /// Whether help is asked for: `--help` or `-h` in the place of an option, or the single word `help`.
    ///
    /// Other mistakes do not matter then. What stands in the place of a value is not a question for help: a script that
    /// passes on such a text must not take the help for its result.
    func asksForHelp(_ arguments: [String]) -> Bool {
        if arguments == ["help"] { return true }
        var rest = arguments[...]
        while let argument = rest.popFirst(), argument != "--" {
            if argument == OptionDefinition.help.spelling || argument == OptionDefinition.help.shortSpelling {
                return true
            }
            if takesNextArgument(argument) { rest = rest.dropFirst() }
        }
        return false
    }

    /// Reads all arguments.
    ///
    /// - Parameter arguments: What follows the command's name.
    /// - Returns: The options and operands.
    /// - Throws: ``UsageError`` for anything the definition does not allow.
    func parse(_ arguments: [String]) throws(UsageError) -> ParsedArguments {
        var result = ParsedArguments(path: path)
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                while let operand = rest.popFirst() { try add(operand: operand, to: &result) }
            } else if argument.hasPrefix("--") {
                try parseLong(argument.dropFirst(2), &rest, into: &result)
            } else if argument.hasPrefix("-"), argument != "-" {
                try parseShort(argument.dropFirst(), &rest, into: &result)
            } else {
                try add(operand: argument, to: &result)
            }
        }
        // Those that may be left out need not be the last.
        for operand in definition.operands.filter(\.isRequired).dropFirst(result.operands.count) {
            throw error("\(operand.name) is missing")
        }
        return result
    }

    private func parseLong(
        _ text: Substring,
        _ rest: inout ArraySlice<String>,
        into result: inout ParsedArguments
    ) throws(UsageError) {
        let name = text.prefix { $0 != "=" }
        guard let option = definition.allOptions.first(where: { $0.isNamed(name) }) else {
            throw unknownOption(String(name))
        }
        let attached = name.endIndex == text.endIndex ? nil : String(text[name.endIndex...].dropFirst())
        if option.value == nil {
            if attached != nil { throw error("\(option.spelling) takes no value") }
            try add("", to: option, of: &result)
        } else {
            let text = if let attached { attached } else { try nextValue(of: option, &rest) }
            try add(text, to: option, of: &result)
        }
    }

    private func parseShort(
        _ letters: Substring,
        _ rest: inout ArraySlice<String>,
        into result: inout ParsedArguments
    ) throws(UsageError) {
        var letters = letters
        while let letter = letters.popFirst() {
            guard let option = definition.allOptions.first(where: { $0.shortName == letter }) else {
                throw error("unknown option -\(Self.isNameCharacter(letter) ? String(letter) : "?")")
            }
            if option.value == nil {
                try add("", to: option, of: &result)
                continue
            }
            let attached = letters.first == "=" ? letters.dropFirst() : letters
            try add(letters.isEmpty ? try nextValue(of: option, &rest) : String(attached), to: option, of: &result)
            return
        }
    }

    /// The next argument as a value.
    ///
    /// One that is an option of the command is far more likely a forgotten value, so it is refused;
    /// `--name=value` gives such a text all the same.
    private func nextValue(
        of option: OptionDefinition,
        _ rest: inout ArraySlice<String>
    ) throws(UsageError) -> String {
        guard let next = rest.first, next != "--" else {
            throw error("\(option.spelling) needs a value: \(option.synopsis)")
        }
        let name = next.prefix { $0 != "=" }
        let isOption = { (option: OptionDefinition) in
            name.hasPrefix("--") ? option.isNamed(name.dropFirst(2)) : option.shortSpelling == String(name)
        }
        if let other = definition.allOptions.first(where: isOption) {
            throw error("\(option.spelling) needs a value, but \(other.spelling) follows")
        }
        rest.removeFirst()
        return next
    }

    private func takesNextArgument(_ argument: String) -> Bool {
        guard argument.hasPrefix("-") else { return false }
        if argument.hasPrefix("--") {
            return definition.allOptions.contains { $0.isNamed(argument.dropFirst(2)) && $0.value != nil }
        }
        var letters = argument.dropFirst()
        while let letter = letters.popFirst() {
            guard let option = definition.allOptions.first(where: { $0.shortName == letter }) else { return false }
            if option.value != nil { return letters.isEmpty }
        }
        return false
    }

    private func add(
        _ text: String,
        to option: OptionDefinition,
        of result: inout ParsedArguments
    ) throws(UsageError) {
        if result.contains(option), !option.isRepeatable {
            throw error("\(option.spelling) is given twice")
        }
        result.add(text, to: option)
    }

    private func add(operand: String, to result: inout ParsedArguments) throws(UsageError) {
        guard result.operands.count < definition.operands.count else {
            let expected = definition.operands.map(\.name).joined(separator: " ")
            throw error(
                expected.isEmpty
                    ? "unexpected argument: this command takes only options"
                    : "unexpected argument: only \(expected) is taken"
            )
        }
        result.add(operand: operand)
    }

    private func unknownOption(_ name: String) -> UsageError {
        guard name.allSatisfy(Self.isNameCharacter), name.count <= 32 else {
            return error("unknown option")
        }
        let nearest = Suggestion.nearest(to: name, in: definition.allOptions.map(\.longName))
        return error("unknown option --\(name)" + (nearest.map { ", did you mean --\($0)?" } ?? ""))
    }

    private func error(_ message: String) -> UsageError {
        UsageError(path: path, message: message)
    }

    /// What is repeated in a message is a plain name, never control characters and hardly a secret.
    private static func isNameCharacter(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || character == "-" || character == "_")
    }
}
