import Foundation
import Networking
import TokenGeneration

struct KeySetSource {
    private static let set = Option<String>(
        "jwks",
        value: "FILE|URL",
        "A JWK Set: a file or an https URL (http only for this machine); the token's kid selects the key"
    )
    private static let discovery = Option<String>(
        "discover",
        value: "ISSUER",
        """
        The https URL of the issuer (http only for this machine), whose metadata locates the keys; the token's iss \
        must match
        """
    )
    private static let timeout = Option<TimeSpan>("timeout", "The timeout for each document (default: 20s)")

    static let options =
        OptionDefinition.section(KeySource.section, [set, discovery]) + [RootsOption.option.definition]
        + OptionDefinition.section(KeySource.section, [timeout])

    static let recipientOptions = options.describing([
        "jwks": "A JWK Set: a file or an https URL (http only for this machine); --kid selects the key",
        "discover": """
        The https URL of an issuer (http only for this machine), whose metadata locates its keys; --kid selects the \
        key
        """,
    ])

    private enum Place {
        case file(InputFile)
        case web(WebDocument)
        case issuer(WebDocument, WebDocument)
    }

    let issuer: String?
    private let arguments: ParsedArguments
    private let place: Place

    init?(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        let place: Place?
        issuer = arguments.value(of: Self.discovery)
        switch (arguments.value(of: Self.set), issuer) {
        case (let set?, nil): place = try Self.place(ofSet: set, arguments)
        case (nil, let issuer?): place = try Self.place(ofIssuer: issuer, arguments)
        case (nil, nil): place = nil
        default: throw arguments.usageError("--jwks and --discover can't be combined")
        }
        switch place {
        case .web, .issuer: break
        case .file, nil:
            if arguments.contains(RootsOption.option) {
                throw arguments.usageError("--roots applies only to keys from a URL")
            }
        }
        guard let place else { return nil }
        self.place = place
    }

    var takesStandardInput: Bool {
        if case .file(let file) = place { file.isStandardInput } else { false }
    }

    /// Reads or fetches the set, and warns of readers; RSA keys from the web are limited to 4096
    /// bits.
    func keySet(warningOn console: Console) throws(CommandFailure) -> JWKSet {
        switch place {
        case .file(let file):
            let content = try file.read()
            let set = try Self.set(content.bytes.withoutByteOrderMark, file.name, RSAKeyLimit.configuration)
            if set.keys.contains(where: \.isPrivate),
                let warning = content.status?.secretWarning(file.name, "private key")
            {
                console.warn(warning)
            }
            return set
        case .web(let document):
            return try Self.set(
                Array(document.fetch(roots: roots(), timeout: timeout)),
                document.name,
                RSAKeyLimit.message
            )
        case .issuer(let openID, let oauth):
            return try discover(openID, oauth)
        }
    }

    var name: String {
        switch place {
        case .file(let file): file.name
        case .web(let document), .issuer(let document, _): document.name
        }
    }

    /// Discovers the issuer's keys with OpenID Connect Discovery 1.0 §4, or with RFC 8414 §3 if the
    /// server responds with a 404.
    private func discover(_ openID: WebDocument, _ oauth: WebDocument) throws(CommandFailure) -> JWKSet {
        let roots = try roots()
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
        guard let stated = object["issuer"]?.string, Array(stated.utf8) == Array((issuer ?? "").utf8) else {
            throw CommandFailure(.failed, "\(place.name): the metadata belongs to another issuer")
        }
        guard let address = object["jwks_uri"]?.string, let document = WebDocument(address),
            place.canName(document)
        else {
            throw CommandFailure(.failed, "\(place.name): the metadata has no https URL for the keys (jwks_uri)")
        }
        return try Self.set(Array(document.fetch(roots: roots, timeout: timeout)), document.name, RSAKeyLimit.message)
    }

    private var timeout: Duration { arguments.value(of: Self.timeout)?.duration ?? .seconds(20) }

    private func roots() throws(CommandFailure) -> TrustRoots {
        try RootsOption.roots(arguments.value(of: RootsOption.option))
    }

    private static func set(
        _ bytes: [UInt8],
        _ name: String,
        _ maximumRSAKeySize: Int
    ) throws(CommandFailure) -> JWKSet {
        var advice = bytes.starts(with: "-----BEGIN".utf8) ? "; pass a PEM key with --key FILE" : ""
        if let object = try? JSONObject(parsing: Data(bytes)), object["kty"] != nil, object["keys"] == nil {
            advice = "; pass a single JWK with --key FILE"
        }
        return try CommandFailure.reporting(at: "\(name): not a JWK Set", advice: { _ in advice }) {
            try JWKSet(parsing: Data(bytes), maximumRSAKeySize: maximumRSAKeySize)
        }
    }

    private static func place(ofSet text: String, _ arguments: ParsedArguments) throws(UsageError) -> Place {
        if text.contains("://") {
            guard let document = WebDocument(text) else {
                throw arguments.usageError(
                    "--jwks must be a file or an https URL without a password; http is allowed only for this machine"
                )
            }
            return .web(document)
        }
        return .file(try arguments.parse(text, named: set.spelling))
    }

    private static func place(ofIssuer issuer: String, _ arguments: ParsedArguments) throws(UsageError) -> Place {
        guard issuer.contains("://") else {
            throw arguments.usageError("--discover has no scheme; begin it with https://")
        }
        let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
        guard let document = WebDocument(issuer), document.name == issuer, document.url.fragment == nil,
            let openID = WebDocument(base + "/.well-known/openid-configuration"),
            let oauth = WebDocument(wellKnown(document.url, base))
        else {
            throw arguments.usageError(
                "--discover must be an https URL without a query; http is allowed only for this machine"
            )
        }
        return .issuer(openID, oauth)
    }

    /// Returns the metadata URL of RFC 8414, which inserts the well-known path before the issuer's
    /// path.
    private static func wellKnown(_ url: URL, _ base: String) -> String {
        let part = "/.well-known/oauth-authorization-server"
        let host = base.firstRange(of: "://")?.upperBound ?? base.startIndex
        guard let path = base[host...].firstIndex(of: "/") else { return base + part }
        return "\(base[..<path])\(part)\(base[path...])"
    }
}
