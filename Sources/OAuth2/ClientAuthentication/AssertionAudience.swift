import Foundation

/// The audience of a client's assertion.
public struct AssertionAudience: Sendable {
    let value: @Sendable (TokenRequest) -> String

    /// The server's issuer identifier, as [RFC 10070
    /// §4](https://www.rfc-editor.org/rfc/rfc10070#section-4) and security profiles demand.
    public static let issuer = Self { $0.server.issuer }
    /// The token endpoint's URL, as older servers demand, even for requests to other endpoints.
    public static let tokenEndpoint = Self { $0.server.tokenEndpoint.absoluteString }
    /// The request's URL, as some servers demand at other endpoints than the token endpoint.
    public static let requestURL = Self { $0.endpoint.absoluteString }

    /// A custom audience.
    ///
    /// - Parameter value: The audience.
    /// - Returns: The audience.
    public static func custom(_ value: String) -> Self { Self { _ in value } }
}

extension TokenRequest {
    /// Sets the parameters of client authentication by assertion
    /// ([RFC 7523 §2.2](https://www.rfc-editor.org/rfc/rfc7523#section-2.2)).
    mutating func set(assertion: String, of clientID: String) {
        set("client_id", clientID)
        set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        set("client_assertion", assertion)
    }
}
