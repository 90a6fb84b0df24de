import Foundation
public import Networking
import Synchronization
import TokenGeneration

extension OAuth2Authenticator {
    /// The maximum number of origins for which an event reports that they get no token.
    private static let withheldLimit = 64

    /// Decides whether another attempt with a token can help a failed request; see the type.
    ///
    /// The action is `none` if the failure isn't about the token. `noRetry` has an ``OAuth2Error``
    /// as the reason. A `NetworkClient` doesn't need this method.
    public func evaluateFailedRequest(_ failure: FailedRequest) async -> Retry.Action {
        if let response = failure.response, failure.request.headers["DPoP"] != nil,
            HTTPOrigin(response.url) == HTTPOrigin(failure.request.url)
        {
            let age = failure.context.retryState.started.map { timing.timeSource.now() - $0 }
            hints.note(response.headers, from: failure.request.url, age: age)
        }
        return action(after: failure)
    }

    func action(after failure: FailedRequest) -> Retry.Action {
        let (request, context, url) = (failure.request, failure.context, failure.request.url)
        if failure.error is CancellationError || (failure.error as? NetworkError)?.code == .cancelled { return .none }
        guard let response = failure.response else { return .none }
        if let reason = withheldReason(request, response) {
            journal.add(.refused)
            return .noRetry(.custom(reason))
        }
        guard
            let credential = RequestCredential(authorization: request.headers["Authorization"]),
            let source = sources.first(where: { $0.isKnown(credential.fingerprint) })
        else { return .none }
        // The target of a redirect never had the token, so its response says nothing about it.
        if HTTPOrigin(response.url) != HTTPOrigin(url) { return .none }
        let refusal = ResourceRefusal(
            status: response.status,
            headers: response.headers,
            body: response.body,
            isDPoP: credential.isDPoP
        )
        let earlier = context.retryState.authenticationErrors.compactMap {
            ResourceRefusal($0, isDPoP: credential.isDPoP)?.kind
        }
        let action = action(
            for: refusal,
            Attempt(
                request: request,
                response: response,
                credential: credential,
                earlier: earlier,
                state: context.retryState
            ),
            source
        )
        switch action {
        case .retry, .retryAfter: journal.add(.retried)
        case .noRetry: journal.add(.refused)
        case .none: break
        }
        return action
    }

    /// Returns the reason why a rejected request had no token, if it's that the application doesn't
    /// name its origin.
    private func withheldReason(_ request: HTTPRequest, _ response: HTTPResponse) -> OAuth2Error? {
        guard response.status == 401, request.headers["Authorization"] == nil, let origin = HTTPOrigin(request.url),
            HTTPOrigin(response.url) == origin, (try? resources.covers(origin)) == false,
            // The response may be about the request's signature (RFC 9421 §5).
            response.headers["Accept-Signature"] == nil
        else { return nil }
        let fields = response.headers.values(for: "WWW-Authenticate").joined(separator: ", ")
        let challenge = AuthenticationChallenge.parse(fields).first { $0.isOfScheme("Bearer") || $0.isOfScheme("DPoP") }
        guard let challenge else { return nil }
        let isFirst = withheld.withLock { $0.count < Self.withheldLimit && $0.insert(origin).inserted }
        if isFirst { journal.add(.withheld(origin: origin.description)) }
        var error = OAuth2Error(
            .originNotCovered,
            "the request got no token, because the authenticator's `resources` don't have \(origin.text), only "
                + "\(resources.text); add the origin if the token is meant for it",
            status: response.status
        )
        error.challenge = challenge
        return error
    }

    fileprivate struct Attempt {
        let request: HTTPRequest
        let response: HTTPResponse
        let credential: RequestCredential
        /// The reasons why the operation's earlier attempts were rejected.
        let earlier: [ResourceRefusal.Kind]
        let state: Retry.State
    }

    private func action(
        for refusal: ResourceRefusal,
        _ attempt: Attempt,
        _ source: CachedTokenSource
    ) -> Retry.Action {
        switch refusal.kind {
        case .unrelated:
            return .none
        case .nonceNeeded:
            return nonceAction(attempt)
        case .proofRejected:
            return proofAction(attempt)
        case .stepUpRequired:
            return demandAction(.stepUpRequired, refusal, attempt, source)
        case .insufficientScope:
            return demandAction(.insufficientScope, refusal, attempt, source)
        case .forbidden:
            guard options.insecurelyTreatsForbiddenAsInvalidToken else { return .none }
        case .tokenRejected, .unclear: break
        }
        // A rejected nonce or proof doesn't mean that the token was rejected.
        let kinds: Set<ResourceRefusal.Kind> = [.tokenRejected, .forbidden]
        var refused = TokenLifecycle.RefusedRequest(
            attempt.credential.fingerprint,
            origin: HTTPOrigin(attempt.request.url)?.description ?? "",
            earlier: attempt.earlier.count { kinds.contains($0) },
            state: attempt.state
        )
        refused.isUnclear = refusal.kind == .unclear
        return source.refused(refused)
    }

    // MARK: Proofs

    private func nonceAction(_ attempt: Attempt) -> Retry.Action {
        func end(_ code: OAuth2Error.Code, _ message: String) -> Retry.Action {
            .noRetry(.custom(OAuth2Error(code, message, status: attempt.response.status)))
        }
        guard let nonce = attempt.response.headers["DPoP-Nonce"], !nonce.isEmpty else {
            return end(.missingNonce, "the resource requires a nonce in DPoP proofs but sent none")
        }
        guard attempt.proofClaims?["nonce"]?.string?.isExactly(nonce) != true else {
            return end(.repeatedNonce, "the resource requires a new nonce but sent the one it just rejected")
        }
        guard attempt.earlier.count(where: { $0 == .nonceNeeded }) < 2 else {
            return end(.tooManyNonces, "the resource keeps requiring new nonces")
        }
        return .retry
    }

    private func proofAction(_ attempt: Attempt) -> Retry.Action {
        let rejected = Retry.Action.noRetry(
            .custom(
                OAuth2Error(.proofRejected, "the resource rejects the DPoP proof; check its key", status: 401)
            )
        )
        guard !attempt.earlier.contains(.proofRejected),
            let origin = HTTPOrigin(attempt.request.url),
            let issued = attempt.proofClaims?["iat"]?.date
        else { return rejected }
        // The proof's time came from a clock that has since been corrected.
        let difference = abs(hints.date(for: origin).timeIntervalSince(issued))
        return difference > DPoPServerState.tolerance / .seconds(1) ? .retry : rejected
    }

    // MARK: Demands

    private func demandAction(
        _ code: OAuth2Error.Code,
        _ refusal: ResourceRefusal,
        _ attempt: Attempt,
        _ source: CachedTokenSource
    ) -> Retry.Action {
        let proof = attempt.request.headers["DPoP"]
        let secrets = SentSecrets([attempt.credential.token.expose { $0 }] + [proof].compactMap(\.self))
        let demand = refusal.challenge.map { ResourceDemand($0, hiding: secrets) } ?? ResourceDemand()
        journal.add(.demanded(code, demand))
        let isFirst = !attempt.earlier.contains { $0 == .stepUpRequired || $0 == .insufficientScope }
        if isFirst, widerSource(answering: demand) != nil { return .retry }
        var error = OAuth2Error(
            code,
            code == .stepUpRequired
                ? "the resource requires the user to authenticate again; see `demand`"
                : "the token's scope is insufficient for this request; see `demand` for the required scope, and name it "
                    + "in the grant or in `additionalScope` if the resource may have it",
            status: attempt.response.status
        )
        error.demand = demand
        error.challenge = refusal.challenge?.without(secrets)
        return .noRetry(.custom(error))
    }

    /// Returns the source for an attempt: a wider grant's if the resource demanded one, or the
    /// base.
    func source(for state: Retry.State) -> CachedTokenSource {
        for error in state.authenticationErrors.reversed() {
            guard let refusal = ResourceRefusal(error, isDPoP: dpop != nil), let challenge = refusal.challenge,
                refusal.kind == .stepUpRequired || refusal.kind == .insufficientScope
            else { continue }
            // Without a new source, because the challenge may repeat the rejected token.
            return knownWiderSource(answering: ResourceDemand(challenge)) ?? base
        }
        return base
    }
}

extension OAuth2Authenticator.Attempt {
    fileprivate var proofClaims: JSONObject? {
        request.headers["DPoP"].flatMap { try? UnverifiedToken($0).unverifiedClaims }
    }
}

extension JSONValue {
    fileprivate var date: Date? {
        guard case .number(let number) = self else { return nil }
        return number.double.map(Date.init(timeIntervalSince1970:))
    }
}
