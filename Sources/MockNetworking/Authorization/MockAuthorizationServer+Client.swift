public import Foundation
import Networking
public import OAuth2
public import TokenGeneration

extension MockAuthorizationServer {
    /// A registered client.
    public struct Client: Sendable {
        /// The client's identifier.
        public let id: String
        /// The scopes that the client may request; `nil`, the default, for any.
        public let scopes: Set<String>?
        /// The exact redirect URIs, none by default; `http://127.0.0.1/…` accepts any port.
        public var redirectURIs: [String] = []
        /// The exact redirect URIs after a logout ([OpenID Connect RP-Initiated Logout
        /// 1.0](https://openid.net/specs/openid-connect-rpinitiated-1_0.html)).
        public var logoutRedirectURIs: [String] = []
        /// The registered metadata, of which the server uses the encryption and the keys for it:
        /// `ClientMetadata.secure(_:signedWith:encryptedWith:_:)` and
        /// `ClientMetadata.encryptionKeys`.
        ///
        /// Without a key for the algorithm, the server derives one from the client's secret. All
        /// signatures have the server's algorithm.
        ///
        /// ```swift
        /// client.metadata.secure(.idToken, encryptedWith: .ecdhES)
        /// client.metadata.encryptionKeys = [key.encryptionKey]
        /// ```
        public var metadata = ClientMetadata()
        let credential: Authentication.Credential

        /// Creates a client whose `authentication` is the only method that the server accepts.
        public init(
            id: String,
            authentication: Authentication,
            redirectURIs: [String] = [],
            scopes: Set<String>? = nil
        ) {
            self.id = id
            self.redirectURIs = redirectURIs
            self.scopes = scopes
            credential = authentication.credential
        }

        /// Creates a client that authenticates with a `secret`: `client_secret_basic`.
        public init(id: String, secret: String, scopes: Set<String>? = nil) {
            self.init(id: id, authentication: .clientSecretBasic(secret), scopes: scopes)
        }

        /// Creates a client that authenticates with assertions that its public `key` verifies:
        /// `private_key_jwt`.
        public init(id: String, key: VerificationKey, scopes: Set<String>? = nil) {
            self.init(id: id, authentication: .privateKeyJWT(key), scopes: scopes)
        }

        /// A client authentication method ([OpenID Connect Core
        /// §9](https://openid.net/specs/openid-connect-core-1_0.html#ClientAuthentication)).
        public struct Authentication: Sendable {
            enum Credential: Sendable {
                case nothing
                case basic(Secret, isEncoded: Bool)
                case post(Secret)
                case key(VerificationKey)
                case certificateSubject(String)
                case certificate(Data)
                case federated(FederatedIdentity)
            }

            let credential: Credential

            /// No authentication: `none`.
            public static let none = Self(credential: .nothing)

            /// Authenticates with a secret in the header: `client_secret_basic`.
            ///
            /// - Parameters:
            ///   - secret: The secret.
            ///   - isEncoded: Whether the credentials are form-encoded, as RFC 6749 requires. With
            ///     `false`, the server accepts them unencoded. The default is `true`.
            /// - Returns: The method.
            public static func clientSecretBasic(_ secret: String, isEncoded: Bool = true) -> Self {
                Self(credential: .basic(Secret(secret), isEncoded: isEncoded))
            }

            /// Authenticates with a secret in the form: `client_secret_post`.
            ///
            /// - Parameter secret: The secret.
            /// - Returns: The method.
            public static func clientSecretPost(_ secret: String) -> Self {
                Self(credential: .post(Secret(secret)))
            }

            /// Authenticates with an assertion signed with a secret: `client_secret_jwt`.
            ///
            /// - Parameters:
            ///   - secret: The secret.
            ///   - algorithm: `HS256` (the default), `HS384` or `HS512`.
            /// - Returns: The method.
            /// - Throws: `TokenError` if the secret is too short.
            public static func clientSecretJWT(_ secret: String, algorithm: JWSAlgorithm = .hs256) throws -> Self {
                try privateKeyJWT(SigningKey(secret: secret.utf8, algorithm: algorithm).verificationKey)
            }

            /// Authenticates with an assertion signed with a private key: `private_key_jwt`.
            ///
            /// - Parameter key: The public key.
            /// - Returns: The method.
            public static func privateKeyJWT(_ key: VerificationKey) -> Self { Self(credential: .key(key)) }

            /// Authenticates with the tokens that a platform issues to the client's workload.
            ///
            /// The server accepts such a token as `client_assertion`, with the type `jwt-bearer`,
            /// or `jwt-spiffe` for a SPIFFE ID. Without client authentication, it accepts the token
            /// as the assertion of a JWT bearer grant, and as the subject of a token exchange. The
            /// audience must be the server. A token can be used repeatedly.
            ///
            /// ```swift
            /// let client = MockAuthorizationServer.Client(
            ///     id: "reports",
            ///     authentication: .federatedJWT(
            ///         issuer: "https://cluster.example",
            ///         subject: "system:serviceaccount:finance:reports",
            ///         key: platformKey.verificationKey
            ///     )
            /// )
            /// ```
            ///
            /// - Parameters:
            ///   - issuer: The `iss` of the tokens; `nil` if they have none, as JWT-SVIDs.
            ///   - subject: The `sub` of the tokens, such as a SPIFFE ID.
            ///   - key: The platform's public key.
            /// - Returns: The method.
            public static func federatedJWT(issuer: String?, subject: String, key: VerificationKey) -> Self {
                Self(credential: .federated(FederatedIdentity(issuer: issuer, subject: subject, key: key)))
            }

            /// Authenticates with a certificate that an authority issued to a subject:
            /// `tls_client_auth`.
            ///
            /// The server requires ``Configuration/mutualTLS`` with the authority.
            ///
            /// - Parameter subject: The certificate's subject, such as `CN=billing`.
            /// - Returns: The method.
            public static func tlsClientAuth(subject: String) -> Self {
                Self(credential: .certificateSubject(subject))
            }

            /// Authenticates with a registered certificate: `self_signed_tls_client_auth`.
            ///
            /// - Parameter certificateDER: The certificate.
            /// - Returns: The method.
            public static func selfSignedTLSClientAuth(certificateDER: Data) -> Self {
                Self(credential: .certificate(certificateDER))
            }
        }
    }
}

struct FederatedIdentity: Sendable {
    let issuer: String?
    let subject: String
    let key: VerificationKey

    func isNamed(in claims: JSONObject) -> Bool {
        claims["iss"]?.string == issuer && claims["sub"]?.string == subject
    }

    var isSPIFFE: Bool { (try? SPIFFEID(subject)) != nil }

    func verify(_ token: String, audience: AudienceRule, at date: Date) throws(TokenError) {
        var policy = ValidationPolicy(
            issuer: issuer.map { .exactly($0) } ?? .absent,
            audience: audience,
            subject: .exactly(subject),
            leeway: .seconds(10)
        )
        policy.currentDate = { date }
        _ = try JWTVerifier(key: key, policy: policy).verify(token)
    }
}

extension ClientRegister {
    /// Returns the client to whose workload a platform has issued a token, by default for the
    /// issuer or the token endpoint ([RFC 10070
    /// §5](https://www.rfc-editor.org/rfc/rfc10070#section-5)), or `nil` if the token names none.
    func client(
        federatedBy token: String,
        audience: AudienceRule? = nil,
        code: String
    ) throws(TokenEndpointError) -> Client? {
        guard let claims = try? UnverifiedToken(token).unverifiedClaims else { return nil }
        for client in all {
            guard let identity = client.federatedIdentity, identity.isNamed(in: claims) else { continue }
            let audience = audience ?? .containsAny(of: audiences)
            do { try identity.verify(token, audience: audience, at: configuration.serverTime.date()) } catch {
                throw TokenEndpointError(
                    code,
                    "the platform's token isn't valid: \(error.code)",
                    status: code == "invalid_client" ? 401 : 400
                )
            }
            return client
        }
        return nil
    }
}

extension MockAuthorizationServer.Client {
    var federatedIdentity: FederatedIdentity? {
        if case .federated(let identity) = credential { identity } else { nil }
    }
}
