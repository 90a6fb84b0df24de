import Networking
import Synchronization
import TokenGeneration

extension OAuth2Client {
    /// Requests tokens with a grant, without verifying the ID token.
    func issuedTokens(for grant: some Grant) async throws -> IssuedTokens {
        let bound = try key.bound()
        do {
            if let answer = try await redeem(
                grant,
                proof: bound?.generator,
                until: deadline,
                timeout: timing.timeout
            ) {
                return IssuedTokens(try answer.tokens(), boundKey: bound)
            }
        } catch {
            try Task.checkCancellation()
            throw error
        }
        guard let refreshToken = grant.refreshToken else {
            throw OAuth2Error(
                .reauthenticationRequired,
                "the grant has no credential: its code was used before, or the user hasn't signed in yet"
            )
        }
        return try await refreshes.tokens(
            refreshing: refreshToken,
            as: grant.identifier,
            within: timing.timeout,
            boundKey: bound
        ) { [self, deadline] token throws(OAuth2Error) in
            // The request may outlast the caller.
            try await refresh(token, of: grant, proof: bound?.generator, until: deadline)
        }
    }

    /// Requests new tokens with a refresh token
    /// ([RFC 6749 §6](https://www.rfc-editor.org/rfc/rfc6749#section-6)).
    ///
    /// The request continues if the caller is cancelled or has waited for ``OAuth2Timing/timeout``.
    /// The next call with the same refresh token gets its result, because the server may not accept
    /// that refresh token a second time.
    ///
    /// - Parameters:
    ///   - refreshToken: The refresh token. The server may replace it.
    ///   - scope: A part of the granted scope. The default, `nil`, requests all of it.
    ///   - resources: A part of the granted resources. The default, none, requests all of them.
    /// - Returns: The tokens. Use their refresh token for the next refresh.
    /// - Throws: ``OAuth2Error``; `CancellationError` if the task is cancelled.
    public func tokens(
        refreshing refreshToken: Secret,
        scope: String? = nil,
        resources: [String] = []
    ) async throws -> IssuedTokens {
        try await issuedTokens(for: RefreshTokenGrant(refreshToken: refreshToken, scope: scope, resources: resources))
    }

    /// Creates an authorization request, bound to the client's DPoP key if it has one.
    ///
    /// - Parameters:
    ///   - redirectURI: The redirect URI, exactly as registered; see ``LoopbackRedirectReceiver``.
    ///   - scope: The requested names, separated by spaces; `openid` requests an ID token.
    ///   - resources: The URIs of the services that the token is for.
    ///   - authorizationDetails: The details of the requested access.
    ///   - responseMode: The response mode. With ``ResponseMode/jwt``, the response is signed.
    ///   - additionalParameters: Parameters of extensions.
    /// - Returns: The request.
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest`, or `assertionFailed` if the key
    ///   or random numbers aren't available.
    public func authorizationRequest(
        redirectURI: String,
        scope: String? = nil,
        resources: [String] = [],
        authorizationDetails: [AuthorizationDetail] = [],
        responseMode: ResponseMode? = nil,
        additionalParameters: [String: String] = [:]
    ) throws(OAuth2Error) -> AuthorizationRequest {
        try AuthorizationRequest(
            clientID: clientAuthentication.clientID,
            redirectURI: redirectURI,
            scope: scope,
            resources: resources,
            authorizationDetails: authorizationDetails,
            dpopKeyThumbprint: try key.bound()?.generator.thumbprint,
            responseMode: responseMode,
            additionalParameters: additionalParameters
        )
    }

    // MARK: Requests

    /// The deadline of a request that starts now.
    var deadline: ContinuousClock.Instant { timing.timeSource.now() + timing.timeout }
}

/// The key that a client's tokens are bound to, which stays the same for the client's lifetime.
final class ClientKey: Sendable {
    let dpop: DPoPKey?
    private let key = Mutex<BoundKey?>(nil)

    /// A Boolean value that indicates whether bearer tokens are accepted despite a key.
    var insecurelyAcceptsBearerTokens: Bool { dpop?.insecurelyAcceptsBearerTokens ?? false }

    init(_ dpop: DPoPKey?) {
        self.dpop = dpop
    }

    func bound() throws(OAuth2Error) -> BoundKey? {
        try key.withLock { key throws(OAuth2Error) in
            if key == nil { key = try dpop?.bound(to: nil) }
            return key
        }
    }
}
