public import Foundation

/// A grant with the code from an ``AuthorizationRequest``'s response
/// ([RFC 6749 §4.1.3](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3)).
///
/// A code works only once: a second call of ``parameters(at:)`` returns `nil`, and only a refresh
/// token can renew the tokens. If the code certainly wasn't sent, for example because the
/// connection failed, the grant can be used again.
public struct AuthorizationCodeGrant: Grant {
    /// The grant's type and a digest of the code.
    public let identifier: String
    /// The services that this token is for, a part of those that were requested
    /// ([RFC 8707 §2.2](https://www.rfc-editor.org/rfc/rfc8707#section-2.2)).
    ///
    /// The default, an empty array, requests all of them.
    public var resources: [String] = []
    /// The ID token that the authorization request asked for.
    let expectedIDToken: ExpectedIDToken
    private let code: Secret
    private let redirectURI: String
    private let codeVerifier: CodeVerifier
    private let isUsed = SharedValue(false)

    /// Creates a grant without ``AuthorizationRequest/grant(from:of:)``.
    ///
    /// - Parameters:
    ///   - code: The code.
    ///   - redirectURI: The redirect URI of the authorization request.
    ///   - codeVerifier: The code verifier of the authorization request.
    ///   - idToken: The ID token that the authorization request asked for.
    public init(code: Secret, redirectURI: String, codeVerifier: CodeVerifier, idToken: ExpectedIDToken) {
        expectedIDToken = idToken
        self.code = code
        self.redirectURI = redirectURI
        self.codeVerifier = codeVerifier
        identifier = "authorization_code \(code.fingerprint.hexadecimal)"
    }

    /// Always `false`: the user would have to authorize the client again.
    public var isRepeatable: Bool { false }

    /// Returns `grant_type`, code, redirect URI and code verifier; `nil` after the first use.
    ///
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest` for a resource that isn't a URI.
    public func parameters(at date: Date) throws -> [(name: String, value: String)]? {
        let access = try RequestedAccess(resources: resources).fields()
        guard !isUsed.replace(with: true) else { return nil }
        return [
            ("grant_type", "authorization_code"), ("code", code.expose { $0 }), ("redirect_uri", redirectURI),
            ("code_verifier", codeVerifier.value.expose { $0 }),
        ] + access
    }

    /// Allows another use of the code.
    public func parametersWereNotSent() { isUsed.replace(with: false) }
}
