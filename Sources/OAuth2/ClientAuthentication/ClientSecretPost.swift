public import Foundation

/// Client authentication with the client's secret in the form
/// ([RFC 6749 §2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1)), for servers that
/// don't accept it in the header field.
public struct ClientSecretPost: ClientAuthentication {
    /// The client's identifier.
    public let clientID: String
    let secret: Secret

    /// Sets `client_id` and `client_secret`.
    public func authenticate(_ request: inout TokenRequest, at date: Date) {
        request.set("client_id", clientID)
        request.set("client_secret", secret.expose { $0 })
    }
}

extension ClientAuthentication where Self == ClientSecretPost {
    /// The client's secret in the form: `client_secret_post`.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier.
    ///   - secret: The client's secret.
    /// - Returns: The authentication.
    public static func clientSecretPost(clientID: String, secret: Secret) -> Self {
        Self(clientID: clientID, secret: secret)
    }
}
