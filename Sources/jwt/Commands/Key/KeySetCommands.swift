import Foundation
import Glibc
import TokenGeneration

enum KeySetGroup {
    static let set = OperandDefinition(name: "SET", isRequired: true, kind: .file, summary: "The JWK Set file")

    static let definition = CommandDefinition(
        name: "jwks",
        summary: "Edit and list a JWK Set",
        discussion: [
            """
            Changes are atomic: a concurrent reader sees either the old or the new set. Concurrent changes wait for \
            each other.
            """
        ],
        examples: [
            "Add a public key to a JWK Set": "jwt key jwks add keys.jwks key.pem",
            "List the keys": "jwt key jwks list keys.jwks",
            "Remove a key": "jwt key jwks remove keys.jwks 2025-06",
        ],
        subcommands: [KeySetAddCommand.definition, KeySetRemoveCommand.definition, KeySetListCommand.definition]
    )

    static let exitCodes: KeyValuePairs<Int32, String> = [
        0: "Success",
        1: "The set already has the key, or doesn't have it",
        2: "A key or the set is unusable, or a file can't be read or written",
    ]

    static func file(_ arguments: ParsedArguments) throws(UsageError) -> InputFile {
        try arguments.operand(named: "SET") ?? .standardInput
    }

    static func editedFile(_ arguments: ParsedArguments) throws(UsageError) -> InputFile {
        let file = try file(arguments)
        if file.isStandardInput { throw arguments.usageError("SET must be a file, not standard input") }
        return file
    }
}

/// A JWK Set in a file, including any entries and members that this version doesn't support.
struct KeySetFile {
    let file: InputFile
    private var document: JSONObject
    private let mode: mode_t?

    /// Reads, changes and replaces the set while holding an exclusive lock; an error leaves the
    /// file unchanged.
    static func change<Result>(
        _ file: InputFile,
        mayBeMissing: Bool = false,
        isSecret: Bool = false,
        _ change: (inout KeySetFile) throws -> Result
    ) throws -> Result {
        let lock = try CommandFailure.reporting(at: "\(file.name): its folder can't be locked") {
            try FileDescriptor.lockedFolder(of: file.path)
        }
        return try withExtendedLifetime(lock) {
            var set = try KeySetFile(file, mayBeMissing: mayBeMissing)
            let result = try change(&set)
            try set.write(isSecret: isSecret)
            return result
        }
    }

    private init(_ file: InputFile, mayBeMissing: Bool) throws(CommandFailure) {
        self.file = file
        let content: InputFile.Content
        do throws(CommandFailure) {
            content = try file.read()
        } catch {
            guard mayBeMissing, error.cause as? FileDescriptor.Failure == .missing else { throw error }
            document = ["keys": []]
            mode = nil
            return
        }
        mode = content.status.map { $0.mode & 0o777 }
        document = try CommandFailure.reporting(at: file.name) {
            // Reject a set that verifiers couldn't parse, instead of adding to it.
            let document = Data(content.bytes.withoutByteOrderMark)
            _ = try JWKSet(parsing: document)
            return try JSONObject(parsing: document)
        }
    }

    var entries: [JSONValue] {
        get { document["keys"]?.array ?? [] }
        set { document["keys"] = .array(newValue) }
    }

    func contains(_ keyID: String) -> Bool { entries.contains { $0.object?["kid"] == .string(keyID) } }

    mutating func remove(_ keyID: String) { entries.removeAll { $0.object?["kid"] == .string(keyID) } }

    private func write(isSecret: Bool) throws(CommandFailure) {
        let text = VisibleText.json(document.prettyPrinted()) + "\n"
        let staged = try StagedFile(
            path: file.path,
            mode: isSecret ? 0o600 : mode ?? 0o644,
            octets: Array(text.utf8),
            replaces: true
        )
        if !isSecret, let mode { try staged.setMode(mode) }
        try staged.commit()
    }
}

struct KeySetAddCommand {
    private static let keyID = KeySource.keyID(
        "The kid in the set (default: the key's kid, or its RFC 7638 thumbprint)"
    )
    private static let isPrivate = Flag("private", "Include the private key; the file becomes readable only by you")
    private static let force = Flag("force", short: "f", "Replace a key with the same kid")

    static let definition = CommandDefinition(
        name: "add",
        summary: "Add the public part of a key to a JWK Set",
        discussion: [
            """
            Creates the file if it doesn't exist. The entry states use: sig and the algorithm, so that verifiers \
            don't have to guess. Prints the kid.
            """
        ],
        options: [keyID, KeySource.algorithm, isPrivate, force, KeySource.options],
        operands: [KeySetGroup.set, KeyGroup.operand],
        examples: [
            "Add a public key to a JWK Set": "jwt key jwks add keys.jwks key.pem",
            "Choose the kid": "jwt key jwks add keys.jwks rsa.pem --alg RS256 --kid 2026-11",
        ],
        exitCodes: KeySetGroup.exitCodes,
        action: { try KeySetAddCommand($0).run(on: $1) }
    )

    private let arguments: ParsedArguments
    private let file: InputFile
    private let source: KeySource

    private var isPrivate: Bool { arguments.contains(Self.isPrivate) }

    private init(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        file = try KeySetGroup.editedFile(arguments)
        source = try KeyGroup.source(arguments, operand: 1)
    }

    private func run(on console: Console) throws {
        let keyFile = try source.read(warningOn: console)
        keyFile.warn(on: console)
        let jwk = try entry(keyFile)
        let name = jwk.keyID ?? ""
        try KeySetFile.change(file, mayBeMissing: true, isSecret: isPrivate) { set in
            if set.contains(name) {
                guard arguments.contains(Self.force) else {
                    throw CommandFailure(
                        .rejected,
                        "\(file.name): already has a key with this kid; use --force to replace it, or --kid to choose another",
                        cause: TokenError(.ambiguousKey, "")
                    )
                }
                set.remove(name)
            }
            set.entries.append(.object(jwk.members))
        }
        try console.writesJSON ? console.print(["kid": .string(name)]) : console.print(VisibleText.line(name))
    }

    private func entry(_ file: KeyFile) throws(CommandFailure) -> JWK {
        try CommandFailure.reporting(at: file.name) {
            let key = try AnyKey(file, algorithm: arguments.value(of: KeySource.algorithm))
            guard isPrivate || !key.isSymmetric else {
                throw TokenError(
                    .unsupportedKey,
                    "a secret has no public part to publish; use --private to add the secret itself"
                )
            }
            guard key.statesAlgorithm || key.isForEncryption else {
                throw TokenError(.algorithmRequired, "the key doesn't state its algorithm; pass it with --alg")
            }
            let part = isPrivate ? key : try key.withoutPrivatePart()
            var jwk = try part.jwk(keyID: arguments.value(of: Self.keyID))
            if jwk.keyID == nil { jwk.keyID = try key.thumbprint }
            if jwk.use == nil { jwk.use = "sig" }
            return jwk
        }
    }
}

struct KeySetRemoveCommand {
    static let definition = CommandDefinition(
        name: "remove",
        summary: "Remove a key from a JWK Set",
        discussion: ["Removes every entry with the kid. Verifiers then reject tokens with that kid."],
        operands: [
            KeySetGroup.set,
            OperandDefinition(
                name: "KID",
                isRequired: true,
                summary: "The kid of the key; put -- before one that begins with -"
            ),
        ],
        examples: ["Retire a key": "jwt key jwks remove keys.jwks 2025-06"],
        exitCodes: KeySetGroup.exitCodes,
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let file = try KeySetGroup.editedFile(arguments)
        let keyID = arguments.operands.dropFirst().first ?? ""
        let count = try KeySetFile.change(file) { set in
            guard set.contains(keyID) else {
                throw CommandFailure(
                    .rejected,
                    "\(file.name): has no key with this kid; jwt key jwks list shows its keys",
                    cause: TokenError(.unknownKey, "")
                )
            }
            let count = set.entries.count
            set.remove(keyID)
            return count - set.entries.count
        }
        if console.writesJSON { try console.print(["removed": .number(JSONNumber(count))]) }
    }
}

struct KeySetListCommand {
    static let definition = CommandDefinition(
        name: "list",
        summary: "List the keys of a JWK Set",
        discussion: [
            """
            Prints one line for each key with tab-separated columns: kid, type, algorithm, use, thumbprint. A - \
            stands for a missing value. If this version can't verify with a key, an additional column explains why.
            """
        ],
        operands: [KeySetGroup.set],
        examples: [
            "List the keys": "jwt key jwks list keys.jwks",
            "List only the kids": "jwt key jwks list keys.jwks | cut -f1",
        ],
        exitCodes: [
            0: "The keys were listed",
            2: "The set is unusable, or a file can't be read",
        ],
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let file = try KeySetGroup.file(arguments)
        let content = try file.read()
        let set = try CommandFailure.reporting(at: file.name) {
            try JWKSet(parsing: Data(content.bytes.withoutByteOrderMark))
        }
        let rows = set.keys.map(row)
        if console.writesJSON {
            try console.print(["keys": .array(rows.map { .object(object($0)) })])
        } else {
            for row in rows { try console.print(line(row)) }
        }
        for rejection in set.rejections {
            console.warn("\(file.name): entry \(rejection.index) isn't a key: \(rejection.reason.message)")
        }
    }

    private struct Row {
        var cells: [(name: String, text: String?)]
        var problem: TokenError?
    }

    private static func row(_ jwk: JWK) -> Row {
        let thumbprint = jwk.keyType == "oct" ? nil : try? jwk.thumbprint
        var problem: TokenError?
        do throws(TokenError) {
            _ = try VerificationKey(jwk: jwk)
        } catch {
            // Keys for encryption are usable, too.
            let isForEncryption = jwk.use != "sig" && (try? EncryptionCandidates(jwk: jwk).encryptionKey()) != nil
            problem = isForEncryption && error.code != .algorithmRequired ? nil : error
        }
        return Row(
            cells: [
                ("kid", jwk.keyID), ("type", ([jwk.keyType] + [jwk.curve].compactMap(\.self)).joined(separator: " ")),
                ("alg", jwk.algorithm), ("use", jwk.use), ("thumbprint", thumbprint),
            ],
            problem: problem
        )
    }

    private static func line(_ row: Row) -> String {
        let problem = row.problem.map { "not usable: \($0.message)" }
        let cells = row.cells.map { $0.text ?? "-" } + [problem].compactMap(\.self)
        // Escape tabs: a tab in a kid would create another column.
        return cells.map(VisibleText.line).joined(separator: "\t")
    }

    private static func object(_ row: Row) -> JSONObject {
        var members = row.cells.compactMap { cell in cell.text.map { (cell.name, JSONValue.string($0)) } }
        if let problem = row.problem { members.append(("problem", .object(CommandFailure(.failed, problem).report))) }
        return JSONObject(members)
    }
}
