public import Foundation
public import TokenGeneration

extension MockAuthorizationServer {
    /// What a grant of a test's own entitles to.
    public struct ExtensionAnswer: Sendable {
        let subject: String
        let error: String?

        /// Tokens.
        ///
        /// - Parameter subject: Whom they act for.
        /// - Returns: The answer.
        public static func tokens(subject: String) -> Self { Self(subject: subject, error: nil) }

        /// An error.
        ///
        /// - Parameter code: The error code, such as `invalid_grant`.
        /// - Returns: The answer.
        public static func error(_ code: String) -> Self { Self(subject: "", error: code) }
    }

    /// Accepts JWTs of an issuer as grants from now on
    /// ([RFC 7523](https://www.rfc-editor.org/rfc/rfc7523)).
    ///
    /// - Parameters:
    ///   - issuer: Their `iss`.
    ///   - key: What they verify by.
    public func acceptAssertions(of issuer: String, key: VerificationKey) {
        handlers.assertions.trust(issuer, key)
    }

    /// Accepts a SAML assertion as a grant from now on
    /// ([RFC 7522](https://www.rfc-editor.org/rfc/rfc7522)).
    ///
    /// The server does not read it: it knows it by its octets.
    ///
    /// - Parameters:
    ///   - assertion: The assertion's XML.
    ///   - subject: Whom it entitles to act for.
    public func acceptSAMLAssertion(_ assertion: Data, subject: String) {
        handlers.assertions.trust(saml: assertion, of: subject)
    }

    /// Knows a grant of the test's own from now on.
    ///
    /// - Parameters:
    ///   - type: The grant's type.
    ///   - answer: Answers a request's parameters.
    public func onGrant(
        _ type: String,
        _ answer: @escaping @Sendable ([String: String]) throws -> ExtensionAnswer
    ) {
        handlers.assertions.add(type, answer)
    }
}
