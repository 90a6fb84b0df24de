import Foundation
import MockNetworking
import Networking
import OAuth2
import SharedStores
import TestSupport
import Testing
import TokenGeneration
import WebSignIn

@Suite("Signing in", .limitedConcurrency)
struct SigningInTests {
    @Test("A user signs in, and returns to the page, with a new session", .shows("WF1"))
    func signingIn() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let refusal = try #require(await browser.open("/orders?page=2").refusal)
            #expect(refusal.status == 303)
            #expect(refusal.location == "/auth/sign-in?return=%2Forders%3Fpage%3D2")
            let response = try await browser.signIn()
            #expect(response.status == 303)
            #expect(response.location == "/orders?page=2")
            #expect(await browser.user == "ada")
            #expect(browser.cookies.keys.sorted() == ["__Host-session"])
            let session = try #require(await browser.session())
            #expect(session.issuer == shop.provider.metadata.issuer)
            #expect(session.provider == "id")
            #expect(session.authenticationTime != nil)
            let scripted = await browser.send("GET", "/auth/user", [("Sec-Fetch-Mode", "cors")])
            let user = try JSONObject(parsing: scripted.body)
            #expect(user["sub"] == "ada" && user["name"] == "ada")
            #expect(await Browser(shop).send("GET", "/auth/user", []).body == "null")
        }
    }

    @Test("A provider can post its response, with an attempt for other sites' requests", .shows("WF15"))
    func formPost() async throws {
        try await Shop({ _, provider in provider.usesFormPost = true }).run { shop in
            let (browser, attacker) = (Browser(shop), Browser(shop))
            func form(_ browser: Browser) async throws -> String {
                let start = await browser.send("GET", "/auth/id/start?return=%2Forders")
                let cookie = try require(start.cookies.first { $0.hasPrefix("__Host-signin-") })
                #expect(cookie.hasSuffix("; Path=/; HttpOnly; SameSite=None; Secure; Max-Age=600"))
                let place = try require(start.location)
                #expect(place.contains("response_mode=form_post"))
                let asked = try require(URL(string: place.replacing("=form_post", with: "=query")))
                let redirect = try await shop.provider.visit(asked)
                return URLComponents(url: redirect, resolvingAgainstBaseURL: false)?.percentEncodedQuery ?? ""
            }
            func post(_ form: String) async -> SignInResponse {
                // Only that cookie comes along.
                browser.cookies = browser.cookies.filter { $0.key.hasPrefix("__Host-signin-") }
                return await browser.send("POST", "/auth/id/callback", Browser.navigation, body: form)
            }
            for _ in 0..<2 {
                let response = await post(try await form(browser))
                #expect(response.status == 303 && response.location == "/orders")
                let cookie = try require(response.cookies.first { $0.hasPrefix("__Host-session") })
                #expect(cookie.contains("SameSite=Lax"))
                #expect(await browser.user == "ada")
                #expect(browser.cookies.count == 1)
                // The browser's earlier session has ended, although its cookie didn't come along.
                #expect(shop.sessionCount == 1)
            }
            let refused = await post(try await form(attacker))
            #expect(refused.status == 400 && refused.error?.code == .attemptMissing)
            let query = await browser.send("GET", "/auth/id/callback?" + (try await form(browser)))
            #expect(query.error?.code == .methodNotAllowed)
        }
        try await Shop().run { shop in
            var provider = shop.signIn.providers[0]
            provider.usesFormPost = true
            #expect(throws: SignInError(.malformedConfiguration, "")) {
                try SignIn(
                    publicURL: "http://localhost:8080",
                    keys: RecordKeys(sealing: Shop.key),
                    sessions: shop.store,
                    providers: [provider]
                )
            }
        }
    }

    @Test("A link can name the provider, the user and the page to show there", .shows("WF13"))
    func hints() async throws {
        let parameters = ["prompt": "consent", "ui_locales": "en"]
        try await Shop({ _, provider in provider.additionalParameters = parameters }).run { shop in
            func query(_ path: String) async throws -> [String: String] {
                let place = try require(await Browser(shop).send("GET", path).location)
                let items = URLComponents(string: place)?.queryItems ?? []
                return Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
            }
            let path = shop.signIn.signInPath(
                returningTo: "/orders",
                at: "id",
                loginHint: "ada+1@example.com",
                prompt: "select_account"
            )
            let expected = "/auth/id/start?return=%2Forders&login_hint=ada%2B1%40example.com&prompt=select_account"
            #expect(path == expected)
            let sent = try await query(path)
            #expect(sent["login_hint"] == "ada+1@example.com" && sent["prompt"] == "select_account")
            #expect(sent["ui_locales"] == "en")
            // Anyone can make a link.
            for other in ["none", "login%20none", "x", ""] {
                let path = "/auth/id/start?prompt=\(other)&scope=admin&ui_locales=x"
                #expect(try await query(path)["prompt"] == "consent")
            }
            let long = String(repeating: "a", count: 257)
            let other = "/auth/id/start?login_hint=\(long)&redirect_uri=https://evil.example&scope=admin"
            let refused = try await query(other)
            #expect(refused["login_hint"] == nil && refused["scope"]?.contains("admin") == false)
            #expect(refused["redirect_uri"] == "https://shop.example/auth/id/callback")
            let choice = await Browser(shop).send("GET", shop.signIn.signInPath(loginHint: "ada\"><b>"))
            #expect(choice.body.contains("start?return=%2F&amp;login_hint=ada%22%3E%3Cb%3E"))
        }
    }

    @Test(
        "Scripts, images and prefetches are refused, and start no sign-in",
        arguments: [
            [("Sec-Fetch-Mode", "cors"), ("Accept", "text/html")], [("Sec-Fetch-Mode", "no-cors")], [("Accept", "*/*")],
            [("Sec-Fetch-Mode", "navigate"), ("Sec-Purpose", "prefetch;prerender")],
        ]
    )
    func scripts(headers: [(String, String)]) async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let refusal = try #require(await browser.open("/orders", headers).refusal)
            #expect(refusal.status == 401 && refusal.error?.code == .signedOut)
            let start = await browser.send("GET", "/auth/id/start", headers)
            #expect(start.status == 401 && start.error?.code == .signedOut)
            // RFC 9110 §15.5.2
            let challenge = #"Cookie realm="https://shop.example", cookie-name="__Host-session""#
            #expect([refusal, start].allSatisfy { $0["WWW-Authenticate"] == challenge })
            #expect(browser.cookies.isEmpty)
        }
    }

    @Test("Login CSRF: another browser's response signs nobody in, and its code isn't sent", .shows("WS1", "Z10"))
    func loginCSRF() async throws {
        try await Shop().run { shop in
            let attacker = Browser(shop)
            let link = try await attacker.callback()
            let victim = Browser(shop)
            let response = await victim.send("GET", link)
            #expect(response.status == 400 && response.error?.code == .attemptMissing)
            #expect(victim.cookies.isEmpty && shop.store.count == 0)
            #expect(shop.provider.tokenRequestCount == 0)
            // A victim with an attempt of its own, and one with a session.
            _ = try await victim.callback()
            #expect(await victim.send("GET", link).error?.code == .attemptMissing)
            try await victim.signIn()
            #expect(await victim.send("GET", link).location == "/")
            #expect(shop.provider.tokenRequestCount == 1)
        }
    }

    @Test("A response works once, one after the other and at the same time", .shows("WS2"))
    func replay() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let callback = try await browser.callback()
            let kept = browser.cookies
            async let first = Self.code(of: browser.request("GET", callback, Browser.navigation), shop)
            async let second = Self.code(of: browser.request("GET", callback, Browser.navigation), shop)
            let codes = await [first, second]
            #expect(codes.count { $0 == nil } == 1 && codes.count { $0 == .attemptUsed } == 1)
            #expect(shop.sessionCount == 1)
            browser.cookies = kept
            let replayed = await browser.send("GET", callback)
            #expect(replayed.status == 400 && replayed.error?.code == .attemptUsed)
            #expect(shop.provider.tokenRequestCount == 1)
            // Without the cookie, as after a successful callback.
            #expect(await browser.send("GET", callback).error?.code == .attemptMissing)
        }
    }

    private static func code(of request: SignInRequest, _ shop: Shop) async -> SignInError.Code? {
        await shop.signIn.response(to: request)?.error?.code
    }

    @Test("The attempt of another response, changed, too old, or sealed by a dropped key", .shows("WS3"))
    func attempts() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let callback = try await browser.callback()
            let name = try #require(browser.cookies.keys.first { $0.hasPrefix("__Host-signin-") })
            let sealed = try #require(browser.cookies[name])
            func code(_ value: String, at host: SignIn? = nil) async -> SignInError.Code? {
                browser.cookies = [name: value]
                let response = await browser.send("GET", callback, to: host)
                #expect(response.status == 400)
                #expect(browser.cookies.isEmpty)
                return response.error?.code
            }
            let another = Browser(shop)
            _ = try await another.callback()
            #expect(await code(try #require(another.cookies.values.first)) == .attemptInvalid)
            let parts = sealed.split(separator: ".", omittingEmptySubsequences: false)
            for index in parts.indices {
                var changed = parts.map(String.init)
                changed[index] =
                    changed[index].first == "A" ? "B" + changed[index].dropFirst() : "A" + changed[index].dropFirst()
                #expect(await code(changed.joined(separator: ".")) == .attemptInvalid)
            }
            #expect(await code("") == .attemptInvalid)
            let newKeys = try RecordKeys(sealing: Shop.olderKey)
            #expect(await code(sealed, at: try shop.anotherHost(keys: newKeys)) == .attemptInvalid)
            // Another provider's callback, too.
            browser.cookies = [name: sealed]
            let elsewhere = callback.replacing("/auth/id/", with: "/auth/partner/")
            #expect(await browser.send("GET", elsewhere).error?.code == .attemptInvalid)
            shop.time.advance(by: .seconds(601))
            #expect(await code(sealed) == .attemptExpired)
            #expect(shop.provider.tokenRequestCount == 0 && shop.other.tokenRequestCount == 0)
        }
    }

    @Test("A key that only opens still completes attempts", .shows("WF8"))
    func rotation() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let callback = try await browser.callback()
            let keys = try RecordKeys(sealing: Shop.olderKey, alsoOpening: [Shop.key])
            let host = try shop.anotherHost(keys: keys)
            #expect(await browser.send("GET", callback, to: host).status == 303)
            #expect(await browser.session(at: host) != nil)
        }
    }

    @Test("Mix-up: a code of one provider never reaches another", .shows("WS7"))
    func mixUp() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let start = try #require(await browser.send("GET", "/auth/partner/start").location)
            let query = try #require(URLComponents(string: start)?.queryItems)
            let state = try #require(query.first { $0.name == "state" }?.value)
            // The attacker's provider sends the user on to the other one, whose code comes back.
            let issuer = shop.provider.metadata.issuer
            let answer = FormURLEncoded.encode([("code", "stolen"), ("state", state), ("iss", issuer)])
            let response = await browser.send("GET", "/auth/partner/callback?\(answer)")
            #expect(response.status == 400 && response.error?.code == .responseRejected)
            #expect((response.error?.cause as? OAuth2Error)?.code == .issuerMismatch)
            #expect(shop.other.tokenRequestCount == 0)
        }
    }

    private static let faults: [(MockAuthorizationServer.IDTokenFault, TokenError.Code)] = [
        (.wrongAudience, .audienceMismatch), (.wrongNonce, .nonceMismatch), (.wrongIssuer, .issuerMismatch),
        (.unsigned, .algorithmMismatch), (.mixedUpKeys, .signatureInvalid), (.wrongAccessTokenHash, .hashMismatch),
    ]

    @Test("ID tokens with another audience, nonce, issuer, signature or hash", .shows("WS8"), arguments: faults.indices)
    func idTokens(index: Int) async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let callback = try await browser.callback()
            shop.provider.misbehave(.signedToken(Self.faults[index].0))
            let response = await browser.send("GET", callback)
            #expect(response.status == 400 && response.error?.code == .idTokenRejected)
            let cause = (response.error?.cause as? OAuth2Error)?.cause as? TokenError
            #expect(cause?.code == Self.faults[index].1)
            #expect(shop.store.contents.keys.allSatisfy { $0.hasPrefix("attempt-") })
            #expect(browser.cookies.isEmpty)
        }
    }

    @Test("An error of the provider shows none of its words", .shows("WS11"))
    func errorPages() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            shop.provider.decide { _ in .denied }
            let callback = try await browser.callback()
            let injected = callback + "&error_uri=" + "%0d%0aSet-Cookie:x=y"
            let words = injected.replacing(
                "error_description=",
                with: "error_description=%3Cscript%3Ealert(1)%3C/script%3E%0d%0a"
            )
            let response = await browser.send("GET", words)
            #expect(response.status == 400 && response.error?.code == .authorizationDenied)
            #expect(!response.body.contains("script") && !"\(response)".contains("script"))
            #expect(!response.headers.contains { $0.value.contains("\r") || $0.value.contains("\n") })
            #expect(!"\(try #require(response.error))".contains("alert"))
        }
    }

    @Test("A forged host changes no URL and no cookie", .shows("WS12"))
    func forgedHost() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let forged =
                Browser.navigation.filter { $0.0 != "Host" } + [
                    ("Host", "evil.example"), ("X-Forwarded-Host", "evil.example"), ("X-Forwarded-Proto", "http"),
                    ("Forwarded", "host=evil.example;proto=http"), ("X-Forwarded-Port", "80"),
                ]
            let response = await browser.send("GET", "http://evil.example/auth/id/start", forged)
            let query = URLComponents(string: try #require(response.location))?.queryItems
            #expect(query?.first { $0.name == "redirect_uri" }?.value == "https://shop.example/auth/id/callback")
            #expect(response.cookies.allSatisfy { $0.hasPrefix("__Host-") && $0.contains("; Secure") })
        }
    }

    @Test("A thousand starts leave nothing on the server and four cookies", .shows("WS20"))
    func flood() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            for _ in 0..<1_000 {
                shop.time.advance(by: .milliseconds(10))
                await browser.send("GET", "/auth/id/start?return=/a/page/of/usual/length")
                #expect(browser.cookies.count <= 4)
            }
            #expect(shop.store.count == 0)
            let field = browser.cookies.map { "\($0)=\($1)" }.joined(separator: "; ")
            #expect(field.utf8.count < 4_096)
            // The latest works, also in tabs: its attempt is one of the four.
            try await browser.signIn()
            #expect(await browser.user == "ada")
            // Another site's links with long paths don't make the field too long for servers.
            for _ in 0..<4 {
                shop.time.advance(by: .milliseconds(10))
                let path = "/" + String(repeating: "\"", count: 1_023)
                await browser.send("GET", "/auth/id/start?" + FormURLEncoded.encode([("return", path)]))
                let cookies = browser.cookies.filter { $0.key.hasPrefix("__Host-signin-") }
                #expect(cookies.map { "\($0)=\($1)" }.joined(separator: "; ").utf8.count < 4_096)
            }
            #expect(try await browser.signIn().location == "/orders?page=2")
        }
    }

    @Test("The provider's own max_age is checked in the ID token", .shows("WS8"))
    func maximumAge() async throws {
        try await Shop({ _, provider in provider.additionalParameters["max_age"] = "300" }).run { shop in
            let browser = Browser(shop)
            let response = try await browser.signIn(claims: ["auth_time": 1_000_000_000])
            #expect(response.error?.code == .idTokenRejected)
            try await browser.signIn()
            #expect(await browser.user == "ada")
        }
    }

    @Test("Two tabs sign in at the same time, and the second session replaces the first", .shows("WF2"))
    func tabs() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let callbacks = try await [browser.callback(returningTo: "/a"), browser.callback(returningTo: "/b")]
            #expect(await browser.send("GET", callbacks[0]).location == "/a")
            let first = browser.session
            #expect(await browser.send("GET", callbacks[1]).location == "/b")
            #expect(browser.session != first && shop.sessionCount == 1)
        }
    }

    @Test("Responses aren't cached, and the callback's URL isn't sent on", .shows("WS23"))
    func caching() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let callback = try await browser.callback()
            var responses = [await browser.send("GET", callback), await browser.send("GET", callback)]
            #expect(responses.allSatisfy { $0["Referrer-Policy"] == "no-referrer" })
            for route in shop.signIn.routes {
                responses.append(await browser.send(route.method, route.path))
                for method in ["PUT", "HEAD", "OPTIONS"] {
                    responses.append(await browser.send(method, route.path))
                    #expect(responses.last?.status == 405 && responses.last?.error?.code == .methodNotAllowed)
                    let methods = shop.signIn.routes.filter { $0.path == route.path }.map(\.method)
                    #expect(responses.last?["Allow"] == methods.joined(separator: ", "))
                }
            }
            #expect(
                responses.allSatisfy { response in
                    Set(response.headers.map(\.name)).count == response.headers.count
                        - max(response.cookies.count - 1, 0)
                }
            )
            #expect(responses.allSatisfy { $0["Cache-Control"] == "no-store" })
            #expect(responses.allSatisfy { $0["X-Content-Type-Options"] == "nosniff" })
            let pages = responses.filter { $0.body.contains("<html") }
            #expect(pages.count > 5)
            #expect(pages.allSatisfy { $0["Content-Security-Policy"]?.contains("default-src 'none'") == true })
            #expect(pages.allSatisfy { $0["Content-Security-Policy"]?.contains("frame-ancestors 'none'") == true })
        }
    }

    @Test("Escapes markup in a text, also before combining marks")
    func escaping() {
        #expect(SignInPage.escaped("<a b=\"c\">'&'</a>") == "&lt;a b=&quot;c&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;")
        let escaped = SignInPage.escaped("\"\u{301} onfocus='\u{200D}&\u{FE0F}")
        #expect(escaped == "&quot;\u{301} onfocus=&#39;\u{200D}&amp;\u{FE0F}")
    }

    @Test("A provider that is down gives a page, and the attempt can be completed later", .shows("WS26"))
    func providerDown() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            shop.provider.misbehave(at: .metadata, .unavailable(), .unavailable(), .unavailable())
            let down = await browser.send("GET", "/auth/id/start")
            #expect(down.status == 502 && down.error?.code == .providerUnavailable)
            #expect(browser.cookies.isEmpty)
            let callback = try await browser.callback()
            shop.provider.misbehave(.unavailable(), .unavailable(), .unavailable())
            let failed = await browser.send("GET", callback)
            #expect(failed.status == 502 && failed.error?.code == .providerUnavailable)
            #expect(browser.cookies.count == 1)
            #expect(await browser.send("GET", callback).status == 303)
            #expect(await browser.user == "ada")
        }
    }

    @Test("The application refuses a user, or keeps values with the session", .shows("WF3"))
    func approval() async throws {
        struct Blocked: Error {}
        try await Shop(approve: { user in
            guard user.claims["blocked"] == nil else { throw Blocked() }
            return ["account": .string("\(user.subject)-7"), "linked": .bool(user.current != nil)]
        }).run { shop in
            let browser = Browser(shop)
            let refused = try await browser.signIn(claims: ["blocked": true])
            #expect(refused.status == 403 && refused.error?.code == .userRefused)
            #expect(shop.sessionCount == 0 && browser.session == nil)
            try await browser.signIn()
            #expect(await browser.session()?.values == ["account": "ada-7", "linked": false])
            try await browser.signIn()
            #expect(await browser.session()?.values["linked"] == true)
        }
    }
}
