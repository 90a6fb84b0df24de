import Foundation
import Networking
import TokenGeneration

/// The verification keys: a single key, or a key set from a file, a URL or an issuer.
struct VerificationKeys {
    private static let key = Option<InputFile>(
        "key",
        aliases: ["key-file"],
        short: "k",
        value: "FILE",
        section: KeySource.section,
        "The key: PEM, DER, JWK, certificate or JWK Set; a private key verifies with its public part"
    )
    private static let algorithm = Option<KeyAlgorithm>(
        "alg",
        value: "ALG",
        section: KeySource.section,
        "The algorithm, for keys that don't state it, such as an RSA key in PEM"
    )
    private static let set = Option<NonEmptyText>(
        "jwks",
        value: "FILE|URL",
        section: KeySource.section,
        "A JWK Set: a file or an https URL (http only for this machine); the token's kid selects the key"
    )
    private static let discovery = Option<NonEmptyText>(
        "discover",
        value: "ISSUER",
        section: KeySource.section,
        """
        The https URL of the issuer (http only for this machine), whose metadata locates the keys; the token's iss \
        must match
        """
    )

    private static let timeout = Option<TimeSpan>(
        "timeout",
        value: "DURATION",
        section: KeySource.section,
        "The timeout for each document (default: 20s)"
    )

    static let options =
        [key.definition] + KeySource.options + [
            algorithm.definition, set.definition, discovery.definition, RootsOption.option.definition,
            timeout.definition,
        ]

    /// The exit codes for failures before the token is checked.
    static let exitStatuses: [CommandDefinition.ExitStatus] = [
        .init(code: 2, meaning: "The key is unusable, or a file, a pipe or the network failed"), .usage,
    ]

    private enum Place {
        case key(KeySource)
        case setFile(InputFile)
        case setOnWeb(WebDocument)
        case issuer(String, WebDocument, WebDocument)
    }

    enum Keys {
        case one(VerificationKey)
        case set(JWKSet, KeySelection)
    }

    /// The issuer of the keys, if known.
    let issuer: String?
    let algorithm: JWSAlgorithm?
    private let place: Place
    private let roots: InputFile?
    private let timeout: Duration

    /// - Throws: ``UsageError`` unless the command line specifies exactly one source.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        algorithm = try arguments.value(of: Self.algorithm)?.algorithm
        roots = try arguments.value(of: RootsOption.option)
        timeout = .seconds(try arguments.value(of: Self.timeout)?.seconds ?? 20)
        let source = try KeySource(arguments, key: Self.key)
        let set = try arguments.value(of: Self.set)?.text
        let issuer = try arguments.value(of: Self.discovery)?.text
        self.issuer = issuer
        switch (source, set, issuer) {
        case (let source?, nil, nil): place = .key(source)
        case (nil, let set?, nil): place = try Self.place(ofSet: set, arguments)
        case (nil, nil, let issuer?): place = try Self.place(ofIssuer: issuer, arguments)
        case (nil, nil, nil):
            throw arguments.usageError(
                "missing key; pass --key FILE, --key-env NAME, --jwks FILE|URL or --discover ISSUER"
            )
        default: throw arguments.usageError("--key, --jwks and --discover can't be combined")
        }
        if roots != nil {
            switch place {
            case .key, .setFile: throw arguments.usageError("--roots applies only to keys from a URL")
            case .setOnWeb, .issuer: break
            }
        }
    }

    /// A Boolean value that indicates whether the key is read from standard input.
    var takesStandardInput: Bool {
        switch place {
        case .key(let source): source.takesStandardInput
        case .setFile(let file): file.isStandardInput
        case .setOnWeb, .issuer: false
        }
    }

    /// Reads or fetches the keys, and warns about certificates that aren't valid at the given time.
    ///
    /// - Throws: ``CommandFailure`` if the keys can't be read or fetched.
    func keys(_ console: Console, at time: Date = Date()) throws(CommandFailure) -> Keys {
        switch place {
        case .key(let source):
            let file = try source.read(warningOn: console)
            file.warn(on: console, at: time)
            if let set = file.keySet { return selected(set) }
            return .one(try file.verificationKey(for: algorithm))
        case .setFile(let file):
            let content = try file.read()
            let set = try Self.set(content.bytes, file.name, RSAKeyLimit.configuration)
            if set.keys.contains(where: \.isPrivate),
                let warning = content.status?.secretWarning(file.name, "private key")
            {
                console.warn(warning)
            }
            return selected(set)
        case .setOnWeb(let document):
            return selected(
                try Self.set(
                    Array(try document.fetch(roots: RootsOption.roots(roots), timeout: timeout)),
                    document.name,
                    RSAKeyLimit.message
                )
            )
        case .issuer(let issuer, let openID, let oauth):
            return try discover(issuer, openID, oauth)
        }
    }

    private func selected(_ set: JWKSet) -> Keys {
        .set(set, KeySelection(assumedAlgorithms: algorithm.map { [$0] } ?? []))
    }

    /// Discovers the issuer's keys with OpenID Connect Discovery 1.0 §4, or with RFC 8414 §3 if the
    /// server responds with a 404.
    private func discover(
        _ issuer: String,
        _ openID: WebDocument,
        _ oauth: WebDocument
    ) throws(CommandFailure) -> Keys {
        let roots = try RootsOption.roots(roots)
        var metadata: Data
        var place = openID
        do throws(CommandFailure) {
            metadata = try openID.fetch(roots: roots, timeout: timeout)
        } catch {
            guard (error.cause as? ServerError)?.errorCode == 404 else { throw error }
            place = oauth
            metadata = try oauth.fetch(roots: roots, timeout: timeout)
        }
        guard let object = try? JSONObject(parsing: metadata) else {
            throw CommandFailure(.failed, "\(place.name): the metadata isn't a JSON object")
        }
        // A server that responds for another issuer could serve its own keys (RFC 8414 §3.3).
        guard let stated = object["issuer"]?.string, Array(stated.utf8) == Array(issuer.utf8) else {
            throw CommandFailure(.failed, "\(place.name): the metadata belongs to another issuer")
        }
        guard let address = object["jwks_uri"]?.string, let document = WebDocument(address),
            place.canName(document)
        else {
            throw CommandFailure(.failed, "\(place.name): the metadata has no https URL for the keys (jwks_uri)")
        }
        let fetched = Array(try document.fetch(roots: roots, timeout: timeout))
        return selected(try Self.set(fetched, document.name, RSAKeyLimit.message))
    }

    private static func set(
        _ bytes: [UInt8],
        _ name: String,
        _ maximumRSAKeySize: Int
    ) throws(CommandFailure) -> JWKSet {
        do throws(TokenError) {
            return try JWKSet(parsing: Data(bytes), maximumRSAKeySize: maximumRSAKeySize)
        } catch {
            let advice = bytes.starts(with: "-----BEGIN".utf8) ? "; pass a PEM key with --key FILE" : ""
            throw CommandFailure(.failed, "\(name): not a JWK Set: \(error.message)\(advice)", cause: error)
        }
    }

    private static func place(ofSet text: String, _ arguments: ParsedArguments) throws(UsageError) -> Place {
        if text.contains("://") {
            guard let document = WebDocument(text) else {
                throw arguments.usageError(
                    "--jwks must be a file or an https URL without a password; http is allowed only for this machine"
                )
            }
            return .setOnWeb(document)
        }
        do throws(ValueError) {
            return .setFile(try InputFile(argument: text))
        } catch {
            throw arguments.usageError("--jwks \(error.message)")
        }
    }

    private static func place(ofIssuer issuer: String, _ arguments: ParsedArguments) throws(UsageError) -> Place {
        let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
        guard let document = WebDocument(issuer), document.name == issuer, document.url.fragment == nil,
            let openID = WebDocument(base + "/.well-known/openid-configuration"),
            let oauth = WebDocument(wellKnown(document.url, base))
        else {
            throw arguments.usageError(
                "--discover must be an https URL without a query; http is allowed only for this machine"
            )
        }
        return .issuer(issuer, openID, oauth)
    }

    /// Returns the metadata URL of RFC 8414, which inserts the well-known path before the issuer's
    /// path.
    private static func wellKnown(_ url: URL, _ base: String) -> String {
        let part = "/.well-known/oauth-authorization-server"
        let host = base.firstRange(of: "://")?.upperBound ?? base.startIndex
        guard let path = base[host...].firstIndex(of: "/") else { return base + part }
        return base[..<path] + part + base[path...]
    }
}
