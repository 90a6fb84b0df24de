public import Foundation
import Networking

/// A method of client authentication at the authorization server
/// ([RFC 6749 §2.3](https://www.rfc-editor.org/rfc/rfc6749#section-2.3)).
public protocol ClientAuthentication: Sendable {
    /// The client's identifier.
    var clientID: String { get }

    /// A Boolean value that indicates whether the credential contains a time.
    ///
    /// If true, the client repeats a failed request once, with the time corrected by the server's
    /// `Date` header field, because a wrong clock makes such a credential invalid. The default is
    /// false.
    var usesAssertion: Bool { get }

    /// A Boolean value that indicates whether the TLS certificate is part of the credential.
    ///
    /// If true, requests go to ``AuthorizationServer/mutualTLSAliases``. The default is false.
    var usesMutualTLS: Bool { get }

    /// Adds the client's credential to a token request.
    ///
    /// The client calls this method for every request, so that no credential is used twice.
    ///
    /// - Parameters:
    ///   - request: The request to complete.
    ///   - date: The current time, for credentials that contain one.
    /// - Throws: Any error. The request then isn't sent. Callers get an ``OAuth2Error`` with the
    ///   code `assertionFailed`, unless the error is an ``OAuth2Error`` itself.
    func authenticate(_ request: inout TokenRequest, at date: Date) async throws
}

extension ClientAuthentication {
    /// The default, `false`.
    public var usesAssertion: Bool { false }

    /// The default, `false`.
    public var usesMutualTLS: Bool { false }

    /// Checks that a client that must present a certificate has one, as far as its transport tells.
    func checkCertificate(of client: NetworkClient) throws(OAuth2Error) {
        guard usesMutualTLS, (client.transport as? CurlTransport)?.hasClientIdentity == false else { return }
        throw OAuth2Error(
            .assertionFailed,
            "the network client has no certificate to present; create it with a TLSConfiguration that has a clientIdentity"
        )
    }
}

/// A standard method of client authentication.
///
/// The methods are static members, by their registered names:
///
/// ```swift
/// let oauth = OAuth2Client(
///     server: server,
///     clientAuthentication: .clientSecretBasic(clientID: "api", secret: secret)
/// )
/// ```
public struct StandardClientAuthentication: ClientAuthentication {
    /// The encoding of the identifier and the secret in the `Authorization` header field.
    @nonexhaustive
    public enum Encoding: Sendable {
        /// Form-encodes both before joining them, as RFC 6749 requires and some clients forget.
        case form
        /// Joins both unencoded, for servers that don't decode them.
        ///
        /// An identifier with a colon can't be sent this way; the server would cut it at the colon.
        case raw
    }

    fileprivate let method: any ClientAuthentication

    init(_ method: any ClientAuthentication) { self.method = method }

    /// The client's identifier.
    public var clientID: String { method.clientID }
    /// A Boolean value that indicates whether the client signs an assertion, which contains a time.
    public var usesAssertion: Bool { method.usesAssertion }
    /// A Boolean value that indicates whether connections present the client's certificate.
    public var usesMutualTLS: Bool { method.usesMutualTLS }

    /// Adds the method's header field or form fields.
    ///
    /// - Throws: ``OAuth2Error`` with the code `assertionFailed` if there's no credential.
    public func authenticate(_ request: inout TokenRequest, at date: Date) async throws {
        try await method.authenticate(&request, at: date)
    }
}

private struct ClientSecretBasic: ClientAuthentication {
    let clientID: String
    let secret: Secret
    let encoding: StandardClientAuthentication.Encoding

    func authenticate(_ request: inout TokenRequest, at date: Date) throws(OAuth2Error) {
        guard encoding == .form || !clientID.utf8.contains(UInt8(ascii: ":")) else {
            throw OAuth2Error(
                .assertionFailed,
                "a client ID with a colon must be form-encoded in the header field; use .form or another authentication method"
            )
        }
        let encode = { encoding == .form ? FormURLEncoded.encode($0) : $0 }
        let pair = secret.expose { "\(encode(clientID)):\(encode($0))" }
        request.headers["Authorization"] = "Basic \(Data(pair.utf8).base64EncodedString())"
    }

    /// The other encoding to try, if it makes a difference for this client.
    private var otherEncoding: String? {
        let isChanged = { FormURLEncoded.encode($0) != $0 }
        guard isChanged(clientID) || secret.expose(isChanged) else { return nil }
        guard encoding == .form else { return "try `encoding: .form` (jwt token --basic-encoding form)" }
        return clientID.utf8.contains(UInt8(ascii: ":"))
            ? nil : "try `encoding: .raw` (jwt token --basic-encoding raw)"
    }

    fileprivate var advice: String? {
        otherEncoding.map { advice in
            "form encoding changes the client ID or secret, and not every server decodes them: " + advice
        }
    }
}

extension ClientAuthentication {
    /// Names the setting if the server may have read the credentials in another encoding.
    func explaining(_ error: OAuth2Error) -> OAuth2Error {
        guard error.code == .invalidClient else { return error }
        return basic?.advice.map(error.adding) ?? error
    }

    private var basic: ClientSecretBasic? {
        switch self {
        case let basic as ClientSecretBasic: basic
        case let standard as StandardClientAuthentication: standard.method.basic
        case let certificate as MutualTLSAuthentication: certificate.wrapped.basic
        default: nil
        }
    }
}

extension ClientAuthentication where Self == StandardClientAuthentication {
    /// The client's secret in the `Authorization` header field: `client_secret_basic`
    /// ([RFC 6749 §2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1)).
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier.
    ///   - secret: The client's secret.
    ///   - encoding: The encoding of both. The default is form encoding, as RFC 6749 requires.
    /// - Returns: The authentication.
    public static func clientSecretBasic(
        clientID: String,
        secret: Secret,
        encoding: StandardClientAuthentication.Encoding = .form
    ) -> Self {
        Self(ClientSecretBasic(clientID: clientID, secret: secret, encoding: encoding))
    }

    /// The client's secret in the form, for servers that don't accept it in the header field:
    /// `client_secret_post`.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier.
    ///   - secret: The client's secret.
    /// - Returns: The authentication.
    public static func clientSecretPost(clientID: String, secret: Secret) -> Self {
        Self(ClientSecretPost(clientID: clientID, secret: secret))
    }

    /// A client that can't keep a secret, such as an application on its users' devices: `none`
    /// ([RFC 6749 §2.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.1)).
    ///
    /// It sends only its identifier, or nothing to a server that identifies the client by its
    /// grant.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier. If the server has none, choose a name without secrets
    ///     that keeps the tokens of different clients apart.
    ///   - sendsClientID: `false` to send nothing, for a server that identifies the client by the
    ///     token of its grant, and rejects other parameters. The default is `true`.
    /// - Returns: The authentication.
    public static func none(clientID: String, sendsClientID: Bool = true) -> Self {
        Self(PublicClient(clientID: clientID, sendsClientID: sendsClientID))
    }

    /// A certificate ([RFC 8705 §2](https://www.rfc-editor.org/rfc/rfc8705#section-2)):
    /// `tls_client_auth` if the server trusts its issuer, `self_signed_tls_client_auth` if the
    /// server knows the certificate itself.
    ///
    /// The network client that sends the requests must have the certificate, as
    /// <doc:AuthenticatingTheClient> shows.
    ///
    /// - Parameter clientID: The client's identifier.
    /// - Returns: The authentication.
    public static func tlsClientAuth(clientID: String) -> Self { .mutualTLS(.none(clientID: clientID)) }

    /// Another method over connections that present the client's certificate, so that tokens are
    /// bound to it ([RFC 8705 §4](https://www.rfc-editor.org/rfc/rfc8705#section-4)).
    ///
    /// - Parameter other: The other client authentication.
    /// - Returns: The authentication.
    public static func mutualTLS(_ other: any ClientAuthentication) -> Self {
        Self(MutualTLSAuthentication(wrapped: other))
    }
}

private struct ClientSecretPost: ClientAuthentication {
    let clientID: String
    let secret: Secret

    func authenticate(_ request: inout TokenRequest, at date: Date) {
        request.set("client_id", clientID)
        request.set("client_secret", secret.expose { $0 })
    }
}

private struct PublicClient: ClientAuthentication {
    let clientID: String
    let sendsClientID: Bool

    func authenticate(_ request: inout TokenRequest, at date: Date) {
        if sendsClientID { request.set("client_id", clientID) }
    }
}

private struct MutualTLSAuthentication: ClientAuthentication {
    let wrapped: any ClientAuthentication

    var clientID: String { wrapped.clientID }
    var usesAssertion: Bool { wrapped.usesAssertion }
    var usesMutualTLS: Bool { true }

    func authenticate(_ request: inout TokenRequest, at date: Date) async throws {
        try await wrapped.authenticate(&request, at: date)
    }
}
