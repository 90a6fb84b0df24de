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
