import TokenGeneration

/// The `jwt key thumbprint` command: prints the RFC 7638 thumbprint of a key.
struct KeyThumbprintCommand {
    enum Hash: String, CaseIterable, NamedValue {
        case sha256, sha384, sha512

        var function: NamedHash {
            switch self {
            case .sha256: .sha256
            case .sha384: .sha384
            case .sha512: .sha512
            }
        }
    }

    private static let hash = Option<Hash>("hash", value: "sha256|sha384|sha512", "The hash function (default: sha256)")
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
        let function = try (arguments.value(of: hash) ?? .sha256).function
        let file = try source.read(warningOn: console)
        file.warn(on: console)
        let text = try KeyFile.describing(file.name) {
            let jwk = try jwk(file)
            return arguments.contains(uri) ? try jwk.thumbprintURI(function) : try jwk.thumbprint(function)
        }
        try console.print(text, as: "thumbprint")
    }

    /// Returns the key as a JWK, which can have any key type with a defined thumbprint.
    private static func jwk(_ file: KeyFile) throws -> JWK {
        if case .jwk(let jwk) = file.content { return jwk }
        return try AnyKey(file, algorithm: nil).jwk(keyID: nil)
    }
}
