import Foundation
import Networking
import OAuth2
import SharedStores

struct CacheOptions: Sendable {
    private static let folder = Option<URL>("cache-dir", value: "FOLDER", kind: .file) { text throws(ValueError) in
        guard !text.isEmpty, text != "-" else { throw ValueError(message: "must name a folder") }
        return URL(filePath: text, directoryHint: .isDirectory).absoluteURL.standardizedFileURL
    }
    private static let shared = Option<SharedStoreAddress>("store", value: "ADDRESS")
    private static let user = Option<String>("store-user", value: "NAME")
    private static let password = SecretOptions("store-password", "the password of the shared store")
    private static let key = SecretOptions(
        "cache-key",
        noun: "key",
        file: "Encrypt the cache with the key in this file: 32 bytes in base64 (openssl rand -base64 32)",
        environment: "Encrypt the cache with the key in this environment variable"
    )
    private static let isOff = Flag("no-cache")
    private static let leastLifetime = Option<TimeSpan>("min-valid")

    static let members = OptionDefinition.table([
        folder:
            "The cache folder, accessible only to you (default: ~/.local/state/jwt/tokens, or jwt/tokens in $XDG_STATE_HOME)",
        shared:
            "A store that hosts share instead of the folder: etcd:URL[,URL…]; needs a cache key, the same on all hosts",
        user: "The user of the shared store",
        password: nil,
        key: nil,
        isOff: "Neither read nor write the cache",
        leastLifetime: "The minimum remaining lifetime of a cached token (default: 30s)",
    ])

    static let alternatives: [[any CommandOption]] = [[folder, shared, isOff], [password], [key]]

    private let arguments: ParsedArguments
    private let password: PasswordSource?
    private let key: PasswordSource?

    var leastLifetime: Duration { arguments.value(of: Self.leastLifetime)?.duration ?? .seconds(30) }
    var isOff: Bool { arguments.contains(Self.isOff) }
    private var folder: URL? { arguments.value(of: Self.folder) }
    private var shared: SharedStoreAddress? { arguments.value(of: Self.shared) }
    private var user: String? { arguments.value(of: Self.user) }

    init(_ arguments: ParsedArguments, needsStore: Bool) throws(UsageError) {
        self.arguments = arguments
        key = try PasswordSource(arguments, Self.key)
        password = try PasswordSource(arguments, Self.password)
        try arguments.reject([
            "--no-cache can't be combined with a cache folder or key": isOff && (folder != nil || key != nil),
            "--store can't be combined with --cache-dir or --no-cache": shared != nil && (isOff || folder != nil),
            "--store needs --cache-key-file or --cache-key-env: tokens are encrypted before they leave this machine":
                shared != nil && key == nil,
            "--store-user needs a password, and both need --store":
                (user == nil) != (password == nil) || shared == nil && user != nil,
            "--no-cache would lose the rotated refresh token; remove it": isOff && needsStore,
        ])
    }

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

    /// Returns the token store; a request to a shared one may take a tenth of the timeout, at least
    /// 3 seconds.
    ///
    /// If the default folder can't be created, as with a read-only home folder, a token that can be
    /// requested again isn't cached, with a warning.
    func store(
        _ console: Console,
        timeout: Duration,
        isRequired: Bool,
        _ transport: () throws(CommandFailure) -> CurlTransport
    ) throws(CommandFailure) -> any TokenStore {
        if isOff { return InMemoryTokenStore() }
        if let shared, let key {
            let key = try Self.checked(key.read(warningOn: console))
            return try store(at: shared, key, console, max(.seconds(3), timeout / 10), transport())
        }
        let place: URL
        if let folder {
            place = folder
        } else {
            let path = try UserFolder.state.path(orElse: "--cache-dir FOLDER") + "/tokens"
            place = URL(filePath: path, directoryHint: .isDirectory)
        }
        let key = try key.map { key throws(CommandFailure) in try Self.checked(key.read(warningOn: console)) }
        return try CommandFailure.reporting(at: place.path) {
            do {
                return try FileTokenStore(directory: place, encryptionKey: key)
            } catch let error as OAuth2Error where folder == nil && !isRequired && error.cause != nil {
                console.warn(
                    "\(place.path): \(error.message), so the token isn't cached; "
                        + "choose another folder with --cache-dir FOLDER, or pass --no-cache"
                )
                return InMemoryTokenStore()
            }
        }
    }

    private func store(
        at address: SharedStoreAddress,
        _ key: Secret,
        _ console: Console,
        _ timeout: Duration,
        _ transport: CurlTransport
    ) throws(CommandFailure) -> any TokenStore {
        let password = try password.map { password throws(CommandFailure) in
            Secret(try password.read(warningOn: console))
        }
        return try CommandFailure.reporting(at: address.name) {
            let cluster = try EtcdCluster(
                endpoints: address.endpoints,
                user: user,
                password: password,
                transport: transport,
                timeout: timeout
            )
            return EtcdTokenStore(cluster, keys: try RecordKeys(sealing: key))
        }
    }
}

struct SharedStoreAddress: ArgumentValue, Equatable {
    let endpoints: [URL]

    var name: String { "etcd:" + endpoints.map(\.absoluteString).joined(separator: ",") }

    init(argument: String) throws(ValueError) {
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "etcd", !parts[1].isEmpty else {
            throw ValueError(message: "must be etcd: and the URLs of the cluster's members, separated by commas")
        }
        var endpoints: [URL] = []
        for part in parts[1].split(separator: ",", omittingEmptySubsequences: false) {
            let url = try ServiceURL(argument: String(part)).url
            guard url.query == nil else { throw ValueError(message: "must have URLs without a query") }
            endpoints.append(url)
        }
        self.endpoints = endpoints
    }
}
