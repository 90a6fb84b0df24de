public import Foundation
import Networking
public import TokenGeneration

/// An authorization server: who it is and where its endpoints are
/// ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)).
///
/// ```swift
/// let server = try await AuthorizationServerDiscovery(issuer: "https://id.example").server()
/// ```
///
/// Every endpoint must be `https`; only a loopback address may be `http`. The metadata of an `https` issuer can't name
/// endpoints of this machine, unless the issuer is on this machine, too. One that is `nil` is one that the server lacks.
public struct AuthorizationServer: Sendable, Hashable {
    /// The server's issuer identifier, exactly as the server writes it; assertions are addressed to it.
    public let issuer: String
    /// Where tokens are requested.
    public var tokenEndpoint: URL
    /// Where users are sent to grant something.
    public var authorizationEndpoint: URL?
    /// Where authorization requests are left before users are sent ([RFC 9126](https://www.rfc-editor.org/rfc/rfc9126)).
    public var pushedAuthorizationRequestEndpoint: URL?
    /// Where devices without a browser begin ([RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)).
    public var deviceAuthorizationEndpoint: URL?
    /// Where resources ask what a token is ([RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)).
    public var introspectionEndpoint: URL?
    /// Where clients give tokens back ([RFC 7009](https://www.rfc-editor.org/rfc/rfc7009)).
    public var revocationEndpoint: URL?
    /// Where clients register themselves ([RFC 7591](https://www.rfc-editor.org/rfc/rfc7591)).
    public var registrationEndpoint: URL?
    /// Where clients ask who the user is
    /// ([OpenID Connect Core 1.0 §5.3](https://openid.net/specs/openid-connect-core-1_0.html#UserInfo)).
    public var userInfoEndpoint: URL?
    /// Where the keys are by which the server's tokens verify: `jwks_uri`.
    public var keySetURL: URL?
    /// Where the endpoints are for clients that show a certificate, by the names that the metadata have for them
    /// ([RFC 8705 §5](https://www.rfc-editor.org/rfc/rfc8705#section-5)); see ``usingMutualTLSAliases()``.
    public var mutualTLSAliases: [String: URL] = [:]
    /// A Boolean value that indicates whether the server leaves `token_type` out of its token responses, though RFC 6749 §5.1
    /// requires it.
    ///
    /// If true, a token without a type counts as a bearer token. The default is false: such a response is an error with the code
    /// `protocolViolation`.
    public var omitsTokenType = false
    /// All that the server says of itself; empty if it was not asked.
    public private(set) var metadata: JSONObject = [:]

    /// Makes a server from what is known about it.
    ///
    /// - Parameters:
    ///   - issuer: The server's issuer identifier.
    ///   - tokenEndpoint: Where tokens are requested.
    public init(issuer: String, tokenEndpoint: URL) {
        self.issuer = issuer
        self.tokenEndpoint = tokenEndpoint
    }

    /// Makes a server from the metadata that it publishes
    /// ([RFC 8414 §2](https://www.rfc-editor.org/rfc/rfc8414#section-2)).
    ///
    /// - Parameters:
    ///   - metadata: The document.
    ///   - issuer: The issuer that it was asked of. The document must name this one, exactly
    ///     ([§3.3](https://www.rfc-editor.org/rfc/rfc8414#section-3.3)): else anybody could pass for it.
    /// - Throws: ``OAuth2Error`` with the code `issuerMismatch`; `insecureTransport` for an endpoint that is neither `https` nor
    ///   on this machine, or that an `https` issuer has no business with: one that is `http`, or on this machine;
    ///   `protocolViolation` for a member of a wrong type, or if the token endpoint is missing.
    public init(metadata: JSONObject, issuer: String) throws(OAuth2Error) {
        let document = MetadataDocument(metadata, issuer: issuer)
        guard let named = try document.string("issuer") else { throw MetadataDocument.missing("issuer") }
        guard named.utf8.elementsEqual(issuer.utf8) else {
            throw OAuth2Error(
                .issuerMismatch,
                "the server metadata are another issuer's; give the issuer exactly as the server writes it"
            )
        }
        guard let tokenEndpoint = try document.endpoint("token_endpoint") else {
            throw MetadataDocument.missing("token_endpoint")
        }
        self.init(issuer: issuer, tokenEndpoint: tokenEndpoint)
        for (name, path) in Self.endpoints { self[keyPath: path] = try document.endpoint(name) }
        keySetURL = try document.endpoint("jwks_uri")
        if let aliases = metadata["mtls_endpoint_aliases"], aliases != .null {
            guard let aliases = aliases.object else { throw MetadataDocument.wrongType("mtls_endpoint_aliases") }
            let document = MetadataDocument(aliases, issuer: issuer)
            // Hashing a name that the server chose would normalize it, in quadratic time for a run of combining characters.
            for alias in aliases where alias.name.utf8.allSatisfy({ $0 < 0x80 }) {
                mutualTLSAliases[alias.name] = try document.endpoint(alias.name)
            }
        }
        self.metadata = metadata
    }

    /// The names that the metadata have for endpoints besides the token endpoint.
    static var endpoints: [(name: String, path: WritableKeyPath<Self, URL?>)] {
        [
            ("authorization_endpoint", \.authorizationEndpoint),
            ("pushed_authorization_request_endpoint", \.pushedAuthorizationRequestEndpoint),
            ("device_authorization_endpoint", \.deviceAuthorizationEndpoint),
            ("introspection_endpoint", \.introspectionEndpoint),
            ("revocation_endpoint", \.revocationEndpoint),
            ("registration_endpoint", \.registrationEndpoint),
            ("userinfo_endpoint", \.userInfoEndpoint),
        ]
    }

    /// The same server as a client must see it that shows a certificate in the TLS handshake, be it to authenticate or to have
    /// tokens bound to it: the endpoints that have an alias are replaced by it
    /// ([RFC 8705 §5](https://www.rfc-editor.org/rfc/rfc8705#section-5)).
    ///
    /// - Returns: That server.
    public func usingMutualTLSAliases() -> AuthorizationServer {
        var server = self
        if let alias = mutualTLSAliases["token_endpoint"] { server.tokenEndpoint = alias }
        for (name, path) in Self.endpoints {
            if let alias = mutualTLSAliases[name] { server[keyPath: path] = alias }
        }
        return server
    }

    /// Whether authorization responses name the server that they come from
    /// ([RFC 9207 §3](https://www.rfc-editor.org/rfc/rfc9207#section-3)).
    public var namesItselfInResponses: Bool { metadata["authorization_response_iss_parameter_supported"] == true }

    /// Whether authorization requests are accepted only if they were pushed
    /// ([RFC 9126 §5](https://www.rfc-editor.org/rfc/rfc9126#section-5)).
    public var requiresPushedAuthorizationRequests: Bool { metadata["require_pushed_authorization_requests"] == true }

    /// The values that a list of the metadata has, such as `grant_types_supported`.
    ///
    /// - Parameter name: The list's name.
    /// - Returns: The texts in it; `nil` if the server says nothing of it.
    public func values(of name: String) -> [String]? {
        metadata[name]?.array?.compactMap(\.string)
    }
}

/// Reads members of server metadata; `null` counts as missing.
struct MetadataDocument {
    private let members: JSONObject
    private let issuer: String

    init(_ members: JSONObject, issuer: String) {
        self.members = members
        self.issuer = issuer
    }

    func string(_ name: String) throws(OAuth2Error) -> String? {
        switch members[name] {
        case nil, .null?: return nil
        case .string(let text)?: return text
        default: throw Self.wrongType(name)
        }
    }

    /// An endpoint that credentials may be sent to.
    func endpoint(_ name: String) throws(OAuth2Error) -> URL? {
        guard let text = try string(name) else { return nil }
        guard let url = URL(string: text), url.host != nil, url.fragment == nil else { throw Self.wrongType(name) }
        try url.checkIsEndpoint(ofIssuer: issuer, name)
        return url
    }

    static func wrongType(_ name: String) -> OAuth2Error {
        OAuth2Error(.protocolViolation, "“\(shown(name))” of the server metadata is not what RFC 8414 says it must be")
    }

    /// A name that the server may have made up, fit for a line of a log.
    private static func shown(_ name: String) -> String {
        OAuth2Error.printable(name, limit: 64, hiding: .none) ?? ""
    }

    static func missing(_ name: String) -> OAuth2Error {
        OAuth2Error(.protocolViolation, "the server metadata have no “\(name)”; is this the URL of their document?")
    }
}

extension URL {
    /// Refuses an endpoint that credentials must not be sent to because its issuer's metadata say so.
    ///
    /// A server on the network that names `http`, or a service of the client's own machine, has the client send its credentials
    /// to another party.
    ///
    /// - Parameters:
    ///   - issuer: The issuer identifier.
    ///   - name: The name that the server has for the endpoint.
    /// - Throws: ``OAuth2Error`` with the code `insecureTransport`.
    func checkIsEndpoint(ofIssuer issuer: String, _ name: String) throws(OAuth2Error) {
        let what = "what “\(OAuth2Error.printable(name, limit: 64, hiding: .none) ?? "")” is for"
        let origin = try confidentialOrigin(what)
        guard let issuer = URL(string: issuer).flatMap({ HTTPOrigin($0) }), issuer.scheme == "https" else { return }
        guard origin.scheme == "https" else { throw isNotConfidential(what) }
        guard !origin.isThisMachine || issuer.isThisMachine else {
            throw OAuth2Error(
                .insecureTransport,
                "“\(OAuth2Error.printable(name, limit: 64, hiding: .none) ?? "")” of the server is on this machine, though "
                    + "the issuer is elsewhere; ask the server's operator"
            )
        }
    }
}
