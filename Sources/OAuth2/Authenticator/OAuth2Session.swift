import Foundation
import Networking
import Synchronization
import TokenGeneration

/// The authentication of one request, with what it remembers between its attempts.
struct OAuth2Session: AuthenticationSession {
    private struct Credential {
        let source: CachedTokenSource
        let token: Secret
        let isDPoP: Bool
        var proof: (nonce: String?, date: Date)?
    }

    private struct Rejection {
        let refusal: ResourceRefusal
        let response: HTTPResponse
        let origin: HTTPOrigin
        let credential: Credential
        let earlier: [ResourceRefusal.Kind]
    }

    private static let withheldLimit = 64

    private let owner: OAuth2Authenticator
    private var credential: Credential?
    private var sent: Moment?

    init(_ owner: OAuth2Authenticator) { self.owner = owner }

    /// Resumes the session of a caller that has kept only the request with its token.
    init(_ owner: OAuth2Authenticator, resuming request: HTTPRequest, sent: ContinuousClock.Instant?) {
        self.owner = owner
        self.sent = sent.map { Moment($0) }
        guard let parts = request.headers["Authorization"]?.split(separator: " ", maxSplits: 1), parts.count == 2 else {
            return
        }
        let token = Secret(String(parts[1]))
        let isDPoP = String(parts[0]).equalsIgnoringASCIICase("DPoP")
        guard isDPoP || String(parts[0]).equalsIgnoringASCIICase("Bearer"),
            let source = owner.sources.first(where: { $0.isKnown(token.fingerprint) })
        else { return }
        let claims = request.headers["DPoP"].flatMap { try? UnverifiedToken($0).unverifiedClaims }
        let proof = claims?["iat"]?.number?.double.map { seconds in
            (nonce: claims?["nonce"]?.string, date: Date(timeIntervalSince1970: seconds))
        }
        credential = Credential(source: source, token: token, isDPoP: isDPoP, proof: proof)
    }

    // MARK: Credentials

    mutating func authenticate(_ request: inout HTTPRequest, _ context: InterceptorContext) async throws {
        try await authenticate(&request, until: context.deadline, after: context.retryState)
    }

    mutating func authenticate(
        _ request: inout HTTPRequest,
        until deadline: ContinuousClock.Instant?,
        after state: Retry.State
    ) async throws {
        credential = nil
        guard request.headers["Authorization"] == nil else { return }
        let origin = HTTPOrigin(request.url)
        guard try owner.resources.covers(origin) else { return }
        guard let origin, origin.isConfidential else { throw request.url.isNotConfidential("an access token") }
        let source = state.authenticationErrors.isEmpty ? owner.base : source(after: state)
        let token =
            if let token = source.current() { token } else {
                try await source.token(for: TokenRequirements(deadline: deadline))
            }
        let isNotApplicable = token.type.equalsIgnoringASCIICase(AccessToken.notApplicable)
        guard !isNotApplicable || token.proofGenerator != nil else {
            throw OAuth2Error(.unsupportedTokenType, "the token exchange didn't issue an access token; request one")
        }
        let scheme = token.proofGenerator == nil ? "Bearer " : "DPoP "
        let credentials = token.value.expose { HTTPSyntax.isToken68($0[...]) || isNotApplicable ? scheme + $0 : nil }
        guard let credentials else {
            throw OAuth2Error(
                .malformedRequest,
                "the access token contains characters that RFC 6750 §2.1 doesn't allow; it wasn't sent"
            )
        }
        var proof: (nonce: String?, date: Date)?
        if let generator = token.proofGenerator {
            let (nonce, date) = (owner.hints.nonce(for: origin), owner.hints.date(for: origin))
            do {
                request.headers["DPoP"] = try token.value.expose { text in
                    try generator.proof(
                        method: request.method.rawValue,
                        url: request.url.absoluteString,
                        accessToken: text,
                        nonce: nonce,
                        date: date
                    )
                }
            } catch {
                throw OAuth2Error(.assertionFailed, "the request's DPoP proof couldn't be created", cause: error)
            }
            proof = (nonce, date)
            sent = owner.timing.timeSource.moment
        }
        request.headers["Authorization"] = credentials
        credential = Credential(source: source, token: token.value, isDPoP: proof != nil, proof: proof)
    }

    private func source(after state: Retry.State) -> CachedTokenSource {
        for error in state.authenticationErrors.reversed() {
            guard let refusal = ResourceRefusal(error, isDPoP: owner.isDPoP), let challenge = refusal.challenge,
                refusal.kind == .stepUpRequired || refusal.kind == .insufficientScope
            else { continue }
            // The first rejection has created the source.
            return owner.knownWiderSource(answering: ResourceDemand(challenge)) ?? owner.base
        }
        return owner.base
    }

    // MARK: Answers

    func evaluate(_ answer: AuthenticationAnswer) async -> Retry.Action {
        let isRejected = answer.error != nil
        guard isRejected || credential?.proof != nil else { return .none }
        return action(after: answer.response, to: answer.request, answer.context.retryState, isRejected: isRejected)
    }

    /// Returns the action after a response, and remembers the nonce and the clock of its server.
    func action(
        after response: HTTPResponse,
        to request: HTTPRequest,
        _ state: Retry.State,
        isRejected: Bool = true
    ) -> Retry.Action {
        // The target of a redirect never had the token, so its response says nothing about it.
        guard let origin = HTTPOrigin(request.url), HTTPOrigin(response.url) == origin else { return .none }
        if request.headers["DPoP"] != nil {
            let age = sent.map { owner.timing.timeSource.moment - $0 }
            owner.hints.note(response.headers, from: response.url, age: age)
        }
        guard isRejected else { return .none }
        if let reason = withheldReason(request, response, origin) {
            owner.journal.add(.refused)
            return .noRetry(.custom(reason))
        }
        guard let credential else { return .none }
        let refusal = ResourceRefusal(
            status: response.status,
            headers: response.headers,
            body: response.body,
            isDPoP: credential.isDPoP
        )
        let earlier = state.authenticationErrors.compactMap {
            ResourceRefusal($0, isDPoP: credential.isDPoP)?.kind
        }
        let rejection = Rejection(
            refusal: refusal,
            response: response,
            origin: origin,
            credential: credential,
            earlier: earlier
        )
        let action = action(after: rejection, state)
        switch action {
        case .retry, .retryAfter: owner.journal.add(.retried)
        case .noRetry: owner.journal.add(.refused)
        case .none: break
        }
        return action
    }

    /// Returns an error if a rejected request had no token because no resource covers its origin.
    private func withheldReason(
        _ request: HTTPRequest,
        _ response: HTTPResponse,
        _ origin: HTTPOrigin
    ) -> OAuth2Error? {
        guard response.status == 401, request.headers["Authorization"] == nil,
            (try? owner.resources.covers(origin)) == false,
            // The response may be about the request's signature (RFC 9421 §5).
            response.headers["Accept-Signature"] == nil
        else { return nil }
        let fields = response.headers.values(for: "WWW-Authenticate").joined(separator: ", ")
        guard
            AuthenticationChallenge.parse(fields).contains(where: { $0.isOfScheme("Bearer") || $0.isOfScheme("DPoP") })
        else { return nil }
        let isFirst = owner.withheld.withLock { $0.count < Self.withheldLimit && $0.insert(origin).inserted }
        if isFirst { owner.journal.add(.withheld(origin: origin.description)) }
        var error = OAuth2Error(
            .originNotCovered,
            "the request got no token, because the authenticator's `resources` don't have \(origin.text), only "
                + "\(owner.resources.text); add the origin if the token is meant for it",
            status: response.status
        )
        error.serverText = OAuth2Error.serverText(challenges: [fields])
        return error
    }

    private func action(after rejection: Rejection, _ state: Retry.State) -> Retry.Action {
        switch rejection.refusal.kind {
        case .unrelated: return .none
        case .nonceNeeded: return nonceAction(rejection)
        case .proofRejected: return proofAction(rejection)
        case .stepUpRequired: return demandAction(.stepUpRequired, rejection)
        case .insufficientScope: return demandAction(.insufficientScope, rejection)
        case .forbidden:
            guard owner.options.insecurelyTreatsForbiddenAsInvalidToken else { return .none }
        case .tokenRejected, .unclear: break
        }
        var refused = TokenLifecycle.RefusedRequest(
            rejection.credential.token.fingerprint,
            origin: rejection.origin.description,
            // A rejected nonce or proof doesn't mean that the token was rejected.
            earlier: rejection.earlier.count { $0 == .tokenRejected || $0 == .forbidden },
            state: state
        )
        refused.isUnclear = rejection.refusal.kind == .unclear
        return rejection.credential.source.refused(refused)
    }

    // MARK: Proofs

    private func nonceAction(_ rejection: Rejection) -> Retry.Action {
        func end(_ code: OAuth2Error.Code, _ message: String) -> Retry.Action {
            .noRetry(.custom(OAuth2Error(code, message, status: rejection.response.status)))
        }
        guard let nonce = rejection.response.headers["DPoP-Nonce"], !nonce.isEmpty else {
            return end(.missingNonce, "the resource requires a nonce in DPoP proofs but sent none")
        }
        guard rejection.credential.proof?.nonce?.isExactly(nonce) != true else {
            return end(.repeatedNonce, "the resource requires a new nonce but sent the one it just rejected")
        }
        guard rejection.earlier.count(where: { $0 == .nonceNeeded }) < 2 else {
            return end(.tooManyNonces, "the resource keeps requiring new nonces")
        }
        return .retry
    }

    private func proofAction(_ rejection: Rejection) -> Retry.Action {
        if !rejection.earlier.contains(.proofRejected), let issued = rejection.credential.proof?.date {
            // The proof's time may come from a clock that has since been corrected.
            let difference = abs(owner.hints.date(for: rejection.origin).timeIntervalSince(issued))
            if difference > DPoPServerState.tolerance / .seconds(1) { return .retry }
        }
        return .noRetry(
            .custom(OAuth2Error(.proofRejected, "the resource rejects the DPoP proof; check its key", status: 401))
        )
    }

    // MARK: Demands

    private func demandAction(_ code: OAuth2Error.Code, _ rejection: Rejection) -> Retry.Action {
        let demand =
            rejection.refusal.challenge.map { ResourceDemand($0, rejected: rejection.credential.token) }
            ?? ResourceDemand()
        owner.journal.add(.demanded(code, demand))
        let isFirst = !rejection.earlier.contains { $0 == .stepUpRequired || $0 == .insufficientScope }
        if isFirst, owner.widerSource(answering: demand) != nil { return .retry }
        var error = OAuth2Error(
            code,
            code == .stepUpRequired
                ? "the resource requires the user to authenticate again; see `demand`"
                : "the token's scope is insufficient for this request; see `demand` for the required scope, and name it "
                    + "in the grant or in `additionalScope` if the resource may have it",
            status: rejection.response.status
        )
        error.demand = demand
        error.serverText = OAuth2Error.serverText(
            challenges: rejection.response.headers.values(for: "WWW-Authenticate")
        )
        return .noRetry(.custom(error))
    }
}
