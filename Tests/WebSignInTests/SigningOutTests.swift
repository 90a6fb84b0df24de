import Foundation
import MockNetworking
import Networking
import OAuth2
import SharedStores
import Synchronization
import TestSupport
import Testing
import TokenGeneration
import WebSignIn

@Suite("Signing out", .limitedConcurrency)
struct SigningOutTests {
    @Test("Ends the session, the tokens and the session at the provider, and returns", .shows("WF4"))
    func signingOut() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            try await browser.signIn()
            let session = try #require(await browser.session())
            let token = try await session.authenticator.accessToken().value.expose { $0 }
            #expect(shop.provider.isActive(token))
            let page = await browser.send("GET", "/auth/sign-out")
            #expect(page.status == 200 && page.body.contains("<form method=\"post\" action=\"/auth/sign-out\">"))
            #expect(await browser.user == "ada")
            let response = await browser.send("POST", "/auth/sign-out", Browser.ownForm)
            #expect(response.status == 303)
            let left = Set(shop.store.contents.keys.map { $0.prefix { $0 != "-" } })
            #expect(browser.session == nil && left == ["attempt", "user"])
            #expect(!shop.provider.isActive(token))
            let logout = try require(URL(string: require(response.location)))
            let items = URLComponents(url: logout, resolvingAgainstBaseURL: false)?.queryItems ?? []
            #expect(items.map(\.name) == ["id_token_hint", "client_id", "post_logout_redirect_uri", "state"])
            let redirect = try await shop.provider.visit(logout).absoluteString
            let back = redirect.replacing(Shop.origin, with: "")
            let forged = await Browser(shop).send("GET", back)
            #expect(forged.status == 400 && forged.error?.code == .logoutUnconfirmed)
            let other = Browser(shop)
            other.cookies = browser.cookies
            #expect(await other.send("GET", back + "x").error?.code == .logoutUnconfirmed)
            #expect(await browser.send("GET", back).location == "/")
            #expect(browser.cookies.isEmpty)
        }
    }

    @Test("Tokens that another host refreshes meanwhile don't come back")
    func refreshUnderWay() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let callback = try await browser.callback()
            shop.provider.misbehave(.members(["expires_in": 0]))
            await browser.send("GET", callback)
            let store = InterruptedSessions(shop.store) {
                await browser.send("POST", "/auth/sign-out", Browser.ownForm)
            }
            let session = try #require(await browser.session(at: try shop.anotherHost(store: store)))
            _ = try await session.authenticator.accessToken()
            #expect(browser.session == nil)
            #expect(shop.store.contents.keys.allSatisfy { !$0.hasPrefix("tokens-") })
        }
    }

    @Test("The ID token can be kept out of the URL of the logout")
    func logoutHint() async throws {
        try await Shop({ _, provider in provider.sendsIDTokenHint = false }).run { shop in
            for (claims, hint) in [(["sid": "s1"], "s1"), ([:], "ada")] as [([String: JSONValue?], String)] {
                let browser = Browser(shop)
                try await browser.signIn(claims: claims)
                let response = await browser.send("POST", "/auth/sign-out", Browser.ownForm)
                let query = URLComponents(string: try require(response.location))?.queryItems ?? []
                let names = ["logout_hint", "client_id", "post_logout_redirect_uri", "state"]
                #expect(query.map(\.name) == names && query[0].value == hint)
            }
        }
    }

    @Test("Without the provider, the session here ends all the same")
    func providerDown() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            try await browser.signIn()
            shop.provider.misbehave(at: .revocation, .silence)
            let leaving = Task { await browser.send("POST", "/auth/sign-out", Browser.ownForm) }
            try await shop.time.waitForSleepers(count: 1)
            shop.time.advance(by: .seconds(3))
            #expect(await leaving.value.status == 303)
            #expect(browser.session == nil && shop.sessionCount == 0)
        }
    }

    @Test(
        "Another site's form, image or prefetch signs nobody out",
        .shows("WS13"),
        arguments: [
            [("Sec-Fetch-Site", "cross-site")], [("Sec-Fetch-Site", "same-site")], [("Sec-Fetch-Site", "none")],
            [("Origin", "https://evil.example")], [("Origin", "null")],
            [("Origin", "https://shop.example.evil.example")], [],
            [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")],
        ]
    )
    func crossSite(headers: [(String, String)]) async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            try await browser.signIn()
            let refused = await browser.send("POST", "/auth/sign-out", headers)
            #expect(refused.status == 403 && refused.error?.code == .crossSite)
            await browser.send("GET", "/auth/sign-out", headers)
            #expect(await browser.user == "ada")
        }
    }

    @Test("The application's own forms and scripts are accepted by what the browser says", .shows("WS21"))
    func ownForms() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            try await browser.signIn()
            func code(_ method: String, _ headers: [(String, String)]) async -> SignInError.Code? {
                await browser.open("/transfer", method: method, headers).refusal?.error?.code
            }
            let own = [
                [("Sec-Fetch-Site", "same-origin")], [("Origin", "https://shop.example")], [("X-CSRF", "1")],
                [("Sec-Fetch-Site", "same-origin"), ("Origin", "null")],
            ]
            for headers in own { #expect(await code("POST", headers) == nil) }
            let foreign = [
                [("Sec-Fetch-Site", "cross-site"), ("Origin", "https://shop.example")],
                [("Origin", "http://shop.example")],
                [("Sec-Fetch-Site", "cross-site"), ("X-CSRF", "1")], [("Accept", "text/html")],
                [("Origin", "https://shop.example:444")],
            ]
            for headers in foreign {
                for method in ["POST", "PUT", "DELETE", "PATCH", "X"] {
                    #expect(await code(method, headers) == .crossSite)
                }
                #expect(await browser.open("/orders", headers).session != nil)
                // A WebSocket is opened with GET, also by pages of siblings.
                let socket = headers + [("Connection", "Upgrade"), ("Upgrade", "WebSocket")]
                #expect(await code("GET", socket) == .crossSite)
            }
            let socket = [("Origin", "https://shop.example"), ("Upgrade", "websocket")]
            #expect(await code("GET", socket) == nil)
        }
    }

    // MARK: The back channel

    private func post(
        _ token: String,
        _ browser: Browser,
        to host: SignIn? = nil,
        at name: String = "id"
    ) async -> SignInResponse {
        await browser.send("POST", "/auth/\(name)/back-channel-logout", [], body: "logout_token=\(token)", to: host)
    }

    @Test("A logout token ends its session on every host", .shows("WS15", "WF5"))
    func backChannel() async throws {
        try await Shop().run { shop in
            let (browser, elsewhere, server) = (Browser(shop), Browser(shop), Browser(shop))
            try await browser.signIn(claims: ["sid": "s1"])
            try await elsewhere.signIn(claims: ["sid": "s2"])
            shop.time.advance(by: .seconds(1))
            let token = try shop.provider.issueLogoutToken(clientID: "shop-id", subject: nil, sessionID: "s1")
            let response = await post(token, server, to: try shop.anotherHost())
            #expect(response.status == 200 && response["Cache-Control"] == "no-store")
            #expect(await browser.user == nil)
            #expect(await elsewhere.user == "ada")
            #expect(shop.sessionCount == 1)
            // A new session of the provider is another one.
            try await browser.signIn(claims: ["sid": "s3"])
            #expect(await browser.user == "ada")
        }
    }

    @Test("A logout token that arrives before the callback ends that sign-in", .shows("WS15"))
    func early() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let callback = try await browser.callback()
            shop.time.advance(by: .seconds(1))
            let token = try shop.provider.issueLogoutToken(clientID: "shop-id", subject: "ada", sessionID: "s1")
            #expect(await post(token, Browser(shop)).status == 200)
            shop.provider.misbehave(.signedToken(.claims(["sid": "s1"])))
            let response = await browser.send("GET", callback)
            #expect(response.status == 400 && response.error?.code == .sessionEnded)
            #expect(await browser.user == nil)
        }
    }

    @Test("A logout at a host whose clock is behind ends sessions and sign-ins of other hosts", .shows("WS15"))
    func slowClock() async throws {
        try await Shop().run { shop in
            let behind = ManualTime(date: shop.time.timeSource.date().addingTimeInterval(-45))
            defer { behind.end() }
            let keys = try RecordKeys(sealing: Shop.key)
            let store = SharedSessions(shop.store)
            let slow = try Shop.instance(shop.provider, shop.other, store, behind, keys: keys)
            for (id, subject, session) in [("s1", nil, "s1"), ("s2", "ada", nil)] {
                let browser = Browser(shop)
                try await browser.signIn(claims: ["sid": .string(id)])
                #expect(await browser.user == "ada")
                let token = try shop.provider.issueLogoutToken(
                    clientID: "shop-id",
                    subject: subject,
                    sessionID: session
                )
                #expect(await post(token, Browser(shop), to: slow).status == 200)
                #expect(await browser.user == nil)
            }
            let (browser, host) = (Browser(shop), try shop.anotherHost(store: store))
            let callback = try await browser.callback()
            let token = try shop.provider.issueLogoutToken(clientID: "shop-id", subject: nil, sessionID: "s3")
            #expect(await post(token, Browser(shop), to: slow).status == 200)
            shop.provider.misbehave(.signedToken(.claims(["sid": "s3"])))
            #expect(await browser.send("GET", callback, to: host).error?.code == .sessionEnded)
        }
    }

    @Test("A logout of a user ends all sessions, and a new sign-in revives none", .shows("WS16"))
    func ofUser() async throws {
        try await Shop().run { shop in
            let (browser, elsewhere) = (Browser(shop), Browser(shop))
            try await browser.signIn(claims: ["sid": "s1"])
            try await elsewhere.signIn(claims: ["sid": "s2"])
            shop.time.advance(by: .seconds(1))
            let token = try shop.provider.issueLogoutToken(clientID: "shop-id", subject: "ada")
            #expect(await post(token, Browser(shop)).status == 200)
            shop.time.advance(by: .seconds(1))
            try await browser.signIn(claims: ["sid": "s3"])
            #expect(await browser.user == "ada")
            #expect(await elsewhere.user == nil)
        }
    }

    @Test("The user can end all sessions", .shows("WF4"))
    func everywhere() async throws {
        try await Shop().run { shop in
            let (browser, elsewhere) = (Browser(shop), Browser(shop))
            try await browser.signIn()
            try await elsewhere.signIn()
            shop.time.advance(by: .seconds(1))
            try await shop.signIn.endAllSessions(of: #require(await browser.session()))
            #expect(await browser.user == nil)
            #expect(await elsewhere.user == nil)
        }
    }

    @Test("Forged, repeated and other clients' logout tokens, and ID tokens, end nothing", .shows("WS14"))
    func logoutTokens() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            try await browser.signIn(claims: ["sid": "s1"])
            shop.time.advance(by: .seconds(1))
            func token(_ claims: [String: JSONValue?] = [:], client: String = "shop-id") throws -> String {
                try shop.provider.issueLogoutToken(clientID: client, subject: "ada", sessionID: "s1", claims: claims)
            }
            let valid = try token()
            let parts = valid.split(separator: ".")
            let now = Int(shop.time.timeSource.date().timeIntervalSince1970)
            let bad = [
                "", "x", "\(parts[0]).\(parts[1]).AAAA", try token(client: "shop-partner"), try token(["events": nil]),
                try token(["nonce": "n"]), try token(["jti": nil]), try token(["iss": "https://evil.example"]),
                try token(["exp": .number(JSONNumber(now - 100)), "iat": .number(JSONNumber(now - 200))]),
                try token(["iat": .number(JSONNumber(now - 10_000)), "exp": .number(JSONNumber(now + 100_000))]),
                try shop.other.issueLogoutToken(clientID: "shop-id", subject: "ada", sessionID: "s1"),
                try shop.provider.issueIDToken(clientID: "shop-id", subject: "ada", claims: ["sid": "s1"]),
                valid + "&logout_token=" + valid,
            ]
            for (index, text) in bad.enumerated() {
                let response = await post(text, browser)
                #expect(response.status == 400 && response.error?.code == .logoutTokenRejected, "\(index)")
                #expect(await browser.user == "ada", "\(index)")
            }
            #expect(await post(valid, browser, at: "partner").error?.code == .logoutTokenRejected)
            #expect(await browser.user == "ada")
            #expect(await post(valid, browser).status == 200)
            #expect(await browser.user == nil)
            shop.time.advance(by: .seconds(1))
            try await browser.signIn(claims: ["sid": "s1"])
            shop.time.advance(by: .seconds(1))
            #expect(await post(valid, browser).error?.code == .logoutTokenRejected)
            #expect(await browser.user == "ada")
        }
    }

    @Test("A logout that failed is a 400, and can be repeated", .shows("WF5"))
    func failedLogout() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            try await browser.signIn(claims: ["sid": "s1"])
            shop.time.advance(by: .seconds(1))
            let token = try shop.provider.issueLogoutToken(clientID: "shop-id", subject: "ada", sessionID: "s1")
            let keys = try RecordKeys(sealing: Shop.key)
            let broken = try Shop.instance(shop.provider, shop.other, BrokenSessions(), shop.time, keys: keys)
            let response = await post(token, browser, to: broken)
            #expect(response.status == 400 && response.error?.code == .storeFailed)
            #expect(await browser.user == "ada")
            #expect(await post(token, browser).status == 200)
            #expect(await browser.user == nil)
        }
    }

    @Test("Requires encrypted logout tokens of a provider that encrypts ID tokens", .shows("WS14"))
    func encryptedLogout() async throws {
        try await Shop({ _, provider in provider.idTokens.decrypter = Shop.decrypter }).run { shop in
            let token = try shop.provider.issueLogoutToken(clientID: "shop-id", subject: "ada")
            #expect(await post(token, Browser(shop)).error?.code == .logoutTokenRejected)
            let encrypted = try Shop.encryption.encryptionKey.encrypt(signedToken: token)
            #expect(await post(encrypted, Browser(shop)).status == 200)
        }
    }

    @Test("The front channel is off, and ends only the session that it names", .shows("WS17"))
    func frontChannel() async throws {
        try await Shop().run { shop in
            let request = Browser(shop).request("GET", "/auth/id/front-channel-logout", Browser.navigation)
            #expect(await shop.signIn.response(to: request) == nil)
        }
        try await Shop({ options, _ in options.acceptsFrontChannelLogout = true }).run { shop in
            let browser = Browser(shop)
            try await browser.signIn(claims: ["sid": "s1"])
            let path = "/auth/id/front-channel-logout"
            func query(_ issuer: String, _ sessionID: String) -> String {
                "?" + FormURLEncoded.encode([("iss", issuer), ("sid", sessionID)])
            }
            let issuer = shop.provider.metadata.issuer
            for wrong in ["", query(issuer, "s2"), query("https://evil.example", "s1"), "?sid=s1"] {
                await browser.send("GET", path + wrong)
                #expect(await browser.user == "ada")
            }
            await browser.send("GET", path + query(issuer, "s1"))
            #expect(await browser.user == nil)
        }
    }
}

/// A store in which something happens just before the new tokens of a refresh are written.
private final class InterruptedSessions: SessionStore {
    private let sessions: InMemorySessions
    private let writes = Mutex(0)
    private let interruption: @Sendable () async -> Void

    init(_ sessions: InMemorySessions, interruption: @escaping @Sendable () async -> Void) {
        self.sessions = sessions
        self.interruption = interruption
    }

    func read(_ key: String) -> StoredSessionValue? { sessions.read(key) }

    func write(
        _ value: String,
        for key: String,
        replacing version: String?,
        lifetime: Duration
    ) async throws -> String? {
        if key.hasPrefix("tokens-") {
            let number = writes.withLock { writes in
                writes += 1
                return writes
            }
            // The first write records that the refresh token is about to be sent.
            if number == 2 { await interruption() }
        }
        return try sessions.write(value, for: key, replacing: version, lifetime: lifetime)
    }

    func remove(_ key: String) { sessions.remove(key) }
}
