import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import SharedStores
import TestSupport
import Testing
import TokenGeneration
import WebSignIn

@Suite("Access of users", .limitedConcurrency)
struct AccessTests {
    private static let strong = SignInRequirement(acr: ["phr"], maximumAge: .seconds(300))

    @Test("Fifty requests on two hosts refresh the user's token once", .shows("WS18", "WF6"))
    func refresh() async throws {
        let api = try LoopbackServer.start()
        do {
            try await Shop(apis: [api.baseURL]).run { shop in
                api.on(.get, "/orders", shop.provider.protecting(scope: "orders.read") { _ in .text("ok") })
                let browser = Browser(shop)
                try await browser.signIn()
                shop.provider.revokeAccessTokens()
                let hosts = [shop.signIn, try shop.anotherHost(apis: [api.baseURL])]
                let sessions = [await browser.session(at: hosts[0]), await browser.session(at: hosts[1])].compactMap(
                    \.self
                )
                #expect(sessions.count == 2)
                let again = try #require(await browser.session())
                #expect(again.authenticator === sessions[0].authenticator)
                let url = api.url(for: "/orders")
                try await withThrowingTaskGroup { group in
                    for index in 0..<50 {
                        group.addTask { try await sessions[index % 2].client.makeRequest(URLRequest(url: url)) }
                    }
                    for try await data in group { #expect(data == Data("ok".utf8)) }
                }
                // One for the code and one for the refresh.
                #expect(shop.provider.tokenRequestCount == 2)
                #expect(shop.provider.reuseDetectionCount == 0)
            }
        } catch {
            await api.stop()
            throw error
        }
        await api.stop()
    }

    @Test("Two users don't share a token")
    func users() async throws {
        try await Shop().run { shop in
            let (ada, grace) = (Browser(shop), Browser(shop))
            try await ada.signIn()
            shop.provider.decide { _ in .approved(subject: "grace") }
            try await grace.signIn()
            let tokens = [
                try await #require(await ada.session()).authenticator.accessToken().value,
                try await #require(await grace.session()).authenticator.accessToken().value,
            ]
            let subjects = try tokens.map { token in
                try token.expose { try UnverifiedToken($0).unverifiedClaims["sub"]?.string }
            }
            #expect(subjects == ["ada", "grace"])
        }
    }

    @Test("If the provider ended the grant, the user must sign in, but keeps the session until then", .shows("WF6"))
    func endedGrant() async throws {
        let api = try LoopbackServer.start()
        do {
            try await Shop(apis: [api.baseURL]).run { shop in
                api.on(.get, "/orders", shop.provider.protecting { _ in .text("ok") })
                let browser = Browser(shop)
                try await browser.signIn()
                shop.provider.revokeRefreshTokens()
                let session = try #require(await browser.session())
                let request = browser.request("GET", "/orders", Browser.navigation)
                do {
                    _ = try await session.client.makeRequest(URLRequest(url: api.url(for: "/orders")))
                    Issue.record("the request should fail")
                } catch {
                    #expect(
                        shop.signIn.response(to: error, for: request)?.location?.hasPrefix("/auth/sign-in?") == true
                    )
                    let script = browser.request("GET", "/orders", [("Sec-Fetch-Mode", "cors")])
                    #expect(shop.signIn.response(to: error, for: script)?.error?.code == .signedOut)
                }
                #expect(shop.signIn.response(to: MissingValue(), for: request) == nil)
            }
        } catch {
            await api.stop()
            throw error
        }
        await api.stop()
    }

    @Test("A route can require a stronger and more recent authentication", .shows("WF7"))
    func stepUp() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            try await browser.signIn()
            let before = browser.session
            let refusal = try #require(await browser.open("/transfer?to=7", requiring: Self.strong).refusal)
            let query = URLComponents(string: try #require(refusal.location))?.queryItems ?? []
            #expect(query.first { $0.name == "acr_values" }?.value == "phr")
            #expect(query.first { $0.name == "max_age" }?.value == "300")
            let callback = try await browser.callback(from: refusal.location)
            shop.provider.misbehave(.signedToken(.claims(["acr": "phr", "auth_time": shop.authenticationTime])))
            #expect(await browser.send("GET", callback).location == "/transfer?to=7")
            #expect(browser.session != before && shop.sessionCount == 1)
            #expect(await browser.open("/transfer", requiring: Self.strong).session?.acr == "phr")
            // The level ends with its age, but the session doesn't.
            shop.time.advance(by: .seconds(400))
            #expect(await browser.open("/transfer", requiring: Self.strong).refusal?.status == 303)
            #expect(await browser.user == "ada")
        }
    }

    @Test("An authentication in the future isn't a recent one", .shows("WF7"))
    func future() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let time = Int(shop.time.timeSource.date().timeIntervalSince1970) + 3_600
            try await browser.signIn(claims: ["auth_time": .number(JSONNumber(time))])
            #expect(await browser.user == "ada")
            let recent = SignInRequirement(maximumAge: .seconds(300))
            #expect(await browser.open("/transfer", requiring: recent).refusal?.status == 303)
        }
    }

    @Test("A script gets the requirement as a challenge", .shows("WF7"))
    func challenge() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            try await browser.signIn()
            let headers = [("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Site", "same-origin")]
            let response = try #require(
                await browser.open("/transfer", method: "POST", headers, requiring: Self.strong).refusal
            )
            #expect(response.status == 401 && response.error?.code == .stepUpRequired)
            let challenge = #"Bearer error="insufficient_user_authentication", acr_values="phr", max_age=300"#
            #expect(response["WWW-Authenticate"] == challenge)
            let age = SignInRequirement(maximumAge: .seconds(60))
            #expect(await browser.open("/transfer", requiring: age).session != nil)
            shop.time.advance(by: .seconds(121))
            #expect(await browser.open("/transfer", headers, requiring: age).refusal?.error?.code == .stepUpRequired)
        }
    }

    @Test("A step-up with another user, or without the level, changes nothing", .shows("WS19"))
    func failedStepUp() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            try await browser.signIn()
            let before = browser.session
            for (subject, claims) in [("grace", ["acr": "phr"]), ("ada", ["acr": "pwd"]), ("ada", [:])]
                as [(String, [String: JSONValue?])]
            {
                let place = try #require(await browser.open("/transfer", requiring: Self.strong).refusal?.location)
                shop.provider.decide { _ in .approved(subject: subject) }
                let callback = try await browser.callback(from: place)
                shop.provider.misbehave(.signedToken(.claims(claims)))
                let response = await browser.send("GET", callback)
                #expect(response.status == 403 && response.error?.code == .stepUpFailed)
                #expect(browser.session == before)
                #expect(await browser.session()?.acr == nil)
            }
            // An authentication that is too old is an invalid ID token.
            let place = try #require(await browser.open("/transfer", requiring: Self.strong).refusal?.location)
            let callback = try await browser.callback(from: place)
            shop.provider.misbehave(.signedToken(.claims(["acr": "phr", "auth_time": 1_000_000_000])))
            #expect(await browser.send("GET", callback).error?.code == .idTokenRejected)
            #expect(await browser.user == "ada" && shop.sessionCount == 1)
        }
    }
}
