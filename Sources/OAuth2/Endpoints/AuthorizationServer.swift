public import Foundation
import Networking
public import TokenGeneration

/// An authorization server's issuer identifier and endpoints
/// ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)).
///
/// ``AuthorizationServerDiscovery`` loads them. Endpoints must be `https`, or `http` on a loopback
/// address. The metadata of an `https` issuer can't name endpoints on this machine, unless the
/// issuer is on it too. A missing one is `nil`.
public struct AuthorizationServer: Sendable, Hashable {
    /// The server's issuer identifier, exactly as the server writes it; the audience of assertions.
    public let issuer: String
    /// The token endpoint.
    public var tokenEndpoint: URL
    /// The authorization endpoint, which users open in a browser.
    public var authorizationEndpoint: URL?
    /// The pushed authorization request endpoint
    /// ([RFC 9126](https://www.rfc-editor.org/rfc/rfc9126)).
    public var pushedAuthorizationRequestEndpoint: URL?
    /// The device authorization endpoint ([RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)).
    public var deviceAuthorizationEndpoint: URL?
    /// The backchannel authentication endpoint ([OpenID Connect CIBA Core
    /// 1.0](https://openid.net/specs/openid-client-initiated-backchannel-authentication-core-1_0.html)).
    public var backchannelAuthenticationEndpoint: URL?
    /// The introspection endpoint ([RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)).
    public var introspectionEndpoint: URL?
    /// The revocation endpoint ([RFC 7009](https://www.rfc-editor.org/rfc/rfc7009)).
    public var revocationEndpoint: URL?
    /// The client registration endpoint ([RFC 7591](https://www.rfc-editor.org/rfc/rfc7591)).
    public var registrationEndpoint: URL?
    /// The UserInfo endpoint ([OpenID Connect Core 1.0
    /// §5.3](https://openid.net/specs/openid-connect-core-1_0.html#UserInfo)).
    public var userInfoEndpoint: URL?
    /// The end session endpoint, which users open in a browser to sign out ([OpenID Connect
    /// RP-Initiated Logout 1.0](https://openid.net/specs/openid-connect-rpinitiated-1_0.html)).
    public var endSessionEndpoint: URL?
    /// The URL of the keys that verify the server's tokens: `jwks_uri`.
    public var keySetURL: URL?
    /// The endpoints for clients that present a certificate, by their names in the metadata
    /// ([RFC 8705 §5](https://www.rfc-editor.org/rfc/rfc8705#section-5)).
    ///
    /// See ``usingMutualTLSAliases()``.
    public var mutualTLSAliases: [String: URL] = [:]
    /// A Boolean value that indicates whether the server omits `token_type` from its token
    /// responses, although RFC 6749 §5.1 requires it.
    ///
    /// If true, the client treats a token without a type as a bearer token. The default is false,
    /// which makes such a response an error with the code `protocolViolation`.
    public var omitsTokenType = false
    /// A Boolean value that indicates whether the server rejects expired and revoked refresh tokens
    /// with `invalid_request` instead of `invalid_grant` ([RFC 6749
    /// §5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)), as LemonLDAP::NG does.
    ///
    /// If true, a 400 response with this code to a refresh request ends the grant, and callers get
    /// the code `reauthenticationRequired`. The default is false, because `invalid_request` can
    /// also mean that the request is malformed, such as after a change of the server's
    /// configuration: the client keeps the refresh token, and callers get the code
    /// `requestRejected`.
    public var endsGrantsWithInvalidRequest = false
    /// A Boolean value that indicates whether the token endpoint takes JSON objects instead of the
    /// forms of RFC 6749, as some services that exchange a platform's token do.
    ///
    /// If true, each parameter of a token request is a string member of the object. A parameter
    /// with several values is an array. Requests to other endpoints remain forms. The default is
    /// false.
    public var requiresJSONTokenRequests = false
    /// The complete metadata, or an empty object if the server was created without it.
    public private(set) var metadata: JSONObject = [:]

    /// Creates a server from known values.
    public init(issuer: String, tokenEndpoint: URL) {
        self.issuer = issuer
        self.tokenEndpoint = tokenEndpoint
    }

    /// Creates a server from its published metadata
    /// ([RFC 8414 §2](https://www.rfc-editor.org/rfc/rfc8414#section-2)).
    ///
    /// - Parameters:
    ///   - metadata: The metadata document.
    ///   - issuer: The issuer whose metadata was requested. To prevent impersonation, the document
    ///     must name exactly this issuer
    ///     ([§3.3](https://www.rfc-editor.org/rfc/rfc8414#section-3.3)).
    /// - Throws: ``OAuth2Error`` with the code `issuerMismatch`; `insecureTransport` for an
    ///   endpoint that is neither `https` nor on this machine, or that an `https` issuer must not
    ///   name: one that is `http`, or on this machine; `protocolViolation` for a member of the
    ///   wrong type, or if the token endpoint is missing.
    public init(metadata: JSONObject, issuer: String) throws(OAuth2Error) {
        let document = MetadataDocument(members: metadata, issuer: issuer)
        try document.checkIssuer()
        self.init(issuer: issuer, tokenEndpoint: try document.required("token_endpoint"))
        for (name, path) in Self.endpoints { self[keyPath: path] = try document.endpoint(name) }
        keySetURL = try document.endpoint("jwks_uri")
        if let aliases = try document.answer.object("mtls_endpoint_aliases") {
            let document = MetadataDocument(members: aliases, issuer: issuer)
            // Hashing another name would normalize it, in quadratic time for combining characters.
            for alias in aliases where alias.name.utf8.allSatisfy({ $0 < 0x80 }) {
                mutualTLSAliases[alias.name] = try document.endpoint(alias.name)
            }
        }
        self.metadata = metadata
    }

    /// The metadata's names of the endpoints, except the token endpoint.
    static var endpoints: [(name: String, path: WritableKeyPath<Self, URL?>)] {
        [
            ("authorization_endpoint", \.authorizationEndpoint),
            ("pushed_authorization_request_endpoint", \.pushedAuthorizationRequestEndpoint),
            ("device_authorization_endpoint", \.deviceAuthorizationEndpoint),
            ("backchannel_authentication_endpoint", \.backchannelAuthenticationEndpoint),
            ("introspection_endpoint", \.introspectionEndpoint),
            ("revocation_endpoint", \.revocationEndpoint),
            ("registration_endpoint", \.registrationEndpoint),
            ("userinfo_endpoint", \.userInfoEndpoint),
            ("end_session_endpoint", \.endSessionEndpoint),
        ]
    }

    /// Returns the server with its endpoints replaced by their mutual TLS aliases, for a client
    /// that presents a certificate to authenticate or to have tokens bound to it
    /// ([RFC 8705 §5](https://www.rfc-editor.org/rfc/rfc8705#section-5)).
    ///
    /// - Returns: The server with the aliases.
    public func usingMutualTLSAliases() -> AuthorizationServer {
        var server = self
        if let alias = mutualTLSAliases["token_endpoint"] { server.tokenEndpoint = alias }
        for (name, path) in Self.endpoints {
            if let alias = mutualTLSAliases[name] { server[keyPath: path] = alias }
        }
        return server
    }

    /// [RFC 9207 §3](https://www.rfc-editor.org/rfc/rfc9207#section-3).
    var namesItselfInResponses: Bool { metadata["authorization_response_iss_parameter_supported"] == true }

    /// A Boolean value that indicates whether the server accepts only pushed authorization requests
    /// ([RFC 9126 §5](https://www.rfc-editor.org/rfc/rfc9126#section-5)).
    public var requiresPushedAuthorizationRequests: Bool { metadata["require_pushed_authorization_requests"] == true }

    /// Returns the values of a list in the metadata, such as `grant_types_supported`.
    ///
    /// - Parameter name: The list's name.
    /// - Returns: The strings in the list, or `nil` if the metadata doesn't have it.
    public func values(of name: String) -> [String]? {
        metadata[name]?.array?.compactMap(\.string)
    }
}

struct MetadataDocument {
    let answer: AnswerMembers
    let issuer: String

    init(members: JSONObject, issuer: String) {
        answer = AnswerMembers(members: members, place: "the server metadata's URL")
        self.issuer = issuer
    }

    /// [RFC 8414 §3.3](https://www.rfc-editor.org/rfc/rfc8414#section-3.3).
    func checkIssuer() throws(OAuth2Error) {
        guard let named = try answer.string("issuer") else { throw missing("issuer") }
        guard named.utf8.elementsEqual(issuer.utf8) else {
            throw OAuth2Error(
                .issuerMismatch,
                "the server metadata names another issuer; pass the issuer exactly as the server writes it"
            )
        }
    }

    /// Returns an endpoint that may receive credentials.
    func endpoint(_ name: String) throws(OAuth2Error) -> URL? {
        guard let text = try answer.string(name) else { return nil }
        guard let url = URL(string: text), url.host != nil, url.fragment == nil else { throw answer.wrong(name) }
        try url.checkIsEndpoint(ofIssuer: issuer, name)
        return url
    }

    func required(_ name: String) throws(OAuth2Error) -> URL {
        guard let url = try endpoint(name) else { throw missing(name) }
        return url
    }

    private func missing(_ name: String) -> OAuth2Error { answer.wrong(name).adding("check the document's URL") }

    /// Returns the URL of the keys in an issuer's metadata, which may lack everything else.
    static func keySetURL(in metadata: JSONObject, issuer: String) throws(OAuth2Error) -> URL {
        let document = MetadataDocument(members: metadata, issuer: issuer)
        try document.checkIssuer()
        return try document.required("jwks_uri")
    }
}

extension URL {
    /// A server on the network that names an `http` endpoint, or a service on the client's own
    /// machine, would make the client send its credentials to another party.
    func checkIsEndpoint(ofIssuer issuer: String, _ name: String) throws(OAuth2Error) {
        let name = OAuth2Error.printable(name, limit: 64)
        let what = "a request to “\(name)”"
        let origin = try confidentialOrigin(what)
        guard let issuer = URL(string: issuer).flatMap({ HTTPOrigin($0) }), issuer.scheme == "https" else { return }
        guard origin.scheme == "https" else { throw isNotConfidential(what) }
        guard !origin.isThisMachine || issuer.isThisMachine else {
            throw OAuth2Error(
                .insecureTransport,
                "“\(name)” of the server is on this machine, although the issuer isn't; ask the server's operator"
            )
        }
    }
}

/// The location of a server's metadata.
public struct WellKnownDocument: Sendable, Hashable {
    private enum Wrapped: Hashable { case openID, openIDBeforePath, oauth2, location(URL) }
    private let wrapped: Wrapped

    /// The document `…/.well-known/openid-configuration` after the issuer's path ([OpenID Connect
    /// Discovery 1.0
    /// §4](https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderConfig)).
    public static let openID = Self(wrapped: .openID)
    /// The document `/.well-known/openid-configuration…` before the issuer's path
    /// ([RFC 8414 §5](https://www.rfc-editor.org/rfc/rfc8414#section-5)).
    public static let openIDBeforePath = Self(wrapped: .openIDBeforePath)
    /// The document `/.well-known/oauth-authorization-server…` before the issuer's path
    /// ([RFC 8414 §3.1](https://www.rfc-editor.org/rfc/rfc8414#section-3.1)).
    public static let oauth2 = Self(wrapped: .oauth2)

    /// A custom URL, whose document must still name the issuer.
    ///
    /// - Parameter url: The document's URL.
    /// - Returns: The location.
    public static func location(_ url: URL) -> Self { Self(wrapped: .location(url)) }

    /// - Throws: ``OAuth2Error`` with the code `invalidIssuer` or `insecureTransport`.
    package func url(issuer: String) throws(OAuth2Error) -> URL {
        guard let base = URL(string: issuer), base.host?.isEmpty == false, base.user == nil, base.password == nil,
            !issuer.contains(where: { $0 == "?" || $0 == "#" })
        else {
            throw OAuth2Error(
                .invalidIssuer,
                "the issuer identifier must be a URL without query and fragment, exactly as the server writes it"
            )
        }
        guard let origin = HTTPOrigin(base), origin.isConfidential else { throw base.isNotConfidential("metadata") }
        if case .location(let url) = wrapped {
            _ = try url.confidentialOrigin("metadata")
            return url
        }
        // Use the identifier's text, because a URL's components lose escapes in the path.
        let authority = issuer.firstRange(of: "://")?.upperBound ?? issuer.startIndex
        let pathStart = issuer[authority...].firstIndex(of: "/") ?? issuer.endIndex
        var path = issuer[pathStart...]
        if path.last == "/" { path.removeLast() }
        let text =
            switch wrapped {
            case .openID: "\(issuer[..<pathStart])\(path)/.well-known/openid-configuration"
            case .openIDBeforePath: "\(issuer[..<pathStart])/.well-known/openid-configuration\(path)"
            case .oauth2, .location: "\(issuer[..<pathStart])/.well-known/oauth-authorization-server\(path)"
            }
        guard let url = URL(string: text) else {
            throw OAuth2Error(.invalidIssuer, "the metadata document's URL can't be built from the issuer identifier")
        }
        return url
    }
}
