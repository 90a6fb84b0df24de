/// A parser for the arguments of one command.
///
/// The parser accepts `--name value`, `--name=value`, `-n value`, `-nvalue`, `-n=value` and
/// combined flags (`-ab`). `--` ends the options, and `-` alone is an ordinary argument. Option
/// names can't be abbreviated, so that a new option can't break a script. Error messages never
/// repeat a value.
struct ArgumentParser {
    let path: [String]
    let definition: CommandDefinition

    /// Returns whether the arguments request help: `--help` or `-h` as an option, or the single
    /// word `help`.
    ///
    /// A request for help overrides all other errors. An option's value never counts as a request:
    /// a script that passes such text on must not mistake the help for its result.
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

    /// Parses the arguments after the command's name.
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
        // Optional operands can precede required ones.
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
            if attached != nil { throw error("\(option.spelling) doesn't take a value") }
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

    /// Returns the next argument as an option's value.
    ///
    /// Rejects an argument that is itself an option of the command, because the value is most
    /// likely missing. `--name=value` still accepts such text.
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
            throw error("\(option.spelling) can be given only once")
        }
        result.add(text, to: option)
    }

    private func add(operand: String, to result: inout ParsedArguments) throws(UsageError) {
        guard result.operands.count < definition.operands.count else {
            let expected = definition.operands.map(\.name).joined(separator: " ")
            throw error(
                expected.isEmpty
                    ? "unexpected argument: this command takes only options"
                    : "unexpected argument: expected only \(expected)"
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

    /// Messages repeat only plain names, which can't contain control characters and are unlikely to
    /// be secrets.
    private static func isNameCharacter(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || character == "-" || character == "_")
    }
}
