import TokenGeneration

enum KeyGroup {
    static let operand = OperandDefinition(
        name: "KEY",
        kind: .file,
        summary: "The key file, or - for standard input; or use --key-env"
    )

    static let definition = CommandDefinition(
        name: "key",
        summary: "Convert, inspect and publish keys",
        discussion: ["Keys are read as PEM, DER, JWK or certificate. The form is detected from the content."],
        examples: [
            "Convert PEM to JWK": "jwt key convert key.pem --to jwk --kid auto",
            "Describe a key": "jwt key inspect key.pem",
            "Add a public key to a JWK Set": "jwt key jwks add keys.jwks key.pem",
        ],
        subcommands: [
            KeyConvertCommand.definition, KeyConvertCommand.publicDefinition, KeyThumbprintCommand.definition,
            KeyInspectCommand.definition, KeySetGroup.definition,
        ],
        hiddenSubcommands: [generate]
    )

    private static var generate: CommandDefinition {
        var command = KeygenCommand.definition
        command.name = "generate"
        return command
    }

    static func source(_ arguments: ParsedArguments, operand: Int = 0) throws(UsageError) -> KeySource {
        let file: InputFile? = try arguments.operand(operand, named: "KEY")
        guard let source = try KeySource(arguments, file: file, named: "KEY") else {
            throw arguments.usageError("missing key; pass its file, - for standard input, or --key-env NAME")
        }
        return source
    }
}

struct KeyThumbprintCommand {
    private static let hash = Option<NamedHash>(
        "hash",
        choices: ["sha256": .sha256, "sha384": .sha384, "sha512": .sha512],
        "The hash function (default: sha256)"
    )
    private static let uri = Flag("uri", "Print the thumbprint as a URI (RFC 9278)")

    static let definition = CommandDefinition(
        name: "thumbprint",
        summary: "Print the RFC 7638 thumbprint of a key",
        discussion: [
            """
            A private key and its public part have the same thumbprint. The thumbprint of a secret is a hash of the \
            secret: don't publish it.
            """
        ],
        options: [hash, uri, KeySource.options],
        operands: [KeyGroup.operand],
        examples: [
            "Print the usual kid of a key": "jwt key thumbprint key.pem",
            "Print the thumbprint as a URI": "jwt key thumbprint --uri key.pem",
        ],
        exitCodes: [
            0: "The thumbprint was printed",
            2: "The key is unusable, or a file can't be read",
        ],
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let source = try KeyGroup.source(arguments)
        let function = arguments.value(of: hash) ?? .sha256
        let file = try source.read(warningOn: console)
        file.warn(on: console)
        let text = try KeyFile.describing(file.name) {
            let jwk = try jwk(file)
            return arguments.contains(uri) ? try jwk.thumbprintURI(function) : try jwk.thumbprint(function)
        }
        try console.print(text, as: "thumbprint")
    }

    private static func jwk(_ file: KeyFile) throws -> JWK {
        if case .jwk(let jwk) = file.content { return jwk }
        return try AnyKey(file, algorithm: nil).jwk(keyID: nil)
    }
}

struct KeyInspectCommand {
    static let definition = CommandDefinition(
        name: "inspect",
        summary: "Describe a key",
        discussion: ["Validates the key and prints one line for each property, but nothing secret."],
        options: [KeySource.options],
        operands: [KeyGroup.operand],
        examples: [
            "Describe a key": "jwt key inspect key.pem",
            "Check whether a key is private": "jwt key inspect key.pem --json | jq -r .part",
        ],
        exitCodes: [
            0: "The key is valid and was described",
            2: "The key is invalid, or a file can't be read",
        ],
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let file = try KeyGroup.source(arguments).read(warningOn: console)
        file.warn(on: console)
        let key = try AnyKey(file, algorithm: nil)
        let properties = properties(of: key, in: file)
        guard !console.writesJSON else { return try console.print(JSONObject(properties)) }
        let width = properties.map(\.0.count).max() ?? 0
        for (name, value) in properties {
            let margin = String(repeating: " ", count: width + 2 - name.count - 1)
            try console.print(VisibleText.line("\(name):\(margin)\(shown(value))"))
        }
    }

    private static func properties(of key: AnyKey, in file: KeyFile) -> [(String, JSONValue)] {
        let jwk = key.publicPart.jwk
        var properties: [(String, JSONValue)] = [("form", .string(form(of: file))), ("part", .string(part(of: key)))]
        properties.append(("type", .string(jwk.keyType)))
        if let curve = jwk.curve { properties.append(("curve", .string(curve))) }
        if let bits = rsaBits(jwk) { properties.append(("bits", .number(JSONNumber(bits)))) }
        if key.statesAlgorithm { properties.append(("algorithm", .string(key.publicPart.algorithmName))) }
        for (name, member) in [("kid", "kid"), ("use", "use"), ("operations", "key_ops")] {
            if let value = key.metadata[member] { properties.append((name, value)) }
        }
        // The thumbprint of a secret would help an attacker guess it.
        if !key.isSymmetric, let thumbprint = try? key.thumbprint {
            properties.append(("thumbprint", .string(thumbprint)))
        }
        return properties
    }

    private static func form(of file: KeyFile) -> String {
        switch file.content {
        case .pem(let text):
            let rest = text.firstRange(of: "-----BEGIN ").map { text[$0.upperBound...].unicodeScalars }
            let label = rest.map { String($0.prefix { $0 != "-" }) } ?? ""
            // Parameters may precede an EC key.
            return "PEM, " + (label == "EC PARAMETERS" ? "EC PRIVATE KEY" : label)
        case .der: return "DER"
        case .jwk: return "JWK"
        case .set: return "JWK Set"
        case .secret: return "bare secret"
        }
    }

    private static func part(of key: AnyKey) -> String {
        if key.isSymmetric { return "secret" }
        return key.isPrivate ? "private" : "public"
    }

    private static func rsaBits(_ jwk: JWK) -> Int? {
        guard let modulus = jwk.members["n"]?.string, let octets = try? Base64URL.decode(modulus),
            let first = octets.first
        else { return nil }
        return octets.count * 8 - first.leadingZeroBitCount
    }

    private static func shown(_ value: JSONValue) -> String {
        if let text = value.string { return text }
        if let list = value.array { return list.compactMap(\.string).joined(separator: ", ") }
        return value.number?.literal ?? ""
    }
}
