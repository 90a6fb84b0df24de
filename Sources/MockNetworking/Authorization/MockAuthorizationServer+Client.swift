public import Foundation
import OAuth2
public import TokenGeneration

extension MockAuthorizationServer {
    /// A client that the server knows.
    public struct Client: Sendable {
        /// The client's identifier.
        public let id: String
        /// The scopes that the client may ask for; `nil` for any.
        public let scopes: Set<String>?
        /// Where users may be sent back to, exactly; on `http://127.0.0.1/…` the port may be any.
        public var redirectURIs: [String] = []
        let credential: Authentication.Credential

        /// Makes a client.
        ///
        /// - Parameters:
        ///   - id: The client's identifier.
        ///   - authentication: How the client proves who it is: in this way and in no other.
        ///   - redirectURIs: Where users may be sent back to.
        ///   - scopes: The scopes that the client may ask for; `nil` for any.
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

        /// Makes a client that authenticates with a secret: `client_secret_basic`.
        ///
        /// - Parameters:
        ///   - id: The client's identifier.
        ///   - secret: The client's secret.
        ///   - scopes: The scopes that the client may ask for; `nil` for any.
        public init(id: String, secret: String, scopes: Set<String>? = nil) {
            self.init(id: id, authentication: .clientSecretBasic(secret), scopes: scopes)
        }

        /// Makes a client that authenticates with signed assertions: `private_key_jwt`.
        ///
        /// - Parameters:
        ///   - id: The client's identifier.
        ///   - key: The public half of the client's key.
        ///   - scopes: The scopes that the client may ask for; `nil` for any.
        public init(id: String, key: VerificationKey, scopes: Set<String>? = nil) {
            self.init(id: id, authentication: .privateKeyJWT(key), scopes: scopes)
        }

        /// How a client proves who it is
        /// ([OpenID Connect Core §9](https://openid.net/specs/openid-connect-core-1_0.html#ClientAuthentication)).
        public struct Authentication: Sendable {
            enum Credential: Sendable {
                case nothing
                case basic(Secret, isEncoded: Bool)
                case post(Secret)
                case key(VerificationKey)
                case certificateSubject(String)
                case certificate(Data)
            }

            let credential: Credential

            /// It can't: `none`.
            public static let none = Self(credential: .nothing)

            /// By a secret in the header: `client_secret_basic`.
            ///
            /// - Parameters:
            ///   - secret: The secret.
            ///   - isEncoded: Whether what comes is form-encoded, as RFC 6749 demands; no for a
            ///     server that takes it as it is.
            /// - Returns: The authentication.
            public static func clientSecretBasic(_ secret: String, isEncoded: Bool = true) -> Self {
                Self(credential: .basic(Secret(secret), isEncoded: isEncoded))
            }

            /// By a secret in the form: `client_secret_post`.
            ///
            /// - Parameter secret: The secret.
            /// - Returns: The authentication.
            public static func clientSecretPost(_ secret: String) -> Self {
                Self(credential: .post(Secret(secret)))
            }

            /// By an assertion that is signed with a secret: `client_secret_jwt`.
            ///
            /// - Parameters:
            ///   - secret: The secret.
            ///   - algorithm: `HS256`, `HS384` or `HS512`.
            /// - Returns: The authentication.
            /// - Throws: `TokenError` if the secret is too short.
            public static func clientSecretJWT(_ secret: String, algorithm: JWSAlgorithm = .hs256) throws -> Self {
                try privateKeyJWT(SigningKey(secret: secret.utf8, algorithm: algorithm).verificationKey)
            }

            /// By an assertion that is signed with a private key: `private_key_jwt`.
            ///
            /// - Parameter key: The public half of the key.
            /// - Returns: The authentication.
            public static func privateKeyJWT(_ key: VerificationKey) -> Self { Self(credential: .key(key)) }

            /// By a certificate that an authority has issued to this subject: `tls_client_auth`.
            ///
            /// The server needs ``Configuration/mutualTLS`` with the authority.
            ///
            /// - Parameter subject: The certificate's subject, such as `CN=billing`.
            /// - Returns: The authentication.
            public static func tlsClientAuth(subject: String) -> Self {
                Self(credential: .certificateSubject(subject))
            }

            /// By a certificate that the server knows by itself: `self_signed_tls_client_auth`.
            ///
            /// - Parameter certificateDER: The certificate.
            /// - Returns: The authentication.
            public static func selfSignedTLSClientAuth(certificateDER: Data) -> Self {
                Self(credential: .certificate(certificateDER))
            }
        }
    }
}
