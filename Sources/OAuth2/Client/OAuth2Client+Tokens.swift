import Foundation
import FoundationNetworking
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
        guard let refreshToken = grant.details?.refreshToken else {
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

    var deadline: ContinuousClock.Instant { timing.timeSource.now() + timing.timeout }

    // `isSingleUse`: the request carries a credential that works only once. `sendBy`: the time
    // after which another host may send the token.
    func requestToken(
        form: [(name: String, value: String)],
        proof: DPoPProofGenerator?,
        isSingleUse: Bool,
        until deadline: ContinuousClock.Instant,
        sendBy: ContinuousClock.Instant? = nil,
        timeout: Duration? = nil
    ) async throws(OAuth2Error) -> TokenAnswer {
        let server = try await server
        var exchange = EndpointExchange(
            place: "the token endpoint",
            url: server.tokenEndpoint,
            client: client,
            timing: timing,
            hints: hints
        )
        exchange.usesAssertion = clientAuthentication.usesAssertion
        exchange.credential = .client
        exchange.isForTokens = true
        do {
            return try await exchange.attempts(isSingleUse: isSingleUse, until: deadline) { date, nonce in
                var request = TokenRequest(server: server, form: form)
                try await authenticate(&request, at: date, proof: proof, nonce: nonce)
                if let sendBy, timing.timeSource.now() >= sendBy {
                    request.assertionUse?.release()
                    throw OAuth2Error.tooLateToSend
                }
                journal.add(.requested)
                do throws(OAuth2Error) { return try await send(request, by: exchange, proof, timeout) } catch {
                    var error = error
                    error.isAboutSentRequest = (error.cause as? NetworkError)?.isUnprocessed != true
                    throw request.assertionUse?.failure(error) ?? error
                }
            }
        } catch {
            throw (error as? OAuth2Error).map(clientAuthentication.explaining)
                ?? OAuth2Error(.serverUnreachable, "the token endpoint couldn't be reached", cause: error)
        }
    }

    private func send(
        _ request: TokenRequest,
        by exchange: EndpointExchange,
        _ proof: DPoPProofGenerator?,
        _ timeout: Duration?
    ) async throws(OAuth2Error) -> TokenAnswer {
        let requested = timing.timeSource.now()
        let response: HTTPResponse
        do {
            response = try await exchange.response(
                to: try request.urlRequest,
                timeout: timeout,
                observers: journal.observers
            )
        } catch {
            throw error as? OAuth2Error
                ?? OAuth2Error(.serverUnreachable, "the token endpoint couldn't be reached", cause: error)
        }
        func value(_ name: String) -> String? { request.form.first { $0.name == name }?.value }
        do throws(OAuth2Error) {
            return .tokens(
                try TokenResponse(
                    parsing: response.body,
                    status: response.status,
                    requested: requested,
                    proof: proof,
                    insecurelyAcceptsBearerTokens: key.insecurelyAcceptsBearerTokens,
                    acceptsMissingType: request.server.omitsTokenType,
                    isExchange: value("grant_type") == TokenExchangeGrant.type,
                    requestedType: value("requested_token_type")
                )
            )
        } catch {
            guard let refreshToken = TokenAnswer.refreshToken(in: response.body) else { throw error }
            // The server counts this token as issued, even if the rest is unusable.
            return .refreshTokenOnly(refreshToken, error)
        }
    }

    // MARK: Grants

    /// Retries once with renewed parameters; returns `nil` if the grant has only a refresh token.
    func redeem(
        _ grant: any Grant,
        proof: DPoPProofGenerator?,
        until deadline: ContinuousClock.Instant,
        timeout: Duration? = nil
    ) async throws(OAuth2Error) -> TokenAnswer? {
        let request = { (form) async throws(OAuth2Error) in
            try await requestToken(
                form: form,
                proof: proof,
                isSingleUse: !grant.isRepeatable,
                until: deadline,
                timeout: timeout
            )
        }
        guard let form = try await parameters({ try await grant.parameters(at: serverDate()) }) else { return nil }
        let refusal: OAuth2Error
        do {
            return try await request(form)
        } catch {
            if !error.isAboutSentRequest { grant.details?.parametersWereNotSent() }
            refusal = error
        }
        guard [.reauthenticationRequired, .requestRejected].contains(refusal.code),
            let form = try await parameters({ try await grant.details?.renewedParameters(at: serverDate()) })
        else { throw Self.softened(refusal, of: grant) }
        do { return try await request(form) } catch { throw Self.softened(error, of: grant) }
    }

    func refresh(
        _ refreshToken: Secret,
        of grant: any Grant,
        proof: DPoPProofGenerator?,
        until deadline: ContinuousClock.Instant,
        sendBy: ContinuousClock.Instant? = nil,
        timeout: Duration? = nil
    ) async throws(OAuth2Error) -> TokenAnswer {
        let request = { (form) async throws(OAuth2Error) in
            try await requestToken(
                form: form,
                proof: proof,
                isSingleUse: timing.rotation.isRotating,
                until: deadline,
                sendBy: sendBy,
                timeout: timeout
            )
        }
        let form = [("grant_type", "refresh_token"), ("refresh_token", refreshToken.expose { $0 })]
        let more = try await parameters { try grant.details?.refreshParameters() } ?? []
        let refusal: OAuth2Error
        do {
            return try await request(form + more)
        } catch { refusal = error }
        guard refusal.code == .requestRejected, let fewer = grant.details?.reducedRefreshParameters(after: refusal)
        else {
            throw await refused(refusal)
        }
        do { return try await request(form + fewer) } catch { throw await refused(error) }
    }

    // A server also responds with invalid_request to a request that it can't read, so only the
    // server's setting makes it the end of a grant.
    private func refused(_ error: OAuth2Error) async -> OAuth2Error {
        guard error.code == .requestRejected, error.serverCode == "invalid_request", error.status == 400 else {
            return error
        }
        guard (try? await server)?.endsGrantsWithInvalidRequest == true else {
            return error.adding(
                "if the server rejects expired refresh tokens so, set its `endsGrantsWithInvalidRequest`"
            )
        }
        return error.coded(.reauthenticationRequired)
    }

    private func serverDate() async throws(OAuth2Error) -> Date {
        HTTPOrigin(try await server.tokenEndpoint).map { hints.date(for: $0) } ?? timing.timeSource.date()
    }

    private func parameters(
        _ body: () async throws -> [(name: String, value: String)]?
    ) async throws(OAuth2Error) -> [(name: String, value: String)]? {
        do { return try await body() } catch let error as OAuth2Error {
            throw error
        } catch {
            throw OAuth2Error(.grantFailed, "the grant's parameters can't be created", cause: error)
        }
    }

    // Servers also respond with invalid_grant to an assertion from a client with a different
    // clock. The user can't fix that, and a service must not stop permanently.
    private static func softened(_ error: OAuth2Error, of grant: any Grant) -> OAuth2Error {
        guard error.code == .reauthenticationRequired, grant.isRepeatable else { return error }
        var error = error.coded(.requestRejected)
        error.isPossiblyLostRotation = false
        return error
    }
}

/// The key that a client's tokens are bound to, which stays the same for the client's lifetime.
final class ClientKey: Sendable {
    let dpop: DPoPKey?
    private let key = Mutex<BoundKey?>(nil)

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
