/// A rule for the ID token that an ``OAuth2Client`` gets with a user's tokens.
///
/// ```swift
/// let tokens = try await oauth.tokens(
///     for: grant,
///     idToken: .verified(by: verifier)
/// )
/// print(tokens.idToken?.registered.subject ?? "")
/// ```
public struct IDTokenRule: Sendable {
    enum Wrapped {
        case notRequested
        case verified(IDTokenVerifier)
        case skipped
    }

    let wrapped: Wrapped

    /// The rule for requests without the scope `openid`, which return no ID token.
    ///
    /// If an authorization request has that scope, the client throws an error before it sends the
    /// code. For a device, the client ignores the ID token.
    public static let notRequested = IDTokenRule(wrapped: .notRequested)

    /// Requires a valid ID token.
    ///
    /// The client also checks `nonce`, `max_age` and `at_hash`.
    ///
    /// - Parameter verifier: The verifier for the provider's ID tokens.
    /// - Returns: The rule.
    public static func verified(by verifier: IDTokenVerifier) -> IDTokenRule {
        IDTokenRule(wrapped: .verified(verifier))
    }

    /// Ignores the ID token, so that ``IssuedTokens/idToken`` is `nil`.
    ///
    /// - Warning: The user's identity is then unknown. Use it if you need only the access token.
    public static let skipIDTokenCheck = IDTokenRule(wrapped: .skipped)
}

/// The ID token that an authorization request asks for, if any.
public struct ExpectedIDToken: Sendable {
    struct Request {
        /// The nonce, as a secret so that it's never printed.
        let nonce: Secret?
        let maximumAuthenticationAge: Duration?
    }

    /// The details of the request for an ID token, or `nil` if the request doesn't ask for one.
    let request: Request?

    /// The expectation for a request without the scope `openid`.
    public static let none = ExpectedIDToken(request: nil)

    /// Expects the ID token of a request with the scope `openid`.
    ///
    /// - Parameters:
    ///   - nonce: The request's nonce, or `nil` if it has none.
    ///   - maximumAuthenticationAge: The request's `max_age`, or `nil` if it has none.
    /// - Returns: The expectation.
    public static func requested(nonce: String?, maximumAuthenticationAge: Duration? = nil) -> ExpectedIDToken {
        ExpectedIDToken(
            request: Request(nonce: nonce.map(Secret.init), maximumAuthenticationAge: maximumAuthenticationAge)
        )
    }
}
