import Foundation
public import Networking
public import OAuth2
public import TokenGeneration

extension MockAuthorizationServer {
    /// The options of a server.
    public struct Configuration: Sendable {
        /// The lifetime of access tokens; the default is five minutes.
        public var tokenLifetime: Duration
        /// A Boolean value that indicates whether the server rotates refresh tokens: each use
        /// replaces the token, and using a replaced token revokes all tokens derived from it.
        ///
        /// The default is that of the dialect, `true` for the standards. In the dialects of
        /// Keycloak and Entra, a replaced token stays valid.
        public var rotatesRefreshTokens: Bool
        /// The time for which a replaced refresh token may be used again, for a client that has
        /// lost the response; the default is zero.
        ///
        /// The client gets the same successor.
        public var refreshTokenGrace: Duration = .zero
        /// The algorithm of all the server's signatures; the default is ES256.
        public var signingAlgorithm: JWSAlgorithm = .es256
        /// The support for binding tokens to keys
        /// ([RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)).
        public var dpop: DPoPSupport = .optional
        /// A Boolean value that indicates whether DPoP proofs require a nonce, which the test can
        /// change; the default is `false`.
        public var requiresNonces = false
        /// A Boolean value that indicates whether authorization requests must be pushed
        /// ([RFC 9126 §5](https://www.rfc-editor.org/rfc/rfc9126#section-5)); the default is
        /// `false`.
        public var requiresPushedAuthorizationRequests = false
        /// The keys that decrypt authorization requests
        /// ([RFC 9101](https://www.rfc-editor.org/rfc/rfc9101)); none by default.
        ///
        /// The server publishes their public parts with `use` set to `enc`. It also decrypts
        /// requests with the key derived from a client's secret.
        public var decryptionKeys: [DecryptionKey] = []
        /// The resource server's key that access tokens are encrypted for, after signing
        /// ([RFC 9068 §4](https://www.rfc-editor.org/rfc/rfc9068#section-4)); with `nil`, the
        /// default, they are only signed.
        ///
        /// The content encryption is A256GCM, or that of a key for `dir`.
        public var accessTokenRecipient: EncryptionKey?
        /// The token that clients need to register; with `nil`, the default, every client may
        /// register.
        public var initialAccessToken: Secret?
        /// The offset of the server's clock; negative if it's slow.
        public var clockOffset: Duration = .zero
        /// The resources that clients may request
        /// ([RFC 8707](https://www.rfc-editor.org/rfc/rfc8707)); `nil`, the default, for any.
        ///
        /// In the dialects of Keycloak and Okta, clients can't request a resource: these are the
        /// audiences of all tokens.
        public var resources: Set<String>?
        /// The types of authorization details that clients may request
        /// ([RFC 9396](https://www.rfc-editor.org/rfc/rfc9396)); `nil`, the default, for any.
        public var authorizationDetailTypes: Set<String>?
        /// The time that a user has to approve a device; the default is ten minutes.
        public var deviceCodeLifetime: Duration = .seconds(600)
        /// The minimum time between a device's polling requests; with `nil`, the default, the
        /// response omits it, which means five seconds.
        public var deviceInterval: Duration?
        /// The valid audiences of client assertions; the default is only the issuer.
        public var assertionAudience: AssertionAudience = .issuer
        /// The clients whose ID is the URL of their metadata; none by default.
        ///
        /// The server doesn't fetch the documents. With at least one, its metadata has
        /// `client_id_metadata_document_supported`. A client that authenticates needs its keys in
        /// the document.
        public var clientDocuments: [ClientIDMetadataDocument] = []
        /// The authorization server that this one behaves like; by default it follows the
        /// standards.
        public var dialect: Dialect
        /// The TLS settings of a second port for clients with a certificate; with `nil`, the
        /// default, it doesn't exist
        /// ([RFC 8705 §5](https://www.rfc-editor.org/rfc/rfc8705#section-5)).
        public var mutualTLS: LoopbackServer.TLS?
        /// The time source; the default is the system's.
        public var time: TimeSource

        /// Creates a configuration whose other properties have the values of the dialect.
        public init(
            dialect: Dialect = .standard,
            tokenLifetime: Duration = .seconds(300),
            rotatesRefreshTokens: Bool? = nil,
            time: TimeSource = .system
        ) {
            self.dialect = dialect
            self.tokenLifetime = tokenLifetime
            self.rotatesRefreshTokens = rotatesRefreshTokens ?? dialect.rotatesRefreshTokens
            self.time = time
            guard dialect.isOfVendor else { return }
            signingAlgorithm = .rs256
            dpop = dialect.supportsDPoP ? .optional : .none
            requiresNonces = dialect == .okta
            if dialect == .entra || dialect == .okta { assertionAudience = .issuerOrTokenEndpoint }
        }
    }

    /// The valid audiences of client assertions.
    public enum AssertionAudience: Sendable {
        /// Only the issuer
        /// ([RFC 10070 §4](https://www.rfc-editor.org/rfc/rfc10070#section-4)).
        case issuer
        /// The issuer or the token endpoint, optionally among others, as servers before RFC 10070
        /// accept.
        case issuerOrTokenEndpoint
    }

    /// The support for tokens that are bound to keys.
    public enum DPoPSupport: Sendable {
        /// The server ignores proofs.
        case none
        /// The server binds a token if the request has a proof.
        case optional
        /// The server requires a proof for every token.
        case required
    }
}

extension MockAuthorizationServer.Configuration {
    var serverTime: TimeSource {
        TimeSource(
            now: time.now,
            date: { [time, clockOffset] in time.date().addingTimeInterval(clockOffset / .seconds(1)) },
            sleep: time.sleep
        )
    }
}

extension MockAuthorizationServer {
    /// Returns the metadata of a server
    /// ([RFC 8414 §2](https://www.rfc-editor.org/rfc/rfc8414#section-2)).
    static func metadataDocument(
        _ server: LoopbackServer,
        _ mutualTLSServer: LoopbackServer?,
        _ configuration: Configuration
    ) -> JSONObject {
        let algorithm = JSONValue.string(configuration.signingAlgorithm.rawValue)
        func url(_ endpoint: Endpoint) -> JSONValue { .string(server.url(for: endpoint.rawValue).absoluteString) }
        var document: JSONObject = [
            "issuer": .string(server.baseURL.absoluteString + configuration.dialect.issuerPath),
            "token_endpoint": url(.token),
            "revocation_endpoint": url(.revocation),
            "introspection_endpoint": url(.introspection),
            "pushed_authorization_request_endpoint": url(.pushedAuthorizationRequests),
            "registration_endpoint": url(.registration),
            "userinfo_endpoint": url(.userInfo),
            "end_session_endpoint": url(.endSession),
            "jwks_uri": url(.keys),
            "grant_types_supported": .array(GrantType.allCases.map { .string($0.rawValue) }),
            "authorization_endpoint": url(.authorization),
            "device_authorization_endpoint": url(.deviceAuthorization),
            "backchannel_authentication_endpoint": url(.backchannelAuthentication),
            "backchannel_token_delivery_modes_supported": ["poll", "ping"],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query", "jwt", "query.jwt"],
            "authorization_signing_alg_values_supported": [algorithm],
            "id_token_signing_alg_values_supported": [algorithm],
            "introspection_signing_alg_values_supported": [algorithm],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
            "token_endpoint_auth_methods_supported": [
                "none", "client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt",
                "tls_client_auth", "self_signed_tls_client_auth",
            ],
            "token_endpoint_auth_signing_alg_values_supported": ["ES256", "RS256", "PS256", "EdDSA", "HS256"],
            "dpop_signing_alg_values_supported": ["ES256"],
        ]
        let kinds = ["id_token", "userinfo", "authorization", "introspection"]
        for name in configuration.decryptionKeys.isEmpty ? kinds : kinds + ["request_object"] {
            let algorithms = JWEAlgorithm.implemented.map(\.rawValue).filter { !$0.hasPrefix("PBES2") }
            document["\(name)_encryption_alg_values_supported"] = .array(algorithms.map(JSONValue.string))
            document["\(name)_encryption_enc_values_supported"] = .array(
                JWEEncryption.implemented.map { .string($0.rawValue) }
            )
        }
        if configuration.requiresPushedAuthorizationRequests {
            document["require_pushed_authorization_requests"] = true
        }
        if !configuration.clientDocuments.isEmpty { document["client_id_metadata_document_supported"] = true }
        if let mutualTLSServer {
            document["tls_client_certificate_bound_access_tokens"] = true
            let aliases = [
                ("token_endpoint", Endpoint.token), ("device_authorization_endpoint", .deviceAuthorization),
                ("revocation_endpoint", .revocation), ("introspection_endpoint", .introspection),
                ("pushed_authorization_request_endpoint", .pushedAuthorizationRequests),
            ]
            document["mtls_endpoint_aliases"] = .object(
                JSONObject(aliases.map { ($0.0, .string(mutualTLSServer.url(for: $0.1.rawValue).absoluteString)) })
            )
        }
        return document
    }
}
