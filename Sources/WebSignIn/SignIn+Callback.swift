import Foundation
import Networking
import OAuth2
import TokenGeneration

extension SignIn {
    func now() -> Date { options.timeSource.date() }

    // MARK: Start

    func start(_ request: SignInRequest, at provider: SignInProvider) async throws(SignInError) -> SignInResponse {
        guard request.isNavigation else {
            throw SignInError(.signedOut, "only a page that a person opens can start a sign-in")
        }
        let path = ReturnPath(request.value("return", in: request.query), origin: origin, besides: options.path)
        return try await begin(request, at: provider, returnPath: path, hints: hints(in: request))
    }

    /// Redirects the browser to the provider, with the cookie of a new attempt.
    func begin(
        _ request: SignInRequest,
        at provider: SignInProvider,
        returnPath: ReturnPath,
        requirement: SignInRequirement = .signedIn,
        user: SessionRecord? = nil,
        hints: [(name: String, value: String)] = []
    ) async throws(SignInError) -> SignInResponse {
        do {
            var parameters = provider.additionalParameters
            for hint in hints { parameters[hint.name] = hint.value }
            if !requirement.acr.isEmpty { parameters["acr_values"] = requirement.acr.joined(separator: " ") }
            if let seconds = requirement.maximumSeconds { parameters["max_age"] = String(seconds) }
            let authorization = try provider.client.authorizationRequest(
                redirectURI: url(provider, "callback"),
                scope: provider.scope,
                resources: provider.resources,
                responseMode: provider.responseMode,
                additionalParameters: parameters
            )
            let server = try await provider.client.server
            let place =
                if provider.pushesRequests || server.requiresPushedAuthorizationRequests {
                    try await provider.client.push(authorization).url(at: server)
                } else {
                    try authorization.url(at: server)
                }
            let attempt = Attempt(
                provider: provider.name,
                state: authorization.state,
                nonce: authorization.nonce,
                codeVerifier: authorization.codeVerifier.expose { $0 },
                returnPath: returnPath.text,
                acr: requirement.acr,
                // Also the provider's own parameter, because the ID token must meet it.
                maximumAge: parameters["max_age"].flatMap { Int($0) },
                issuer: user?.issuer,
                subject: user?.subject,
                sessionKey: provider.usesFormPost ? try await session(for: request)?.record.key : nil,
                began: now().timeIntervalSince1970
            )
            let cookie = cookieFormat.cookie(
                attempt.cookieName,
                try attempts.seal(attempt),
                lifetime: Attempt.lifetime,
                isForOtherSites: provider.usesFormPost
            )
            let dropped = dropped(request, for: cookie.utf8.count)
            return SignInResponse.redirect(to: place.absoluteString).setting(dropped + [cookie])
        } catch {
            throw Self.reason(of: error)
        }
    }

    /// Deletes the oldest attempts, and those that can't be read, so that the new one is one of
    /// few, and servers still accept the browser's `Cookie` field.
    private func dropped(_ request: SignInRequest, for size: Int) -> [String] {
        let prefix = cookieFormat.name(Attempt.prefix)
        let found = request.cookies.filter { $0.key.hasPrefix(prefix) }.map { name, value in
            (
                name: name, began: attempts.open(value, as: Attempt.self)?.began ?? 0,
                size: name.utf8.count + value.utf8.count
            )
        }
        var (count, total) = (1, size)
        return found.sorted { ($0.began, $0.name) > ($1.began, $1.name) }.compactMap { attempt in
            (count, total) = (count + 1, total + attempt.size)
            let fits = count <= Attempt.maximumCount && total <= Attempt.maximumSize
            return fits ? nil : deletion(named: attempt.name)
        }
    }

    private func deletion(named name: String) -> String {
        cookieFormat.deletion(String(name.dropFirst(cookieFormat.name("").utf8.count)))
    }

    private static func reason(of error: any Error) -> SignInError {
        if let error = error as? SignInError { return error }
        guard let error = error as? OAuth2Error else {
            return SignInError(.providerUnavailable, "the request to the provider didn't complete", cause: error)
        }
        switch error.code {
        case .serverTransient, .serverUnreachable:
            return SignInError(.providerUnavailable, "the provider can't be reached or fails temporarily", cause: error)
        case .authorizationDenied:
            return SignInError(.authorizationDenied, "the user or the provider denied the sign-in", cause: error)
        case .protocolViolation where error.cause is TokenError:
            return SignInError(.idTokenRejected, "the ID token isn't valid; nobody was signed in", cause: error)
        case .malformedRequest, .endpointMissing, .invalidIssuer, .insecureTransport, .invalidClient:
            return SignInError(.malformedConfiguration, "the provider can't be used as it's configured", cause: error)
        case .storeFailed, .storeBusy, .storeUnavailable:
            return SignInError(.storeFailed, "the user's tokens couldn't be stored", cause: error)
        default:
            return SignInError(.responseRejected, "the provider's response isn't acceptable", cause: error)
        }
    }

    // MARK: Callback

    func callback(_ request: SignInRequest, from provider: SignInProvider) async throws(SignInError) -> SignInResponse {
        let fields = fields(of: request, from: provider)
        let state = request.value("state", in: fields) ?? signedState(request, in: fields, from: provider)
        let name = Attempt.cookieName(state: state ?? "")
        guard let state, let sealed = request.cookies[cookieFormat.name(name)] else {
            // The back button, or another site's link. A session stays as it is.
            if try await session(for: request) != nil { return withoutReferrer(SignInResponse.redirect(to: "/")) }
            throw SignInError(.attemptMissing, "this browser has no attempt with the response's state; start again")
        }
        var path = ReturnPath.home
        do throws(SignInError) {
            let attempt = try openedAttempt(sealed, state: state, provider: provider)
            path = ReturnPath(attempt.returnPath, origin: origin, besides: options.path)
            let cookie = try await complete(attempt, request, from: provider)
            let response = SignInResponse.redirect(to: path.text)
            return withoutReferrer(response.setting([cookie, cookieFormat.deletion(name)]))
        } catch {
            let response = refusal(error, request, returningTo: path.text)
            // The provider may answer the same response later.
            if error.code == .providerUnavailable { return withoutReferrer(response) }
            return withoutReferrer(response.setting([cookieFormat.deletion(name)]))
        }
    }

    /// The URL of the callback has a code.
    private func withoutReferrer(_ response: SignInResponse) -> SignInResponse {
        response.setting("Referrer-Policy", "no-referrer")
    }

    private func fields(of request: SignInRequest, from provider: SignInProvider) -> String {
        provider.usesFormPost ? String(decoding: request.body.prefix(64 << 10), as: UTF8.self) : request.query
    }

    /// The state of a signed response, before its signature is checked, to find the cookie.
    private func signedState(_ request: SignInRequest, in fields: String, from provider: SignInProvider) -> String? {
        guard let verifier = provider.responseVerifier, let response = request.value("response", in: fields),
            let token = try? verifier.decrypter.opened(response, "the authorization response").text
        else { return nil }
        return try? UnverifiedToken(token).unverifiedClaims["state"]?.string
    }

    private func openedAttempt(
        _ sealed: String,
        state: String,
        provider: SignInProvider
    ) throws(SignInError) -> Attempt {
        guard let attempt = attempts.open(sealed, as: Attempt.self), Secret(attempt.state) == Secret(state),
            attempt.provider == provider.name
        else {
            throw SignInError(
                .attemptInvalid,
                "the attempt was changed, belongs to another response or provider, or was sealed with a key that is gone"
            )
        }
        let age = now().timeIntervalSince1970 - attempt.began
        guard age >= -SessionBook.leeway, age <= Double(Attempt.lifetime) else {
            throw SignInError(.attemptExpired, "the attempt began over \(Attempt.lifetime) seconds ago; start again")
        }
        return attempt
    }

    /// Gets the tokens, and returns the cookie of the new session.
    private func complete(
        _ attempt: Attempt,
        _ request: SignInRequest,
        from provider: SignInProvider
    ) async throws(SignInError) -> String {
        let tokens = try await tokens(for: attempt, request, from: provider)
        guard let idToken = tokens.idToken, let subject = idToken.registered.subject,
            let hint = tokens.unverifiedIDToken
        else { throw SignInError(.idTokenRejected, "the provider issued no ID token with a user") }
        if !attempt.acr.isEmpty {
            guard let acr = idToken.claims["acr"]?.string, attempt.acr.contains(where: acr.isExactly) else {
                throw SignInError(.stepUpFailed, "the authentication isn't one of the requested classes (acr)")
            }
        }
        let issuer = provider.hasTenants ? idToken.registered.issuer ?? "" : provider.issuer
        for (expected, found) in [(attempt.issuer, issuer), (attempt.subject, subject)] {
            guard expected?.isExactly(found) ?? true else {
                throw SignInError(.stepUpFailed, "another user authenticated than the session's")
            }
        }
        let sessionID = idToken.claims["sid"]?.string
        let identity = (issuer: issuer, subject: subject, sessionID: sessionID)
        let endings = try await book.endings(of: identity)
        guard endings.allSatisfy({ attempt.began > Double($0.value) ?? .infinity }) else {
            throw SignInError(.sessionEnded, "the provider ended the session before the sign-in was complete")
        }
        var current = try await session(for: request)
        if current == nil, let key = attempt.sessionKey { current = try await book.session(key: key, isUse: false) }
        let user = AuthenticatedUser(
            provider: provider.name,
            issuer: issuer,
            subject: subject,
            claims: idToken.claims,
            tokens: tokens,
            current: current
        )
        let values: JSONObject
        do { values = try await approve(user) } catch {
            throw SignInError(.userRefused, "the application refused the user", cause: error as? SignInError)
        }
        let new = SessionBook.NewSession(
            provider: provider,
            identity: identity,
            claims: idToken.claims,
            values: values,
            idToken: hint,
            endings: endings.map(\.version),
            userAgent: request.userAgent,
            old: current?.record
        )
        let id = try await book.create(new, with: tokens)
        // The old record ends last: without the new one, the user keeps it.
        if let current { try await book.end(current.record) }
        return cookieFormat.cookie(SessionBook.cookieName, id.expose { $0 })
    }

    private func tokens(
        for attempt: Attempt,
        _ request: SignInRequest,
        from provider: SignInProvider
    ) async throws(SignInError) -> IssuedTokens {
        let use = "attempt-" + attempt.state.sha256
        let fields = fields(of: request, from: provider)
        do {
            let authorization = try AuthorizationRequest(
                clientID: provider.clientID,
                redirectURI: url(provider, "callback"),
                scope: provider.scope,
                responseMode: provider.responseMode,
                additionalParameters: attempt.maximumAge.map { ["max_age": String($0)] } ?? [:],
                state: attempt.state,
                nonce: attempt.nonce,
                codeVerifier: Secret(attempt.codeVerifier)
            )
            let server = try await provider.client.server
            let grant =
                if let verifier = provider.responseVerifier {
                    try await authorization.grant(fromQuery: fields, of: server, verifiedBy: verifier)
                } else {
                    try authorization.grant(fromQuery: fields, of: server)
                }
            // A cookie can be kept, and a provider revokes the tokens of a code that comes twice.
            guard try await book.claim(use, lifetime: Attempt.lifetime + 2 * Int(SessionBook.leeway)) else {
                throw SignInError(.attemptUsed, "the response was used before")
            }
            return try await provider.client.tokens(for: grant, idToken: .verified(by: provider.idTokens))
        } catch {
            let reason = Self.reason(of: error)
            if reason.code == .providerUnavailable { try? await book.unclaim(use) }
            throw reason
        }
    }
}
