import Foundation
import OAuth2

/// The options for caching tokens.
struct CacheOptions: Sendable {
    static let section = "Token cache"

    private static let folder = Option<FolderPath>(
        "cache-dir",
        value: "FOLDER",
        section: section,
        "The cache folder, accessible only to you (default: ~/.local/state/jwt/tokens, or jwt/tokens in $XDG_STATE_HOME)"
    )
    private static let keyFile = Option<InputFile>(
        "cache-key-file",
        value: "FILE",
        section: section,
        "Encrypt the cache with the key in this file: 32 bytes in base64 (openssl rand -base64 32)"
    )
    private static let keyEnvironment = Option<EnvironmentVariable>(
        "cache-key-env",
        value: "NAME",
        section: section,
        "Encrypt the cache with the key in this environment variable"
    )
    private static let isOff = Flag("no-cache", section: section, "Neither read nor write the cache")
    private static let leastLifetime = Option<TimeSpan>(
        "min-valid",
        value: "DURATION",
        section: section,
        "The minimum remaining lifetime of a cached token (default: 30s)"
    )

    static let members = [
        ProfileMember(folder), ProfileMember(keyFile), ProfileMember(keyEnvironment), ProfileMember(isOff),
        ProfileMember(leastLifetime),
    ]

    /// Groups of mutually exclusive options.
    static let alternatives = [
        [folder.definition.longName, isOff.definition.longName],
        [keyFile.definition.longName, keyEnvironment.definition.longName],
    ]

    /// The minimum remaining lifetime of a cached token (30 seconds by default).
    let leastLifetime: Duration
    private let folder: FolderPath?
    private let key: PasswordSource?
    /// A Boolean value that indicates whether caching is disabled.
    let isOff: Bool

    init(_ arguments: ParsedArguments, needsStore: Bool) throws(UsageError) {
        folder = try arguments.value(of: Self.folder)
        key = try PasswordSource(arguments, file: Self.keyFile, environment: Self.keyEnvironment, noun: "key")
        isOff = arguments.contains(Self.isOff)
        leastLifetime = .seconds(try arguments.value(of: Self.leastLifetime)?.seconds ?? 30)
        if isOff, folder != nil || key != nil {
            throw arguments.usageError("--no-cache can't be combined with a cache folder or key")
        }
        if isOff, needsStore {
            throw arguments.usageError("--no-cache would lose the rotated refresh token; remove it")
        }
    }

    var standardInputReaders: Int { key?.isStandardInput ?? false ? 1 : 0 }

    /// Validates that a key is 32 bytes in base64 or base64url.
    private static func checked(_ text: String) throws(CommandFailure) -> Secret {
        let octets = [SecretEncoding.base64, .base64url].lazy.compactMap { $0.octets(Array(text.utf8)) }.first
        guard octets?.count == 32, !text.utf8.contains(0x0A) else {
            throw CommandFailure(
                .failed,
                "the cache key must be 32 bytes in \(SecretEncoding.base64.expectation); generate one with "
                    + "`openssl rand -base64 32`"
            )
        }
        return Secret(text)
    }

    /// Returns the token store.
    ///
    /// - Throws: ``CommandFailure`` if the folder or the key is unusable.
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
