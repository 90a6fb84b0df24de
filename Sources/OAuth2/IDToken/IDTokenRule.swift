/// A rule for how an ``OAuth2Client`` treats the ID token that comes with the tokens of a code flow or of a device.
///
/// ```swift
/// let tokens = try await oauth.tokens(for: grant, idToken: .verified(by: verifier))
/// print(tokens.idToken?.registered.subject ?? "")
/// ```
public struct IDTokenRule: Sendable {
    enum Wrapped {
        case notRequested
        case verified(IDTokenVerifier)
        case skipped
    }

    let wrapped: Wrapped

    /// The request had no scope `openid`, so there is no ID token.
    ///
    /// If it had, the client throws an error before it sends the code. For a device, the client doesn't look at the ID token.
    public static let notRequested = IDTokenRule(wrapped: .notRequested)

    /// There must be an ID token, and it must be good.
    ///
    /// The client checks it against the request (`nonce`, `max_age`) and the access token (`at_hash`).
    ///
    /// - Parameter verifier: The verifier for the provider's ID tokens.
    /// - Returns: The rule.
    public static func verified(by verifier: IDTokenVerifier) -> IDTokenRule {
        IDTokenRule(wrapped: .verified(verifier))
    }

    /// The client doesn't look at the ID token, and ``IssuedTokens/idToken`` is `nil`.
    ///
    /// - Warning: Nothing then says which user has signed in. It is for applications that only use the access token.
    public static let skipIDTokenCheck = IDTokenRule(wrapped: .skipped)
}

/// The ID token that the request of an authorization code asked for, if any.
public struct ExpectedIDToken: Sendable {
    struct Request {
        /// A secret, so that nothing prints it.
        let nonce: Secret?
        let maximumAuthenticationAge: Duration?
    }

    /// The request for the ID token; `nil` if none was requested.
    let request: Request?

    /// The request's scope doesn't have `openid`.
    public static let none = ExpectedIDToken(request: nil)

    /// The request's scope has `openid`.
    ///
    /// - Parameters:
    ///   - nonce: The nonce of the request; `nil` if it had none.
    ///   - maximumAuthenticationAge: The `max_age` of the request; `nil` if it had none.
    /// - Returns: The expectation.
    public static func requested(nonce: String?, maximumAuthenticationAge: Duration? = nil) -> ExpectedIDToken {
        ExpectedIDToken(
            request: Request(nonce: nonce.map(Secret.init), maximumAuthenticationAge: maximumAuthenticationAge)
        )
    }
}
