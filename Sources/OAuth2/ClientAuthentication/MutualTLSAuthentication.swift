public import Foundation

/// The certificate that the connection shows is the proof of who the client is
/// ([RFC 8705 §2](https://www.rfc-editor.org/rfc/rfc8705#section-2)).
///
/// The client that asks the server must have the certificate:
///
/// ```swift
/// let identity = try ClientIdentity(certificateChainFile: "client.pem", privateKeyFile: "client.key")
/// let authenticator = OAuth2Authenticator(
///     server: server,
///     clientAuthentication: .tlsClientAuth(clientID: "reports"),
///     grant: ClientCredentialsGrant(),
///     resources: [api],
///     client: try NetworkClient(tls: TLSConfiguration(clientIdentity: identity))
/// )
/// ```
///
/// Whether the server knows the certificate itself or who has issued it makes no difference on the client's side.
public struct MutualTLSAuthentication: ClientAuthentication {
    /// The client's identifier.
    public let clientID: String

    /// Makes the authentication.
    ///
    /// - Parameter clientID: The client's identifier.
    package init(clientID: String) {
        self.clientID = clientID
    }

    /// Yes.
    public var usesMutualTLS: Bool { true }

    /// Sets `client_id`; the rest is in the TLS handshake.
    ///
    /// - Parameters:
    ///   - request: The request to complete.
    ///   - date: Not used.
    public func authenticate(_ request: inout TokenRequest, at date: Date) {
        request.set("client_id", clientID)
    }
}

/// Another authentication, over connections that show a certificate, so that tokens are bound to it
/// ([RFC 8705 §4](https://www.rfc-editor.org/rfc/rfc8705#section-4)).
public struct CertificateBoundAuthentication: ClientAuthentication {
    private let wrapped: any ClientAuthentication

    /// Makes the authentication.
    ///
    /// - Parameter wrapped: How the client proves who it is.
    public init(_ wrapped: any ClientAuthentication) {
        self.wrapped = wrapped
    }

    /// The client's identifier.
    public var clientID: String { wrapped.clientID }
    /// Whether the proof has a time in it.
    public var usesAssertion: Bool { wrapped.usesAssertion }
    /// Yes.
    public var usesMutualTLS: Bool { true }

    /// Adds the other authentication's proof.
    ///
    /// - Parameters:
    ///   - request: The request to complete.
    ///   - date: The present time.
    /// - Throws: What the other authentication throws.
    public func authenticate(_ request: inout TokenRequest, at date: Date) async throws {
        try await wrapped.authenticate(&request, at: date)
    }
}

extension ClientAuthentication where Self == MutualTLSAuthentication {
    /// A certificate: `tls_client_auth` if the server trusts its authority, `self_signed_tls_client_auth` if it knows the
    /// certificate itself.
    ///
    /// - Parameter clientID: The client's identifier.
    /// - Returns: The authentication.
    public static func tlsClientAuth(clientID: String) -> Self { Self(clientID: clientID) }
}
