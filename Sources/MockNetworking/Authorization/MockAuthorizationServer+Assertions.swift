public import Foundation
public import TokenGeneration

extension MockAuthorizationServer {
    /// The response to a custom grant.
    @nonexhaustive
    public enum ExtensionAnswer: Sendable {
        /// Issues tokens for a subject.
        case tokens(subject: String)
        /// Responds with an error code, such as `invalid_grant`.
        case error(String)
    }

    /// Accepts JWTs of an issuer as grants ([RFC 7523](https://www.rfc-editor.org/rfc/rfc7523)).
    ///
    /// - Parameters:
    ///   - issuer: The `iss` of the JWTs.
    ///   - key: The key that verifies the JWTs.
    public func acceptAssertions(of issuer: String, key: VerificationKey) {
        endpoints.assertions.trust(issuer, key)
    }

    /// Accepts a SAML assertion as a grant ([RFC 7522](https://www.rfc-editor.org/rfc/rfc7522)).
    ///
    /// The server doesn't parse the assertion, but compares its bytes.
    ///
    /// - Parameters:
    ///   - assertion: The assertion's XML.
    ///   - subject: The subject of the tokens.
    public func acceptSAMLAssertion(_ assertion: Data, subject: String) {
        endpoints.assertions.trust(saml: assertion, of: subject)
    }

    /// Adds a custom grant.
    ///
    /// - Parameters:
    ///   - type: The grant type.
    ///   - answer: Returns the response to a request's parameters.
    public func onGrant(
        _ type: String,
        _ answer: @escaping @Sendable ([String: String]) throws -> ExtensionAnswer
    ) {
        endpoints.assertions.add(type, answer)
    }
}
