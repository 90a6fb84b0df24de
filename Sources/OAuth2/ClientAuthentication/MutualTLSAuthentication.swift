public import Foundation

/// Client authentication over TLS connections that present the client's certificate
/// ([RFC 8705](https://www.rfc-editor.org/rfc/rfc8705)).
///
/// The network client that sends the requests must have the certificate, as
/// <doc:AuthenticatingTheClient> shows.
public struct MutualTLSAuthentication: ClientAuthentication {
    private let wrapped: any ClientAuthentication

    /// Creates an authentication with another method over connections that present a certificate,
    /// so that tokens are bound to it
    /// ([RFC 8705 §4](https://www.rfc-editor.org/rfc/rfc8705#section-4)).
    ///
    /// - Parameter wrapped: The other client authentication.
    public init(_ wrapped: any ClientAuthentication) {
        self.wrapped = wrapped
    }

    /// The client's identifier.
    public var clientID: String { wrapped.clientID }
    /// A Boolean value that indicates whether the credential contains a time.
    public var usesAssertion: Bool { wrapped.usesAssertion }
    /// Always `true`: the connection presents a certificate.
    public var usesMutualTLS: Bool { true }

    /// Adds the other authentication's credential, or `client_id` alone for a client that
    /// authenticates with its certificate.
    public func authenticate(_ request: inout TokenRequest, at date: Date) async throws {
        try await wrapped.authenticate(&request, at: date)
    }
}

extension ClientAuthentication where Self == MutualTLSAuthentication {
    /// A certificate ([RFC 8705 §2](https://www.rfc-editor.org/rfc/rfc8705#section-2)):
    /// `tls_client_auth` if the server trusts its issuer, `self_signed_tls_client_auth` if the
    /// server knows the certificate itself.
    ///
    /// - Parameter clientID: The client's identifier.
    /// - Returns: The authentication.
    public static func tlsClientAuth(clientID: String) -> Self { Self(.none(clientID: clientID)) }
}
