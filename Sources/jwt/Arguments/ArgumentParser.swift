enum Invocation {
    case help(CommandDefinition, path: [String])
    case version
    case missingCommand(CommandDefinition, path: [String])
    case run(CommandDefinition.Action, ParsedArguments)

    init(_ arguments: [String], root: CommandDefinition) throws(UsageError) {
        self = try Self.resolve(arguments[...], in: root, path: [root.name])
    }

    private static func resolve(
        _ arguments: ArraySlice<String>,
        in command: CommandDefinition,
        path: [String]
    ) throws(UsageError) -> Invocation {
        if let action = command.action {
            let parsed = try ArgumentParser(path: path, definition: command).parse(Array(arguments))
            return parsed.contains(OptionDefinition.help) ? .help(command, path: path) : .run(action, parsed)
        }
        guard let first = arguments.first else { return .missingCommand(command, path: path) }
        let rest = arguments.dropFirst()
        switch first {
        case "--help", "-h":
            return .help(command, path: path)
        case "help":
            return try help(on: rest, in: command, path: path)
        case _ where path.count == 1 && Self.asksForVersion(first):
            return .version
        default:
            let subcommand = try find(first, in: command, path: path)
            return try resolve(rest, in: subcommand, path: path + [subcommand.name])
        }
    }

    static func asksForVersion(_ argument: String) -> Bool { ["--version", "-V", "version"].contains(argument) }

    private static func help(
        on names: ArraySlice<String>,
        in command: CommandDefinition,
        path: [String]
    ) throws(UsageError) -> Invocation {
        guard let name = names.first, !name.hasPrefix("-") else { return .help(command, path: path) }
        let subcommand = try find(name, in: command, path: path)
        return try help(on: names.dropFirst(), in: subcommand, path: path + [subcommand.name])
    }

    private static func find(
        _ name: String,
        in command: CommandDefinition,
        path: [String]
    ) throws(UsageError) -> CommandDefinition {
        let commands = command.subcommands + command.hiddenSubcommands
        if let found = commands.first(where: { $0.name == name }) { return found }
        let kind = name.hasPrefix("-") ? "an option" : "a command"
        guard name.count <= 24, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !name.contains("=") else {
            // The message doesn't repeat the argument: it may be a pasted token or secret.
            throw UsageError(path: path, message: "the first argument is not \(kind)" + list(command))
        }
        let names = command.subcommands.map(\.name)
        let nearest =
            ForeignNames.command(for: name, in: names + (path.count == 1 ? ["--version"] : []))
            ?? Suggestion.nearest(to: name, in: names)
        let advice = nearest.map { ", did you mean \($0)?" } ?? list(command)
        throw UsageError(path: path, message: "unknown \(kind.split(separator: " ").last ?? "") \(name)" + advice)
    }

    private static func list(_ command: CommandDefinition) -> String {
        command.subcommands.isEmpty ? "" : "; commands: " + command.subcommands.map(\.name).joined(separator: ", ")
    }
}

/// Accepts `--name value`, `--name=value`, `-n value`, `-nvalue`, `-n=value` and combined flags
/// (`-ab`).
///
/// Names can't be abbreviated, so that a new option can't break a script. Messages never repeat a
/// value.
struct ArgumentParser {
    let path: [String]
    let definition: CommandDefinition

    /// A request for help overrides all errors, but an option's value is never a request: a script
    /// that passes such text on must not mistake the help for its result.
    func parse(_ arguments: [String]) throws(UsageError) -> ParsedArguments {
        var result = ParsedArguments(path: path, options: definition.allOptions)
        var rest = arguments == ["help"] ? [OptionDefinition.help.spelling] : arguments[...]
        var firstError: UsageError?
        while let argument = rest.popFirst() {
            do throws(UsageError) {
                if argument == "--" {
                    while let operand = rest.popFirst() { try add(operand: operand, to: &result) }
                } else if argument.hasPrefix("--") {
                    try parseLong(argument.dropFirst(2), &rest, into: &result)
                } else if argument.hasPrefix("-"), argument != "-" {
                    try parseShort(argument.dropFirst(), &rest, into: &result)
                } else {
                    try add(operand: argument, to: &result)
                }
            } catch {
                firstError = firstError ?? error
            }
        }
        if result.contains(OptionDefinition.help) { return result }
        if let firstError { throw firstError }
        // Optional operands can precede required ones.
        for operand in definition.operands.filter(\.isRequired).dropFirst(result.operands.count) {
            throw error("\(operand.name) is missing" + ForeignNames.advice(onKeysIn: result, definition))
        }
        return result
    }

    private func parseLong(
        _ text: Substring,
        _ rest: inout ArraySlice<String>,
        into result: inout ParsedArguments
    ) throws(UsageError) {
        // By bytes: a combining character after the sign belongs to the value.
        let end = text.utf8.firstIndex(of: UInt8(ascii: "=")) ?? text.endIndex
        let name = text[..<end]
        guard let option = definition.allOptions.first(where: { $0.isNamed(name) }) else {
            throw unknownOption(String(name))
        }
        let attached = end == text.endIndex ? nil : String(text[text.utf8.index(after: end)...])
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
                let answer = ForeignNames.answer(to: String(letter), in: definition)
                throw error("unknown option -\(Self.isNameCharacter(letter) ? String(letter) : "?")" + answer)
            }
            if option.value == nil {
                try add("", to: option, of: &result)
                continue
            }
            let attached = letters.first == "=" ? letters.dropFirst() : letters
            let advice = ForeignNames.advice(onFlag: option, definition)
            let text = letters.isEmpty ? try nextValue(of: option, &rest, advice) : String(attached)
            return try add(text, to: option, of: &result)
        }
    }

    /// Rejects an option of the command, because the value is most likely missing; `--name=value`
    /// accepts such text.
    private func nextValue(
        of option: OptionDefinition,
        _ rest: inout ArraySlice<String>,
        _ advice: String = ""
    ) throws(UsageError) -> String {
        guard let next = rest.first, next != "--" else {
            throw error("\(option.spelling) needs a value: \(option.synopsis)" + advice)
        }
        rest.removeFirst()
        let name = next.prefix { $0 != "=" }
        let isOption = { (option: OptionDefinition) in
            name.hasPrefix("--") ? option.isNamed(name.dropFirst(2)) : option.shortSpelling == String(name)
        }
        if let other = definition.allOptions.first(where: isOption) {
            throw error("\(option.spelling) needs a value, but \(other.spelling) follows" + advice)
        }
        return next
    }

    private func add(_ text: String, to option: OptionDefinition, of result: inout ParsedArguments) throws(UsageError) {
        if result.contains(option), !option.isRepeatable {
            throw error("\(option.spelling) can be given only once")
        }
        do throws(ValueError) {
            try option.value?.check(text)
        } catch {
            throw self.error("\(option.spelling) \(error.message)")
        }
        result.add(text, to: option)
    }

    private func add(operand: String, to result: inout ParsedArguments) throws(UsageError) {
        guard result.operands.count < definition.operands.count else {
            let expected = definition.operands.map(\.name).joined(separator: " ")
            throw error(
                expected.isEmpty
                    ? "unexpected argument: this command takes only options" + ForeignNames.advice(in: definition)
                    : "unexpected argument: expected only \(expected)"
            )
        }
        result.add(operand: operand)
    }

    private func unknownOption(_ name: String) -> UsageError {
        guard name.allSatisfy(Self.isNameCharacter), name.count <= 32 else {
            return error("unknown option")
        }
        let answer = ForeignNames.answer(to: name, in: definition)
        guard answer.isEmpty else { return error("unknown option --\(name)" + answer) }
        let nearest = Suggestion.nearest(to: name, in: definition.allOptions.map(\.longName))
        return error("unknown option --\(name)" + (nearest.map { ", did you mean --\($0)?" } ?? ""))
    }

    private func error(_ message: String) -> UsageError { UsageError(path: path, message: message) }

    /// Messages repeat only plain names, which can't contain control characters and are unlikely to
    /// be secrets.
    private static func isNameCharacter(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || character == "-" || character == "_")
    }
}

enum Suggestion {
    /// Returns the most similar candidate with at most one error per three letters.
    static func nearest(to typed: String, in candidates: [String]) -> String? {
        let letters = Array(typed.lowercased())
        var best: (name: String, distance: Int)?
        for candidate in candidates {
            let name = Array(candidate)
            let isBeginning = letters.count >= 2 && name.starts(with: letters)
            let distance = isBeginning ? 1 : distance(letters, name)
            guard distance <= max(1, max(letters.count, name.count) / 3) else { continue }
            if best.map({ distance < $0.distance }) ?? true { best = (candidate, distance) }
        }
        return best?.name
    }

    /// Counts insertions, deletions, replacements and swaps of adjacent letters.
    static func distance(_ first: [Character], _ second: [Character]) -> Int {
        var beforePrevious: [Int] = []
        var previous = Array(0...second.count)
        for row in first.indices {
            var current = [row + 1]
            for column in second.indices {
                let replaced = previous[column] + (first[row] == second[column] ? 0 : 1)
                var least = min(replaced, previous[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, first[row] == second[column - 1], first[row - 1] == second[column] {
                    least = min(least, beforePrevious[column - 1] + 1)
                }
                current.append(least)
            }
            (beforePrevious, previous) = (previous, current)
        }
        return previous[second.count]
    }
}

/// Answers to the names that users of other tools type, such as step, jwt-cli, oauth2c and curl.
enum ForeignNames {
    /// Our commands by theirs, from the preferred one.
    private static let commands: [String: [String]] = [
        "encode": ["sign"], "create": ["sign"], "issue": ["sign"], "inspect": ["decode"], "parse": ["decode"],
        "show": ["decode", "inspect"], "-show": ["decode"], "introspect": ["decode"], "generate": ["keygen"],
        "keypair": ["keygen"], "keygenerate": ["keygen"], "genkey": ["keygen"], "validate": ["verify"],
        "check": ["verify"], "curl": ["request"], "get": ["request"], "login": ["token"], "jwe": ["encrypt"],
        "jwk": ["key"], "jwks": ["key"], "thumbprint": ["key"], "fingerprint": ["thumbprint"], "-v": ["--version"],
    ]

    /// Our options by theirs, from the preferred one.
    private static let options: [String: [String]] = [
        "exp": ["expires-in"], "expiry": ["expires-in"], "expires": ["expires-in"], "not-after": ["expires-in"],
        "expiration": ["expires-in"], "ttl": ["expires-in"], "e": ["expires-in"], "n": ["not-before"], "i": ["iss"],
        "s": ["sub"], "a": ["aud"], "t": ["typ"], "type": ["typ", "alg"], "jwt-id": ["jti"], "set": ["claim"],
        "payload": ["claim"], "P": ["claim"], "algorithm": ["alg"], "algorithms": ["alg"], "A": ["alg"],
        "size": ["rsa-bits"], "bits": ["rsa-bits"], "format": ["to"], "no-aud": ["any-aud"], "no-audience": ["any-aud"],
        "private-key": ["key"], "pubkey": ["key", "verify-key"], "server": ["issuer"],
        "issuer-url": ["issuer", "discover"],
        "S": ["key-env"], "j": ["json"], "kty": ["alg"], "crv": ["alg"], "curve": ["alg"],
        "public-key": ["key", "verify-key"], "jwk": ["key", "verify-key"], "signing-key": ["key"],
        "token-url": ["token-endpoint"], "scopes": ["scope"], "cacert": ["roots"], "max-time": ["timeout"],
        "insecure": ["roots"], "u": ["client-id"], "user": ["client-id"],
    ]

    /// Those of curl, for `jwt request`.
    private static let curlOptions = [
        "A": "header", "b": "header", "cookie": "header", "e": "header", "referer": "header", "user-agent": "header",
        "F": "data", "form": "data", "connect-timeout": "timeout", "data-ascii": "data", "data-binary": "data",
        "data-raw": "data", "data-urlencode": "data", "T": "data",
        "upload-file": "data", "I": "request", "head": "request", "m": "timeout", "O": "out", "remote-name": "out",
        "w": "json", "write-out": "json",
    ]

    static func command(for name: String, in names: [String]) -> String? {
        commands[name.lowercased()]?.first { names.contains($0) }
    }

    /// Returns the end of a message about an unknown option, or an empty string.
    static func answer(to name: String, in command: CommandDefinition) -> String {
        let curl = command.name == "request" ? curlOptions[name].map { [$0] } : nil
        if let option = (curl ?? options[name])?.lazy.compactMap({ name in
            command.allOptions.first { $0.longName == name }
        }).first {
            let reason = name == "insecure" ? "; certificates are always verified" : ""
            return "\(reason); use \(option.synopsis)"
        }
        switch name {
        case "output", "out", "o", "O": return "; the result is on standard output: redirect it with > FILE"
        case _ where command.name == "verify" && ["nbf", "iat", "exp", "not-before", "issued-at"].contains(name):
            return "; the claim is always checked, as of now or of --at TIME"
        case "no-exp-check", "ignore-exp", "ignore-expiration", "allow-expired":
            return command.allOptions.contains { $0.longName == "at" }
                ? "; to check the token as of an earlier time, use --at TIME" : ""
        case _ where command.name == "request" && ["s", "silent", "S", "show-error", "compressed"].contains(name):
            return "; it's the default"
        case _ where command.name == "request" && ["x", "proxy"].contains(name):
            return "; set the environment variable https_proxy"
        case _ where command.name == "decode" && ["S", "secret", "key", "k", "alg", "A"].contains(name):
            return "; jwt verify checks the signature"
        case "subtle": return "; it isn't needed"
        case "v", "verbose": return "; jwt request has --verbose"
        case "X", "request": return "; jwt request has --request"
        case "insecure": return "; nothing that this command does depends on it"
        case "keyid", "kid": return "; the token's kid selects the key"
        default: return ""
        }
    }

    /// Returns the end of a message about a missing value of `-k`, a flag of curl.
    static func advice(onFlag option: OptionDefinition, _ command: CommandDefinition) -> String {
        guard command.name == "request", option.shortName == "k" else { return "" }
        return
            "; -k is \(option.synopsis) here, and certificates are always verified; use \(RootsOption.option.synopsis)"
    }

    /// Returns the end of a message about a missing URL, which is the value of `-k`.
    static func advice(onKeysIn arguments: ParsedArguments, _ command: CommandDefinition) -> String {
        guard let key = command.allOptions.first(where: { $0.shortName == "k" }),
            arguments.text(of: key)?.contains("://") == true
        else { return "" }
        return advice(onFlag: key, command)
    }

    /// Returns the end of a message about an argument that isn't expected, or an empty string.
    static func advice(in command: CommandDefinition) -> String {
        if let claims = command.allOptions.first(where: { $0.longName == "claims" }) {
            return "; pass claims with --claim NAME=VALUE or \(claims.synopsis)"
        }
        let issuer = command.name == "token" ? command.allOptions.first { $0.longName == "issuer" } : nil
        return issuer.map { "; pass the server with \($0.synopsis)" } ?? ""
    }
}
