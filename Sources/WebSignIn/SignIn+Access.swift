import Foundation
import Networking
import OAuth2

/// The decision about a request for a page or an API of the application.
public enum SignInAccess: Sendable {
    /// The user has signed in, and meets the requirement.
    case granted(UserSession)
    /// The response to send instead: a redirect to the sign-in for pages, or 401, 403 or 503.
    case refused(SignInResponse)
}

extension SignIn {
    /// Returns the session of a request's cookie, for pages that also show without one.
    ///
    /// - Parameter request: The request.
    /// - Returns: The session, or `nil` if the user isn't signed in.
    /// - Throws: ``SignInError`` with the code `storeFailed`.
    public func session(for request: SignInRequest) async throws(SignInError) -> UserSession? {
        guard let id = request.cookies[cookieFormat.name(SessionBook.cookieName)] else { return nil }
        return try await book.session(id)
    }

    /// Decides about a request for a page or an API that needs a user.
    ///
    /// - A page that a person opens is redirected to the sign-in, and returns afterwards. Other
    ///   requests get 401, because a script can't sign in.
    /// - A request that can change something (any method but GET, HEAD, OPTIONS and TRACE, and the
    ///   opening of a WebSocket) must come from a page of this origin: `Sec-Fetch-Site`, or without
    ///   it `Origin`, says so. Without both, it needs a field `X-CSRF`. Others get 403.
    /// - If the authentication is too weak or too old, the user confirms it at the provider, and
    ///   the session gets a new identifier. Requests that aren't pages get 401 with
    ///   `insufficient_user_authentication` ([RFC 9470](https://www.rfc-editor.org/rfc/rfc9470)).
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - requirement: The requirement. The default is any session.
    /// - Returns: The decision. Log the ``SignInResponse/error`` of a refusal.
    public func access(
        to request: SignInRequest,
        requiring requirement: SignInRequirement = .signedIn
    ) async -> SignInAccess {
        do {
            try checkOrigin(of: request)
            guard let session = try await session(for: request) else { return .refused(unauthenticated(request)) }
            guard !session.meets(requirement, at: now(), leeway: SessionBook.leeway) else { return .granted(session) }
            guard request.isNavigation, let provider = providers.first(where: { $0.name == session.provider }) else {
                return .refused(stepUp(requirement, request))
            }
            let path = ReturnPath(request.target, origin: origin, besides: options.path)
            return .refused(
                try await begin(
                    request,
                    at: provider,
                    returnPath: path,
                    requirement: requirement,
                    user: session.record
                )
            )
        } catch {
            return .refused(refusal(error, request))
        }
    }

    /// Checks that a page of this origin sent a request that can change something, for routes that
    /// also serve users without a session.
    ///
    /// - Parameter request: The request.
    /// - Throws: ``SignInError`` with the code `crossSite`.
    public func checkOrigin(of request: SignInRequest) throws(SignInError) {
        guard request.isUnsafe, !request.isSameOrigin(as: origin) else { return }
        throw Self.crossSite
    }

    static let crossSite = SignInError(
        .crossSite,
        "another site's page, or no browser, sent the request; scripts can add the field X-CSRF"
    )

    /// Returns the response to a request that failed because of the sign-in: with a
    /// ``SignInError``, or because the user's tokens have ended; for other errors `nil`.
    ///
    /// - Parameters:
    ///   - error: An error of this type, or of a request to an API.
    ///   - request: The request of the browser.
    /// - Returns: A page or a status for a ``SignInError``; for tokens that have ended, a redirect
    ///   to the sign-in, or 401.
    public func response(to error: any Error, for request: SignInRequest) -> SignInResponse? {
        var next: (any Error)? = error
        for _ in 0..<8 {
            switch next {
            case let found as SignInError: return refusal(found, request)
            case let found as OAuth2Error where found.code == .reauthenticationRequired:
                return unauthenticated(request)
            case let found as OAuth2Error: next = found.cause
            case let found as NetworkError: next = Self.reason(of: found.retry) ?? found.cause
            case let found as ServerError: next = Self.reason(of: found.retry)
            default: return nil
            }
        }
        return nil
    }

    private static func reason(of outcome: Retry.Outcome?) -> (any Error)? {
        if case .custom(let error) = outcome?.reason { error } else { nil }
    }

    private func unauthenticated(_ request: SignInRequest) -> SignInResponse {
        if request.isNavigation { return .redirect(to: signInPath(returningTo: request.target)) }
        return refusal(SignInError(.signedOut, "the request has no session, or it has ended"), request)
    }

    private func stepUp(_ requirement: SignInRequirement, _ request: SignInRequest) -> SignInResponse {
        var challenge = #"Bearer error="insufficient_user_authentication""#
        let classes = requirement.acr.joined(separator: " ")
        if !classes.isEmpty, !classes.contains(where: { "\"\\".contains($0) }) {
            challenge += #", acr_values="\#(classes)""#
        }
        if let seconds = requirement.maximumSeconds { challenge += ", max_age=\(seconds)" }
        let error = SignInError(.stepUpRequired, "the route requires a stronger or more recent authentication")
        return refusal(error, request).setting("WWW-Authenticate", challenge)
    }
}
