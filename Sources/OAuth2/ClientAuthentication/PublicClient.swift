public import Foundation

/// A client that can't keep a secret, such as an application on its users' devices
/// ([RFC 6749 §2.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.1)).
///
/// It sends only its identifier.
public struct PublicClient: ClientAuthentication {
    /// The client's identifier.
    public let clientID: String

    /// Creates the authentication.
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
