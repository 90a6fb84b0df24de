public import Foundation
public import Networking
internal import OpenSSLCrypto
public import TokenGeneration

/// A protected resource and the authorization servers whose tokens it accepts
/// ([RFC 9728](https://www.rfc-editor.org/rfc/rfc9728)).
///
/// A client discovers it, usually from the resource's 401 response:
///
/// ```swift
/// let resource = try await ProtectedResource.discover(after: error)
/// let server = try await resource.authorizationServer { issuer in
///     issuer == "https://as.example"
/// }
/// ```
///
/// A resource publishes its ``metadata`` as `application/json` at its ``metadataURL``.
public struct ProtectedResource: Sendable, Hashable {
    /// The resource identifier: the `resource` of token requests
    /// ([RFC 8707](https://www.rfc-editor.org/rfc/rfc8707)), and usually the audience of tokens.
    public let identifier: String
    /// The issuer identifiers of the authorization servers that the resource names; empty if it
    /// names none.
    public let authorizationServers: [String]
    /// The scopes that clients can request for the resource; empty if it doesn't list them.
    public let scopes: [String]
    /// The scopes that the resource demanded in the response from which it was discovered.
    public internal(set) var demandedScopes: [String] = []
    /// The complete metadata.
    public let metadata: JSONObject

    /// Creates a resource that publishes its metadata.
    ///
    /// - Parameters:
    ///   - identifier: The resource identifier: an `https` URL without a fragment.
    ///   - authorizationServers: The issuer identifiers of the authorization servers.
    ///   - scopes: The scopes that clients can request. The default is empty.
    ///   - members: Other members of the metadata, such as `resource_name` or
    ///     `dpop_bound_access_tokens_required`.
    /// - Throws: ``OAuth2Error`` with the code `protocolViolation` if the identifier isn't a URL or
    ///   has a fragment, or `insecureTransport` if it's neither `https` nor on this machine.
    public init(
        identifier: String,
        authorizationServers: [String],
        scopes: [String] = [],
        members: JSONObject = [:]
    ) throws(OAuth2Error) {
        _ = try Self.metadataURL(of: identifier)
        var metadata = members
        metadata["resource"] = .string(identifier)
        // A list without values must be omitted (§3.2).
        for (name, values) in [("authorization_servers", authorizationServers), ("scopes_supported", scopes)] {
            metadata[name] = values.isEmpty ? nil : .array(values.map(JSONValue.string))
        }
        self.identifier = identifier
        self.authorizationServers = authorizationServers
        self.scopes = scopes
        self.metadata = metadata
    }

    /// Reads a resource's published metadata
    /// ([RFC 9728 §2](https://www.rfc-editor.org/rfc/rfc9728#section-2)).
    ///
    /// Signed metadata is ignored.
    ///
    /// - Parameters:
    ///   - metadata: The metadata document.
    ///   - identifier: The resource whose metadata was requested. To prevent impersonation, the
    ///     document must name exactly this resource
    ///     ([§3.3](https://www.rfc-editor.org/rfc/rfc9728#section-3.3)).
    /// - Throws: ``OAuth2Error`` with the code `protocolViolation` if the document names another
    ///   resource, which is in ``OAuth2Error/serverText``, or a member has the wrong type.
    package init(metadata: JSONObject, identifier: String) throws(OAuth2Error) {
        let members = AnswerMembers(members: metadata, place: "the resource's metadata URL")
        let found = try members.required("resource")
        guard found.isExactly(identifier) else {
            let origin = URL(string: found).flatMap(HTTPOrigin.init)
            let isNear = origin != nil && origin == URL(string: identifier).flatMap(HTTPOrigin.init)
            var error = OAuth2Error(
                .protocolViolation,
                "the metadata is for another resource at \(isNear ? "the same" : "another") origin, see `serverText`; "
                    + "pass the identifier exactly as the resource writes it"
            )
            error.serverText = OAuth2Error.serverText(of: [("resource", found)])
            throw error
        }
        self.identifier = identifier
        authorizationServers = try members.strings("authorization_servers")
        scopes = try members.strings("scopes_supported")
        self.metadata = metadata
    }

    /// Returns the scope to request for the resource, within names that the application chooses.
    ///
    /// It's what the resource demanded, or else the names that it supports, or else all names. A
    /// client that can't know the names asks its user before it requests ``demandedScopes`` or
    /// ``scopes``.
    ///
    /// - Parameter names: The names that the resource may have, separated by spaces. They are
    ///   compared as bytes.
    /// - Returns: The scope, in the order of `names`.
    /// - Throws: ``OAuth2Error`` with the code `insufficientScope` if the resource demanded another
    ///   name. ``OAuth2Error/demand`` has what it demanded.
    public func scope(within names: String) throws(OAuth2Error) -> String {
        let names = names.spaceSeparated
        let wanted = Set((demandedScopes.isEmpty ? scopes : demandedScopes).map(ByteComparedString.init))
        guard demandedScopes.isEmpty || wanted.isSubset(of: names.map(ByteComparedString.init)) else {
            var error = OAuth2Error(
                .insufficientScope,
                "the resource demands scope that the application doesn't name; see `demand`"
            )
            error.demand = ResourceDemand(scope: demandedScopes)
            throw error
        }
        let found = names.filter { wanted.contains(ByteComparedString($0)) }
        return (found.isEmpty ? names : found).joined(separator: " ")
    }

    /// The URL of the resource's metadata
    /// ([RFC 9728 §3.1](https://www.rfc-editor.org/rfc/rfc9728#section-3.1)), for
    /// `AccessTokenVerifier.resourceMetadata` and for the route that serves it.
    ///
    /// - Throws: ``OAuth2Error`` with the code `protocolViolation` or `insecureTransport` if the
    ///   identifier is one for which there's no document.
    public var metadataURL: URL {
        get throws(OAuth2Error) { try Self.metadataURL(of: identifier) }
    }

    static func metadataURL(of identifier: String) throws(OAuth2Error) -> URL {
        guard let url = URL(string: identifier), let origin = HTTPOrigin(url), url.user == nil, url.fragment == nil
        else {
            throw OAuth2Error(.protocolViolation, "a resource identifier must be an https URL without a fragment")
        }
        guard origin.isConfidential else { throw url.isNotConfidential("the metadata of a resource") }
        // Use the identifier's text, because a URL's components lose escapes in the path.
        let end = endOfOrigin(identifier)
        var rest = identifier[end...]
        // “Any terminating slash following the host component MUST be removed.”
        if rest == "/" || rest.hasPrefix("/?") { rest.removeFirst() }
        guard let location = URL(string: "\(identifier[..<end])/.well-known/oauth-protected-resource\(rest)") else {
            throw OAuth2Error(.protocolViolation, "the metadata's URL can't be built from the resource identifier")
        }
        return location
    }

    static func endOfOrigin(_ identifier: String) -> String.Index {
        let authority = identifier.firstRange(of: "://")?.upperBound ?? identifier.startIndex
        return identifier[authority...].firstIndex { $0 == "/" || $0 == "?" } ?? identifier.endIndex
    }

    /// The rule for the resource identifier in the metadata of a request's URL.
    @nonexhaustive
    public enum Matching: Sendable {
        /// The identifier is the URL of the request, as
        /// [RFC 9728 §3.3](https://www.rfc-editor.org/rfc/rfc9728#section-3.3) requires.
        case exact
        /// The identifier is the URL of the request, or has the same origin and a path with the
        /// first segments of the request's path, as the SDKs of the Model Context Protocol accept.
        ///
        /// Use it only if one operator controls the whole origin: one path can then pose as all
        /// paths below its parents. The path is compared as bytes. A prefix has no query. A path
        /// with dot segments, or with an encoded dot, slash, backslash or percent sign, matches
        /// only exactly.
        case pathPrefix
    }

    /// A document that may have the metadata, the resources that it may describe, and the URL of a
    /// request with the rule for its prefixes, if there was a request.
    private typealias Location = (url: URL, identifiers: [String], request: (url: String, matching: Matching)?)

    /// Loads the metadata of a resource whose identifier is known
    /// ([RFC 9728 §3](https://www.rfc-editor.org/rfc/rfc9728#section-3)).
    ///
    /// - Parameters:
    ///   - identifier: The resource identifier, exactly as the resource writes it.
    ///   - client: The network client. For resources that users name, limit its transport to
    ///     public addresses: `CurlTransport.Configuration.reachesOnlyPublicAddresses`.
    ///   - timing: The timeout and the number of attempts. The default is 10 seconds and two
    ///     attempts.
    /// - Returns: The resource.
    /// - Throws: ``OAuth2Error``: `protocolViolation` if the identifier is invalid or the document
    ///   isn't the resource's metadata, `endpointMissing` if the document is missing,
    ///   `insecureTransport`, `serverTransient` or `serverUnreachable`.
    public static func discover(
        _ identifier: String,
        client: NetworkClient = NetworkClient(),
        timing: OAuth2Timing = OAuth2Timing(timeout: .seconds(10), attempts: 2)
    ) async throws -> ProtectedResource {
        try await load([(try metadataURL(of: identifier), [identifier], nil)], client, timing)
    }

    /// Loads the metadata of a resource that rejected a request
    /// ([RFC 9728 §5](https://www.rfc-editor.org/rfc/rfc9728#section-5)).
    ///
    /// The document is at the URL in the challenge (`resource_metadata`), or else at the well-known
    /// URL of the request's path, or else of its origin. It must describe the URL of the request,
    /// or in the last case the origin. A resource with more URLs has one identifier for all of
    /// them, which isn't the request's URL: use ``discover(_:client:timing:)`` with the identifier,
    /// or accept prefixes of the URL.
    ///
    /// - Parameters:
    ///   - rejection: The resource's 401 or 403 response.
    ///   - matching: The rule for the identifier that the document names. The default is the URL of
    ///     the request.
    ///   - client: The network client. For resources that users name, limit its transport to
    ///     public addresses: `CurlTransport.Configuration.reachesOnlyPublicAddresses`.
    ///   - timing: The timeout and the number of attempts. The default is 10 seconds and two
    ///     attempts.
    /// - Returns: The resource, with the scopes that it demands.
    /// - Throws: ``OAuth2Error`` as ``discover(_:client:timing:)`` does, also with the code
    ///   `protocolViolation` if the challenge names a document at another origin.
    public static func discover(
        after rejection: ServerError,
        matching: Matching = .exact,
        client: NetworkClient = NetworkClient(),
        timing: OAuth2Timing = OAuth2Timing(timeout: .seconds(10), attempts: 2)
    ) async throws -> ProtectedResource {
        guard let url = rejection.httpResponse?.url, HTTPOrigin(url) != nil else {
            throw OAuth2Error(.malformedRequest, "the error has no response; pass the error that the client threw")
        }
        let fields = rejection.headers.values(for: "WWW-Authenticate")
        return try await discover(at: url, fields, matching: matching, client: client, timing: timing)
    }

    static func discover(
        at url: URL,
        _ fields: [String],
        matching: Matching,
        client: NetworkClient,
        timing: OAuth2Timing
    ) async throws -> ProtectedResource {
        guard let origin = HTTPOrigin(url) else {
            throw OAuth2Error(.malformedRequest, "the resource's URL has no host")
        }
        let challenges = AuthenticationChallenge.parse(fields.joined(separator: ", "))
            .filter { $0.isOfScheme("Bearer") || $0.isOfScheme("DPoP") }
        let identifier = String(url.absoluteString.prefix { $0 != "#" })
        var locations: [Location]
        if let text = challenges.compactMap({ $0.parameters["resource_metadata"] }).first {
            guard let document = URL(string: text), HTTPOrigin(document) == origin, document.user == nil else {
                throw OAuth2Error(
                    .protocolViolation,
                    "the challenge names metadata at another origin, which isn't followed; ask the resource's operator"
                )
            }
            _ = try document.confidentialOrigin("the metadata of a resource")
            locations = [(document, equivalents(of: identifier), (identifier, matching))]
        } else {
            let path = String(identifier.prefix { $0 != "?" })
            locations = [(try metadataURL(of: path), equivalents(of: path), (path, matching))]
            let root = Self.root(of: path)
            if !locations[0].identifiers.contains(root) {
                locations.append((try metadataURL(of: root), equivalents(of: root), (path, matching)))
            }
        }
        var resource = try await load(locations, client, timing)
        resource.demandedScopes = challenges.lazy.map { ResourceDemand($0).scope }.first { !$0.isEmpty } ?? []
        return resource
    }

    /// Loads the metadata of the first authorization server that the resource names and the
    /// application trusts ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)).
    ///
    /// The closure decides who gets the client's credentials. Compare whole identifiers with `==`.
    ///
    /// - Parameters:
    ///   - client: The network client.
    ///   - timing: The timeout and the number of attempts. The default is 10 seconds and two
    ///     attempts.
    ///   - isTrusted: A closure that decides whether to use an issuer. Clients that any user can
    ///     connect to any resource return `true`, and keep each issuer's credentials apart.
    /// - Returns: The server.
    /// - Throws: ``OAuth2Error`` with the code `issuerMismatch` if no named issuer is trusted, or
    ///   the server's `protected_resources` don't contain the resource
    ///   ([RFC 9728 §4](https://www.rfc-editor.org/rfc/rfc9728#section-4)); `endpointMissing` if
    ///   the resource names none; otherwise as ``AuthorizationServerDiscovery/server()``.
    public func authorizationServer(
        client: NetworkClient = NetworkClient(),
        timing: OAuth2Timing = OAuth2Timing(timeout: .seconds(10), attempts: 2),
        isTrusted: (String) -> Bool
    ) async throws -> AuthorizationServer {
        guard !authorizationServers.isEmpty else {
            throw OAuth2Error(.endpointMissing, "the resource names no authorization server; configure its issuer")
        }
        guard let issuer = authorizationServers.first(where: isTrusted) else {
            throw OAuth2Error(.issuerMismatch, "the resource names no authorization server that the application trusts")
        }
        guard let url = URL(string: issuer) else {
            throw OAuth2Error(.invalidIssuer, "the resource names an issuer that isn't a URL")
        }
        try url.checkIsEndpoint(ofIssuer: identifier, "authorization_servers")
        var options = AuthorizationServerDiscovery.Options()
        options.documents = [.oauth2, .openIDBeforePath, .openID]
        options.timing = timing
        let server = try await AuthorizationServerDiscovery(issuer: issuer, client: client, options: options).server()
        if let resources = server.values(of: "protected_resources"), !resources.contains(where: identifier.isExactly) {
            throw OAuth2Error(.issuerMismatch, "the authorization server doesn't list the resource that names it")
        }
        return server
    }

    // MARK: Documents

    private static func load(
        _ locations: [Location],
        _ client: NetworkClient,
        _ timing: OAuth2Timing
    ) async throws -> ProtectedResource {
        var failure = OAuth2Error(.endpointMissing, "the resource publishes no metadata")
        for location in locations {
            do { return try await read(location, client, timing) } catch let error as OAuth2Error {
                // Many resources answer 401 at each path that they don't have.
                guard error.isMissingDocument || error.status == 401 else { throw error }
                failure = OAuth2Error(
                    .endpointMissing,
                    "the resource publishes no metadata; configure its authorization server",
                    status: error.status,
                    cause: error
                )
            }
        }
        throw failure
    }

    private static func read(
        _ location: Location,
        _ client: NetworkClient,
        _ timing: OAuth2Timing
    ) async throws -> ProtectedResource {
        let exchange = EndpointExchange(
            place: "the resource's metadata URL",
            url: location.url,
            client: client,
            timing: timing,
            hints: DPoPServerState(timeSource: timing.timeSource, journal: TokenJournal(client.options.observers))
        )
        return try await exchange.document { metadata in
            let named = metadata["resource"]?.string ?? ""
            let isPrefix = location.request.map { covers(named, $0.url) } ?? false
            let identifier =
                isPrefix && location.request?.matching == .pathPrefix
                ? named : location.identifiers.first { $0.isExactly(named) } ?? location.identifiers[0]
            do throws(OAuth2Error) {
                return try ProtectedResource(metadata: metadata, identifier: identifier)
            } catch {
                guard isPrefix, !named.isExactly(identifier) else { throw error }
                throw error.adding("`matching: .pathPrefix` accepts prefixes of the requested URL")
            }
        }
        .content
    }

    private static func covers(_ resource: String, _ requested: String) -> Bool {
        guard let prefix = plainPath(resource), let other = plainPath(requested.prefix { $0 != "?" }),
            prefix.origin == other.origin
        else { return false }
        let path = prefix.path.hasSuffix("/") ? prefix.path : prefix.path + "/"
        return other.path.isExactly(prefix.path) || other.path.utf8.starts(with: path.utf8)
    }

    /// Returns `nil` for a path that servers may understand in different ways.
    private static func plainPath(_ text: some StringProtocol) -> (origin: HTTPOrigin, path: String)? {
        let text = String(text)
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }),
            let url = URL(string: text), let origin = HTTPOrigin(url), url.user == nil, url.query == nil,
            url.fragment == nil
        else { return nil }
        let path = String(text[endOfOrigin(text)...])
        let lowercase = path.lowercased()
        let hasDots = path.split(separator: "/").contains { [".", ".."].contains($0.prefix { $0 != ";" }) }
        guard !hasDots, !["%2e", "%2f", "%5c", "%25", "//"].contains(where: lowercase.contains) else { return nil }
        return (origin, path)
    }

    /// For an origin, with and without a slash.
    private static func equivalents(of identifier: String) -> [String] {
        let root = root(of: identifier)
        return identifier == root || identifier == root + "/" ? [root, root + "/"] : [identifier]
    }

    private static func root(of identifier: String) -> String {
        String(identifier[..<endOfOrigin(identifier)])
    }
}
