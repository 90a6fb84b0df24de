public import Foundation
import Networking

/// The client's secret in the `Authorization` header field
/// ([RFC 6749 §2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1)).
public struct ClientSecretBasic: ClientAuthentication {
    /// The client's identifier.
    public let clientID: String
    private let secret: Secret

    /// Makes the authentication.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier.
    ///   - secret: The client's secret.
    public init(clientID: String, secret: Secret) {
        self.clientID = clientID
        self.secret = secret
    }

    /// Sets the `Authorization` header field: identifier and secret are form-encoded before they are joined, as the RFC
    /// demands and some clients forget.
    ///
    /// - Parameters:
    ///   - request: The request to complete.
    ///   - date: Not used.
    public func authenticate(_ request: inout TokenRequest, at date: Date) {
        let pair = secret.expose { "\(FormURLEncoded.encode(clientID)):\(FormURLEncoded.encode($0))" }
        request.headers["Authorization"] = "Basic \(Data(pair.utf8).base64EncodedString())"
    }
}

extension ClientAuthentication where Self == ClientSecretBasic {
    /// The client's secret in the `Authorization` header field: `client_secret_basic`.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier.
    ///   - secret: The client's secret.
    /// - Returns: The authentication.
    public static func clientSecretBasic(clientID: String, secret: Secret) -> Self {
        Self(clientID: clientID, secret: secret)
    }
}
