import Foundation

/// Whom a client's assertion is addressed to.
public struct AssertionAudience: Sendable {
    let value: @Sendable (TokenRequest) -> String

    /// The server's issuer identifier, as security profiles demand.
    public static let issuer = Self { $0.server.issuer }
    /// The token endpoint's URL, as older servers demand, wherever the request goes.
    public static let tokenEndpoint = Self { $0.server.tokenEndpoint.absoluteString }
    /// The URL that the request goes to, as some servers demand at other endpoints than that for tokens.
    public static let requestURL = Self { $0.endpoint.absoluteString }

    /// A text of the server's own choice.
    ///
    /// - Parameter value: The audience.
    /// - Returns: That audience.
    public static func custom(_ value: String) -> Self { Self { _ in value } }
}

extension TokenRequest {
    /// Sets what proves the client by an assertion ([RFC 7523 §2.2](https://www.rfc-editor.org/rfc/rfc7523#section-2.2)).
    mutating func set(assertion: String, of clientID: String) {
        set("client_id", clientID)
        set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        set("client_assertion", assertion)
    }
}
