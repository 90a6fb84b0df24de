import Foundation
import FoundationNetworking
import Networking
import TokenGeneration

/// Requests to the token endpoint.
extension OAuth2Client {
    /// Sends token requests until one succeeds, a failure is final, or the time is up.
    ///
    /// `isSingleUse` is true if the request carries a credential that works only once. `sendBy` is
    /// the time after which the request isn't sent, because another host may send the token.
    /// `timeout` is that of one request, or `nil` for the network client's.
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
        exchange.isOfClient = true
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
            throw error as? OAuth2Error
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
                to: (try request.urlRequest, request.secrets),
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
                    requestedType: value("requested_token_type"),
                    hiding: request.secrets
                )
            )
        } catch {
            guard let refreshToken = TokenAnswer.refreshToken(in: response.body) else { throw error }
            // The server counts this token as issued, even if the rest is unusable.
            return .refreshTokenOnly(refreshToken, error)
        }
    }

    // MARK: Grants

    /// Requests tokens with a grant, and retries once with its renewed parameters if rejected.
    ///
    /// - Returns: The issued tokens, or `nil` if the grant has only a refresh token.
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
            if !error.isAboutSentRequest { grant.parametersWereNotSent() }
            refusal = error
        }
        guard [.reauthenticationRequired, .requestRejected].contains(refusal.code),
            let form = try await parameters({ try await grant.renewedParameters(at: serverDate()) })
        else { throw Self.softened(refusal, of: grant) }
        do { return try await request(form) } catch { throw Self.softened(error, of: grant) }
    }

    /// Requests tokens with a grant's refresh token, and retries once with fewer parameters.
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
        let more = try await parameters { try grant.refreshParameters() } ?? []
        let refusal: OAuth2Error
        do {
            return try await request(form + more)
        } catch { refusal = error }
        guard refusal.code == .requestRejected, let fewer = grant.reducedRefreshParameters(after: refusal) else {
            throw refusal
        }
        return try await request(form + fewer)
    }

    /// Returns the time of the server's clock, as estimated from its responses.
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

    /// Turns the rejection of a repeatable grant into `requestRejected`, so it can be used again.
    ///
    /// Servers also respond with invalid_grant to an assertion from a client with a different
    /// clock. The user can't fix that, and a service must not stop permanently.
    private static func softened(_ error: OAuth2Error, of grant: any Grant) -> OAuth2Error {
        guard error.code == .reauthenticationRequired, grant.isRepeatable else { return error }
        var error = error.coded(.requestRejected)
        error.isPossiblyLostRotation = false
        return error
    }
}
