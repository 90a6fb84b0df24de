public import Foundation
import Networking

/// How a client proves to the authorization server who it is
/// ([RFC 6749 §2.3](https://www.rfc-editor.org/rfc/rfc6749#section-2.3)).
public protocol ClientAuthentication: Sendable {
    /// The client's identifier.
    var clientID: String { get }

    /// Whether the proof has a time in it, so that a wrong clock makes it invalid; no, unless an authentication says otherwise.
    ///
    /// A request that fails is then repeated once with the time corrected by the server's `Date`.
    var usesAssertion: Bool { get }

    /// Whether the connection's certificate is part of the proof, so that requests go to the server's
    /// ``AuthorizationServer/mutualTLSAliases``; no, unless an authentication says otherwise.
    var usesMutualTLS: Bool { get }

    /// Adds the proof to a token request; called anew for every request, so that no proof is used twice.
    ///
    /// - Parameters:
    ///   - request: The request to complete.
    ///   - date: The present time, for proofs that have one in them.
    /// - Throws: Any error; the request is then not sent, and whoever needs the token gets an ``OAuth2Error`` with the
    ///   code `assertionFailed`, unless the error is an ``OAuth2Error`` itself.
    func authenticate(_ request: inout TokenRequest, at date: Date) async throws
}

extension ClientAuthentication {
    /// No.
    public var usesAssertion: Bool { false }

    /// No.
    public var usesMutualTLS: Bool { false }
}

extension ClientAuthentication {
    /// Sees to it that a client that is to show a certificate has one, as far as that can be known.
    ///
    /// - Throws: ``OAuth2Error`` with the code `assertionFailed`.
    func checkCertificate(of client: NetworkClient) throws(OAuth2Error) {
        guard usesMutualTLS, (client.transport as? CurlTransport)?.hasClientIdentity == false else { return }
        throw OAuth2Error(
            .assertionFailed,
            "the client that asks the server has no certificate to show; make it with a TLSConfiguration that has a clientIdentity"
        )
    }
}
