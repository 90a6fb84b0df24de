public import Foundation

/// A client that can't keep a secret, such as an application on its users' devices
/// ([RFC 6749 §2.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.1)).
///
/// It sends only its identifier, or nothing to a server that identifies the client by its grant.
public struct PublicClient: ClientAuthentication {
    /// The client's identifier.
    public let clientID: String
    let sendsClientID: Bool

    /// Sets `client_id`, unless it's omitted.
    public func authenticate(_ request: inout TokenRequest, at date: Date) {
        if sendsClientID { request.set("client_id", clientID) }
    }
}

extension ClientAuthentication where Self == PublicClient {
    /// A client that can't keep a secret: `none`.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier. If the server has none, choose a name without secrets
    ///     that keeps the tokens of different clients apart.
    ///   - sendsClientID: `false` to send nothing, for a server that identifies the client by the
    ///     token of its grant, and rejects other parameters. The default is `true`.
    /// - Returns: The authentication.
    public static func none(clientID: String, sendsClientID: Bool = true) -> Self {
        Self(clientID: clientID, sendsClientID: sendsClientID)
    }
}
