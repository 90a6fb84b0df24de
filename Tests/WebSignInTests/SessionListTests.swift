import Foundation
import MockNetworking
import Networking
import OAuth2
import SharedStores
import TestSupport
import Testing
import WebSignIn

@Suite("Sessions of a user", .limitedConcurrency)
struct SessionListTests {
    /// Signs in with a `User-Agent`, and returns the session.
    @discardableResult
    private func signIn(_ browser: Browser, as name: String? = nil) async throws -> UserSession {
        let callback = try await browser.callback()
        await browser.send("GET", callback, Browser.navigation + (name.map { [("User-Agent", $0)] } ?? []))
        return try require(await browser.session())
    }

    @Test("Lists the sessions of a user on all devices, the newest first", .shows("WF11"))
    func list() async throws {
        try await Shop().run { shop in
            let (laptop, phone, other) = (Browser(shop), Browser(shop), Browser(shop))
            let long = "Phone <b>\u{E9}" + String(repeating: "x", count: 400)
            let start = shop.time.timeSource.date()
            try await signIn(laptop, as: "Laptop")
            shop.time.advance(by: .seconds(60))
            let user = try await signIn(phone, as: long)
            shop.provider.decide { _ in .approved(subject: "grace") }
            let grace = try await signIn(other)
            let sessions = try await shop.signIn.sessions(of: user)
            #expect(sessions.map(\.subject) == ["ada", "ada"])
            #expect(sessions.map { $0.userAgent?.prefix(10) } == ["Phone <b>x", "Laptop"])
            #expect(sessions[0].userAgent?.utf8.count == 254)
            #expect(sessions[0].id == user.id && sessions[1].id != user.id)
            #expect(abs(sessions[1].created.timeIntervalSince(start)) < 1)
            #expect(sessions[1].lastUse == sessions[1].created)
            #expect(try await shop.signIn.sessions(of: grace).map(\.id) == [grace.id])
            #expect(grace.userAgent == nil)
            // The list isn't a use, and the identifier isn't that of the cookie.
            shop.time.advance(by: .seconds(1_700))
            #expect(try await shop.anotherHost().sessions(of: grace).count == 1)
            #expect(try await shop.signIn.sessions(of: user).count == 2)
            shop.time.advance(by: .seconds(101))
            #expect(try await shop.signIn.sessions(of: user).isEmpty)
            let thief = Browser(shop)
            thief.cookies = ["__Host-session": grace.id]
            #expect(await thief.user == nil)
        }
    }

    @Test("Ends one session of a user, with its tokens, and none of another user", .shows("WF11"))
    func end() async throws {
        try await Shop().run { shop in
            let (laptop, phone, other) = (Browser(shop), Browser(shop), Browser(shop))
            let lost = try await signIn(phone)
            let user = try await signIn(laptop)
            shop.provider.decide { _ in .approved(subject: "grace") }
            let grace = try await signIn(other)
            let token = try await lost.authenticator.accessToken().value.expose { $0 }
            for id in ["", "x", grace.id, try require(phone.session)] {
                #expect(try await !shop.signIn.endSession(id, of: user))
            }
            #expect(await phone.user == "ada")
            #expect(await other.user == "grace")
            #expect(try await shop.anotherHost().endSession(lost.id, of: user))
            #expect(await phone.user == nil)
            #expect(await laptop.user == "ada")
            #expect(!shop.provider.isActive(token))
            #expect(try await shop.signIn.sessions(of: user).map(\.id) == [user.id])
            #expect(try await !shop.signIn.endSession(lost.id, of: user))
        }
    }

    @Test("The end of all sessions revokes their refresh tokens", .shows("WF4"))
    func endAll() async throws {
        try await Shop().run { shop in
            let browsers = [Browser(shop), Browser(shop), Browser(shop)]
            var tokens: [String] = []
            for browser in browsers {
                tokens.append(try await signIn(browser).authenticator.accessToken().value.expose { $0 })
            }
            shop.time.advance(by: .seconds(1))
            try await shop.signIn.endAllSessions(of: require(await browsers[0].session()))
            for browser in browsers { #expect(await browser.user == nil) }
            for token in tokens { #expect(!shop.provider.isActive(token)) }
            #expect(shop.sessionCount == 0)
        }
    }

    @Test("A failure of the store for one session keeps no other session and no refresh token", .shows("WF4"))
    func endAllWithFailure() async throws {
        try await Shop().run { shop in
            let browsers = [Browser(shop), Browser(shop), Browser(shop)]
            var tokens: [String] = []
            for browser in browsers {
                tokens.append(try await signIn(browser).authenticator.accessToken().value.expose { $0 })
            }
            shop.time.advance(by: .seconds(1))
            let user = try require(await browsers[0].session())
            let host = try shop.anotherHost(store: OnceBrokenSessions(shop.store))
            await #expect(throws: SignInError(.storeFailed, "")) { try await host.endAllSessions(of: user) }
            #expect(shop.sessionCount == 1)
            for token in tokens { #expect(!shop.provider.isActive(token)) }
            for browser in browsers { #expect(await browser.user == nil) }
        }
    }

    @Test("A new sign-in and a step-up replace the session in the list")
    func replaced() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            for _ in 0..<3 { try await signIn(browser) }
            #expect(try await shop.signIn.sessions(of: require(await browser.session())).count == 1)
        }
    }

    @Test("A hundredth session is the last before the oldest ends", .shows("WF11"))
    func limit() async throws {
        try await Shop().run { shop in
            let first = Browser(shop)
            try await signIn(first)
            for _ in 0..<99 { try await signIn(Browser(shop)) }
            let user = try require(await first.session())
            #expect(try await shop.signIn.sessions(of: user).count == 100)
            let last = Browser(shop)
            try await signIn(last)
            #expect(await first.user == nil)
            #expect(try await shop.signIn.sessions(of: require(await last.session())).count == 100)
        }
    }

    @Test("Sign-ins of one user at the same time are all in the list")
    func concurrent() async throws {
        try await Shop().run { shop in
            let browsers = (0..<6).map { _ in Browser(shop) }
            var callbacks: [String] = []
            for browser in browsers { callbacks.append(try await browser.callback()) }
            await withTaskGroup { group in
                for (browser, callback) in zip(browsers, callbacks) {
                    group.addTask { _ = await browser.send("GET", callback) }
                }
            }
            #expect(try await shop.signIn.sessions(of: require(await browsers[0].session())).count == 6)
        }
    }

    @Test("A list of another user, or one that can't be opened, counts for nothing")
    func foreignList() async throws {
        try await Shop().run { shop in
            let (browser, other) = (Browser(shop), Browser(shop))
            let user = try await signIn(browser)
            let key = try require(shop.store.contents.keys.first { $0.hasPrefix("user-") })
            shop.provider.decide { _ in .approved(subject: "grace") }
            try await signIn(other)
            let (_, foreign) = try require(
                shop.store.contents.first { $0.key.hasPrefix("user-") && $0.key != key }
            )
            for value in [foreign, "x", ""] {
                shop.store.remove(key)
                _ = try shop.store.write(value, for: key, replacing: nil, lifetime: .seconds(600))
                #expect(try await shop.signIn.sessions(of: user).isEmpty)
            }
            // The next sign-in begins another list.
            shop.provider.decide { _ in .approved(subject: "ada") }
            let again = try await signIn(Browser(shop))
            #expect(try await shop.signIn.sessions(of: again).map(\.id) == [again.id])
        }
    }
}
