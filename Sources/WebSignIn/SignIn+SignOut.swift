import Foundation
import Networking
import OAuth2
import TokenGeneration

extension SignIn {
    private static let signOutCookie = "signout"
    private static let signOutLifetime = 600
    /// The time that a sign-out waits for the provider to revoke the refresh token.
    private static let revocationTimeout = Duration.seconds(3)

    // MARK: By the user

    func signOutPage(_ request: SignInRequest) async throws(SignInError) -> SignInResponse {
        let button = SignInPage.Action(label: "Sign out", path: signOutPath, isForm: true)
        let home = SignInPage.Action(label: "Stay signed in", path: "/", isForm: false)
        return page(200, SignInPage(title: "Sign out?", message: "This ends your session.", actions: [button, home]))
    }

    /// Ends the session here, then the tokens, then the session at the provider.
    func signOut(_ request: SignInRequest) async throws(SignInError) -> SignInResponse {
        try checkOrigin(of: request)
        let deletion = cookieFormat.deletion(SessionBook.cookieName)
        guard let session = try await session(for: request),
            let provider = providers.first(where: { $0.name == session.provider })
        else { return SignInResponse.redirect(to: options.signedOutPath).setting([deletion]) }
        try await end([session.record])
        do {
            let logout = try LogoutRequest(
                clientID: provider.clientID,
                idToken: provider.sendsIDTokenHint ? Secret(session.record.idToken) : nil,
                redirectURI: url(provider, "signed-out"),
                logoutHint: provider.sendsIDTokenHint ? nil : session.record.sessionID ?? session.subject
            )
            let place = try logout.url(at: try await provider.client.server)
            let content = ["state": logout.state ?? "", "provider": provider.name]
            let cookie = cookieFormat.cookie(
                Self.signOutCookie,
                try signOuts.seal(content),
                lifetime: Self.signOutLifetime
            )
            return SignInResponse.redirect(to: place.absoluteString).setting([deletion, cookie])
        } catch {
            // The provider has no logout, or can't be reached: the session here has ended.
            return SignInResponse.redirect(to: options.signedOutPath).setting([deletion])
        }
    }

    /// Ends sessions, and revokes their refresh tokens.
    ///
    /// A failure of the store for one session doesn't keep the others, or their tokens.
    func end(_ records: [SessionRecord]) async throws(SignInError) {
        var tokens: [(token: Secret, provider: SignInProvider)] = []
        var failure: SignInError?
        for record in records {
            let token = await book.refreshToken(of: record)
            do throws(SignInError) { try await book.end(record) } catch { failure = error }
            if let token, let provider = providers.first(where: { $0.name == record.provider }) {
                tokens.append((token, provider))
            }
        }
        if !tokens.isEmpty { await revoke(tokens) }
        if let failure { throw failure }
    }

    private func revoke(_ tokens: [(token: Secret, provider: SignInProvider)]) async {
        await withTaskGroup { group in
            group.addTask {
                await withTaskGroup { group in
                    for (token, provider) in tokens {
                        group.addTask { _ = try? await provider.client.revoke(token, kind: .refreshToken) }
                    }
                }
            }
            group.addTask { [timeSource = options.timeSource] in try? await timeSource.sleep(Self.revocationTimeout) }
            await group.next()
            group.cancelAll()
        }
    }

    func signedOut(_ request: SignInRequest, from provider: SignInProvider) -> SignInResponse {
        let deletion = cookieFormat.deletion(Self.signOutCookie)
        do {
            let sealed = request.cookies[cookieFormat.name(Self.signOutCookie)]
            guard let content = sealed.flatMap({ signOuts.open($0, as: [String: String].self) }),
                content["provider"] == provider.name,
                let url = URL(string: origin + request.target)
            else { throw SignInError(.logoutUnconfirmed, "this browser has no logout in progress") }
            let logout = try LogoutRequest(
                clientID: provider.clientID,
                redirectURI: self.url(provider, "signed-out"),
                state: content["state"]
            )
            try logout.check(url)
            return SignInResponse.redirect(to: options.signedOutPath).setting([deletion])
        } catch {
            let reason = SignInError(
                .logoutUnconfirmed,
                "the redirect belongs to no logout of this browser",
                cause: error
            )
            return refusal(error as? SignInError ?? reason, request).setting([deletion])
        }
    }

    /// Ends all sessions of a user, on all hosts, also those that are about to begin, and revokes
    /// their refresh tokens.
    ///
    /// The sessions at the provider go on.
    ///
    /// - Parameter session: A session of the user.
    /// - Throws: ``SignInError`` with the code `storeFailed`.
    public func endAllSessions(of session: UserSession) async throws(SignInError) {
        // The mark first: it also ends sessions that aren't in the list yet.
        try await book.end(.subject(session.subject, of: session.issuer))
        try await end(try await book.records(of: session))
    }

    // MARK: By the provider

    /// Answers a logout token ([OpenID Connect Back-Channel Logout 1.0
    /// §2.5](https://openid.net/specs/openid-connect-backchannel-1_0.html#BCRequest)).
    func backChannelLogout(_ request: SignInRequest, from provider: SignInProvider) async -> SignInResponse {
        do {
            let form = String(decoding: request.body.prefix(64 << 10), as: UTF8.self)
            guard let text = request.value("logout_token", in: form), let verifier = logoutTokens[provider.name] else {
                throw SignInError(.logoutTokenRejected, "the request has no logout token")
            }
            let token: VerifiedToken
            do { token = try await verifier.verify(text) } catch {
                throw SignInError(.logoutTokenRejected, "the logout token isn't valid", cause: error)
            }
            // Remembered last: the provider can repeat a token that had no effect because of an
            // error.
            let use = "logout-" + "\(provider.issuer)\n\(token.registered.jwtID ?? "")".sha256
            guard try await !book.isClaimed(use) else {
                throw SignInError(.logoutTokenRejected, "the logout token was used before")
            }
            let mark: LogoutMark =
                if let sessionID = token.claims["sid"]?.string {
                    .session(sessionID, of: provider.issuer)
                } else {
                    .subject(token.registered.subject ?? "", of: provider.issuer)
                }
            try await book.end(mark)
            _ = try await book.claim(use, lifetime: LogoutMark.tokenAge + 2 * Int(SessionBook.leeway))
            return SignInResponse(200)
        } catch {
            let reason = error as? SignInError ?? SignInError(.storeFailed, "the logout failed", cause: error)
            // Also for a logout that failed (§2.8).
            return SignInResponse(
                400,
                headers: [("Content-Type", "application/json")],
                body: #"{"error":"invalid_request"}"#,
                error: reason
            )
        }
    }

    /// Ends the session of the cookie if the provider names it.
    ///
    /// Any page can make this request.
    func frontChannelLogout(
        _ request: SignInRequest,
        from provider: SignInProvider
    ) async throws(SignInError) -> SignInResponse {
        let issuer = request.value("iss", in: request.query)
        let sessionID = request.value("sid", in: request.query)
        guard let issuer, let sessionID, let session = try await session(for: request),
            session.issuer.isExactly(issuer), session.record.sessionID?.isExactly(sessionID) == true
        else { return SignInResponse(200) }
        try await book.end(session.record)
        return SignInResponse(200).setting([cookieFormat.deletion(SessionBook.cookieName)])
    }
}
