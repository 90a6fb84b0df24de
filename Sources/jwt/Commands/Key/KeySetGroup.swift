import Foundation
import Glibc
import TokenGeneration

/// The `jwt key jwks` command group.
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
        subcommands: [
            KeySetAddCommand.definition, KeySetRemoveCommand.definition, KeySetListCommand.definition,
        ]
    )

    static let exitCodes: KeyValuePairs<Int32, String> = [
        0: "Success",
        1: "The set already has the key, or doesn't have it",
        2: "A key or the set is unusable, or a file can't be read or written",
    ]

    static func file(_ arguments: ParsedArguments) throws(UsageError) -> InputFile {
        try arguments.operand(named: "SET") ?? .standardInput
    }
}

/// A JWK Set in a file, including any entries and members that this version doesn't support.
struct KeySetFile {
    let file: InputFile
    private var document: JSONObject
    /// The permissions of the existing file, or `nil` for a new file.
    private let mode: mode_t?

    /// Reads, changes and replaces the set while holding an exclusive lock.
    ///
    /// A missing file can count as an empty set, and a secret one becomes readable only by its
    /// owner. The file is unchanged if an error is thrown.
    static func change<Result>(
        _ file: InputFile,
        mayBeMissing: Bool = false,
        isSecret: Bool = false,
        _ change: (inout KeySetFile) throws -> Result
    ) throws -> Result {
        let lock = try CommandFailure.reporting(at: "\(file.name): its folder can't be locked") {
            try FileDescriptor.lockedFolder(of: file.path)
        }
        return try lock.whileOpen {
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
            _ = try JWKSet(parsing: Data(content.bytes))
            return try JSONObject(parsing: Data(content.bytes))
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
