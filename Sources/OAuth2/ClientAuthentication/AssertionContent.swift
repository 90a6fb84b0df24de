import Foundation
import OpenSSLCrypto
import TokenGeneration

/// The claims of an assertion ([RFC 7523 §3](https://www.rfc-editor.org/rfc/rfc7523#section-3)).
struct AssertionContent: Sendable {
    let issuer: String
    let subject: String
    private let lifetime: Int
    private let claims: JSONObject

    /// The lifetime of an assertion is in whole seconds, from one second to one day.
    init(issuer: String, subject: String, lifetime: Duration, claims: JSONObject = [:]) {
        self.issuer = issuer
        self.subject = subject
        self.lifetime = Int(min(max(lifetime, .seconds(1)), .seconds(86_400)).components.seconds)
        self.claims = claims
    }

    /// Returns the claims of one assertion, with a new `jti`.
    ///
    /// It has no `nbf`, because a server whose clock is a second behind would reject it.
    func claims(audience: String, at date: Date) throws(CryptoError) -> JSONObject {
        let issued = Int(clamping: date.timeIntervalSince1970)
        var content = claims
        content["iss"] = .string(issuer)
        content["sub"] = .string(subject)
        content["aud"] = .string(audience)
        content["jti"] = .string(try SecureRandom.bytes(count: 16).hexadecimal)
        content["iat"] = .number(JSONNumber(issued))
        content["exp"] = .number(JSONNumber(issued + lifetime))
        return content
    }
}

extension JSONObject {
    /// The header of a client's assertion, with the type of [RFC 10070
    /// §4](https://www.rfc-editor.org/rfc/rfc10070#section-4) unless `members` have another one.
    static func assertionHeader(_ members: JSONObject) -> JSONObject {
        var header: JSONObject = ["typ": "client-authentication+jwt"]
        for member in members { header[member.name] = member.value }
        return header
    }
}

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
