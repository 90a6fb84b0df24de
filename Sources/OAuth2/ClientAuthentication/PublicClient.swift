public import Foundation

/// A client that can't keep a secret, such as a program on its users' machines: it only says its name
/// ([RFC 6749 §2.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.1)).
public struct PublicClient: ClientAuthentication {
    /// The client's identifier.
    public let clientID: String

    /// Makes the client.
    ///
    /// - Parameter clientID: The client's identifier.
    package init(clientID: String) {
        self.clientID = clientID
    }

    /// Sets `client_id`.
    ///
    /// - Parameters:
    ///   - request: The request to complete.
    ///   - date: Not used.
    public func authenticate(_ request: inout TokenRequest, at date: Date) {
        request.set("client_id", clientID)
    }
}

extension ClientAuthentication where Self == PublicClient {
    /// A client that can't keep a secret: `none`.
    ///
    /// - Parameter clientID: The client's identifier.
    /// - Returns: The authentication.
    public static func none(clientID: String) -> Self { Self(clientID: clientID) }
}
