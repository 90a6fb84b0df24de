public import Foundation

/// An authorization server: who it is and where its endpoints are
/// ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)).
public struct AuthorizationServer: Sendable, Hashable {
    /// The server's issuer identifier, exactly as the server writes it; assertions are addressed to it.
    public let issuer: String
    /// Where tokens are requested.
    public let tokenEndpoint: URL

    /// Makes a server from what is known about it.
    ///
    /// - Parameters:
    ///   - issuer: The server's issuer identifier.
    ///   - tokenEndpoint: Where tokens are requested. It must be `https`; only a loopback address may be `http`.
    public init(issuer: String, tokenEndpoint: URL) {
        self.issuer = issuer
        self.tokenEndpoint = tokenEndpoint
    }
}
