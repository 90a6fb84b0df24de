import Networking
import Synchronization
import TokenGeneration

extension OAuth2Client {
    /// Gets the tokens that a grant entitles to, without a check of the ID token.
    ///
    /// - Parameter grant: The grant.
    /// - Returns: The tokens.
    /// - Throws: ``OAuth2Error``; `CancellationError` if the task is cancelled.
    func issuedTokens(for grant: some Grant) async throws -> IssuedTokens {
        let bound = try key.bound()
        let tokens = try await cancellable { () async throws(OAuth2Error) -> IssuedTokens? in
            let answer = try await tokenEndpoint.redeem(grant, proof: bound?.generator, until: deadline)
            return try answer.map { answer throws(OAuth2Error) in
                IssuedTokens(try answer.tokens(), boundKey: bound)
            }
        }
        if let tokens { return tokens }
        guard let refreshToken = grant.refreshToken else {
            throw OAuth2Error(
                .reauthenticationRequired,
                "the grant has nothing to ask with: its code was used before, or nobody has granted anything yet"
            )
        }
        var endpoint = tokenEndpoint
        // The request may take longer than the caller waits.
        endpoint.requestTimeout = nil
        return try await refreshes.tokens(
            refreshing: refreshToken,
            as: grant.identifier,
            within: timing.timeout,
            boundKey: bound
        ) { [endpoint, deadline] token throws(OAuth2Error) in
            try await endpoint.refresh(token, of: grant, proof: bound?.generator, until: deadline)
        }
    }

    /// Gets new tokens with a refresh token ([RFC 6749 §6](https://www.rfc-editor.org/rfc/rfc6749#section-6)).
    ///
    /// The request goes on when the caller is cancelled, or has waited for as long as ``OAuth2Timing/timeout`` says: what the server has
    /// issued is there for the next call with the same refresh token, which the server may not take any more.
    ///
    /// - Parameters:
    ///   - refreshToken: The refresh token. Servers may replace it; the new one is then among the tokens.
    ///   - scope: A part of what was granted; `nil` for all of it.
    ///   - resources: The services that this token is for; all of those that were granted if empty.
    /// - Returns: The tokens; the refresh token among them is the one to use next.
    /// - Throws: ``OAuth2Error``; `CancellationError` if the task is cancelled.
    public func tokens(
        refreshing refreshToken: Secret,
        scope: String? = nil,
        resources: [String] = []
    ) async throws -> IssuedTokens {
        try await issuedTokens(for: RefreshTokenGrant(refreshToken: refreshToken, scope: scope, resources: resources))
    }

    /// Makes a request for a user's authorization, whose code will be bound to the client's key if it has one.
    ///
    /// - Parameters:
    ///   - redirectURI: Where the answer is to come, exactly as it was registered; see ``LoopbackRedirectReceiver``.
    ///   - scope: The scope asked for, names separated by spaces; with `openid` there is an ID token.
    ///   - resources: The URIs of the services that the token is for.
    ///   - authorizationDetails: What the token is to entitle to.
    ///   - responseMode: How the answer is to come back; signed with ``ResponseMode/jwt``.
    ///   - additionalParameters: Parameters of extensions.
    /// - Returns: The request.
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest`, or `assertionFailed` if there is no key or no random number.
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

    // MARK: How it asks

    /// Where tokens are asked for.
    var tokenEndpoint: TokenEndpoint {
        var endpoint = TokenEndpoint(
            location: .known(server),
            clientAuthentication: clientAuthentication,
            client: client,
            timing: timing,
            dpop: key.dpop,
            journal: TokenJournal(),
            hints: hints
        )
        endpoint.requestTimeout = timing.timeout
        return endpoint
    }

    /// When the time for a request ends that begins now.
    var deadline: ContinuousClock.Instant { timing.timeSource.now() + timing.timeout }

    /// Whoever is cancelled learns that, and not that the server could not be asked.
    func cancellable<Value>(_ body: () async throws(OAuth2Error) -> Value) async throws -> Value {
        do { return try await body() } catch {
            try Task.checkCancellation()
            throw error
        }
    }
}

/// The key that a client's tokens are bound to: the same one as long as the client lives.
final class ClientKey: Sendable {
    let dpop: DPoPKey?
    private let key = Mutex<BoundKey?>(nil)

    init(_ dpop: DPoPKey?) {
        self.dpop = dpop
    }

    func bound() throws(OAuth2Error) -> BoundKey? {
        guard let dpop else { return nil }
        let result: Result<BoundKey, OAuth2Error> = key.withLock { key in
            Result { () throws(OAuth2Error) in
                if let key { return key }
                let new = try dpop.bound(to: nil)
                key = new
                return new
            }
        }
        return try result.get()
    }
}
