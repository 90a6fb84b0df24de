import Foundation
import Glibc
import TokenGeneration

/// `jwt key jwks`: commands about JWK Sets.
enum KeySetGroup {
    static let set = OperandDefinition(name: "SET", isRequired: true, kind: .file, summary: "The file of the JWK Set")

    static let definition = CommandDefinition(
        name: "jwks",
        summary: "Change and list a JWK Set",
        discussion: [
            """
            A set is replaced as a whole: whoever reads it meanwhile sees the old one or the new one. Those who change it at \
            the same time wait for each other.
            """
        ],
        examples: [
            .init(purpose: "Publish a key", line: "jwt key jwks add keys.jwks key.pem"),
            .init(purpose: "Which keys are in it?", line: "jwt key jwks list keys.jwks"),
            .init(purpose: "Take one out", line: "jwt key jwks remove keys.jwks 2025-06"),
        ],
        subcommands: [
            KeySetAddCommand.definition, KeySetRemoveCommand.definition, KeySetListCommand.definition,
        ]
    )

    static let exitStatuses: [CommandDefinition.ExitStatus] = [
        .init(code: 0, meaning: "Done"),
        .init(code: 1, meaning: "The set has such a key already, or has it not"),
        .init(code: 2, meaning: "A key or the set cannot be used, or a file failed"),
        .usage,
    ]

    /// The file of a set.
    ///
    /// - Throws: ``UsageError``.
    static func file(_ arguments: ParsedArguments) throws(UsageError) -> InputFile {
        do throws(ValueError) {
            return try InputFile(argument: arguments.operands.first ?? "")
        } catch {
            throw arguments.usageError("SET \(error.message)")
        }
    }
}

/// A JWK Set in a file, with everything that stands in it, also what this package can't use.
struct KeySetFile {
    let file: InputFile
    /// The whole document.
    private var document: JSONObject
    /// The permissions of the file that is replaced; `nil` of a new one.
    private let mode: mode_t?

    /// Reads the file, changes the set and puts it in the place of the old one, while no other process does the same.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - mayBeMissing: Whether a file that is not there is an empty set.
    ///   - isSecret: Whether others must not read what is written.
    ///   - change: Changes the set.
    /// - Returns: What the closure returns.
    /// - Throws: ``CommandFailure`` that names the file, and what the closure throws; nothing is written then.
    static func change<Result>(
        _ file: InputFile,
        mayBeMissing: Bool = false,
        isSecret: Bool = false,
        _ change: (inout KeySetFile) throws -> Result
    ) throws -> Result {
        let lock: FileDescriptor
        do throws(FileDescriptor.Failure) {
            lock = try FileDescriptor.lockedFolder(of: file.path)
        } catch {
            throw CommandFailure(.failed, "\(file.name): its folder cannot be locked: \(error.reason)", cause: error)
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
        do throws(TokenError) {
            // Whoever has a set that nobody could read shall not add to it.
            _ = try JWKSet(parsing: Data(content.bytes))
            document = try JSONObject(parsing: Data(content.bytes))
        } catch {
            throw CommandFailure(.failed, "\(file.name): \(error.message)", cause: error)
        }
    }

    var entries: [JSONValue] {
        get { document["keys"]?.array ?? [] }
        set { document["keys"] = .array(newValue) }
    }

    /// The places of the entries with an ID.
    func indices(of keyID: String) -> [Int] {
        entries.indices.filter { entries[$0].object?["kid"] == .string(keyID) }
    }

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
