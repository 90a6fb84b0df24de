import Foundation
import OAuth2

/// The options that say where tokens are kept between calls, and until when a kept one will do.
struct CacheOptions: Sendable {
    static let section = "Kept tokens"

    private static let folder = Option<FolderPath>(
        "cache-dir",
        value: "FOLDER",
        section: section,
        "Where tokens are kept, for you alone (default: ~/.local/state/jwt/tokens, or jwt/tokens in $XDG_STATE_HOME)"
    )
    private static let keyFile = Option<InputFile>(
        "cache-key-file",
        value: "FILE",
        section: section,
        "Encrypt what is kept with the key in this file: 32 octets in base64 (openssl rand -base64 32)"
    )
    private static let keyEnvironment = Option<EnvironmentVariable>(
        "cache-key-env",
        value: "NAME",
        section: section,
        "Encrypt what is kept with the key in this environment variable"
    )
    private static let isOff = Flag("no-cache", section: section, "Keep nothing, and use nothing that is kept")
    private static let leastLifetime = Option<TimeSpan>(
        "min-valid",
        value: "DURATION",
        section: section,
        "For how long a kept token must still be good to be used (default: 30s)"
    )

    static let members = [
        ProfileMember(folder), ProfileMember(keyFile), ProfileMember(keyEnvironment), ProfileMember(isOff),
        ProfileMember(leastLifetime),
    ]

    /// Options of which one stands for the other.
    static let alternatives = [
        [folder.definition.longName, isOff.definition.longName],
        [keyFile.definition.longName, keyEnvironment.definition.longName],
    ]

    /// For how long a kept token must still be good.
    let leastLifetime: Duration
    private let folder: FolderPath?
    private let key: PasswordSource?
    /// Whether nothing is kept.
    let isOff: Bool

    init(_ arguments: ParsedArguments, needsStore: Bool) throws(UsageError) {
        folder = try arguments.value(of: Self.folder)
        key = try PasswordSource(arguments, file: Self.keyFile, environment: Self.keyEnvironment, noun: "key")
        isOff = arguments.contains(Self.isOff)
        leastLifetime = .seconds(try arguments.value(of: Self.leastLifetime)?.seconds ?? 30)
        if isOff, folder != nil || key != nil {
            throw arguments.usageError("--no-cache keeps nothing: leave the folder and the key out")
        }
        if isOff, needsStore {
            throw arguments.usageError("--no-cache would lose the refresh token that follows this one; leave it out")
        }
    }

    var standardInputReaders: Int { key?.isStandardInput ?? false ? 1 : 0 }

    /// A key that has one of its two spellings.
    private static func checked(_ text: String) throws(CommandFailure) -> Secret {
        let octets = [SecretEncoding.base64, .base64url].lazy.compactMap { $0.octets(Array(text.utf8)) }.first
        guard octets?.count == 32, !text.utf8.contains(0x0A) else {
            throw CommandFailure(
                .failed,
                "the key of the kept tokens must be 32 octets in \(SecretEncoding.base64.expectation); make one with "
                    + "`openssl rand -base64 32`"
            )
        }
        return Secret(text)
    }

    /// What keeps the tokens.
    ///
    /// - Parameter console: Where a warning goes.
    /// - Returns: The store.
    /// - Throws: ``CommandFailure`` if the folder can't be used.
    func store(_ console: Console) throws(CommandFailure) -> any TokenStore {
        if isOff { return InMemoryTokenStore() }
        let place: URL
        if let folder {
            place = folder.url
        } else {
            let path = try UserFolder.state.path(orElse: "--cache-dir FOLDER") + "/tokens"
            place = URL(filePath: path, directoryHint: .isDirectory)
        }
        let key = try key.map { key throws(CommandFailure) in try Self.checked(key.read(warningOn: console)) }
        do throws(OAuth2Error) {
            return try FileTokenStore(directory: place, encryptionKey: key)
        } catch {
            throw CommandFailure(.failed, "\(place.path): \(error.message)", cause: error)
        }
    }
}
