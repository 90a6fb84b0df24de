import Foundation
import MockNetworking
import Networking
import OAuth2
import SharedStores
import TestSupport
import Testing
import TokenGeneration
import WebSignIn

@Suite("Sessions", .limitedConcurrency)
struct SessionTests {
    @Test("Session fixation: an identifier from before the sign-in is nobody's", .shows("WS4"))
    func fixation() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let planted = String(repeating: "A", count: 43)
            browser.cookies = ["__Host-session": planted]
            #expect(await browser.user == nil)
            try await browser.signIn()
            #expect(browser.session != planted && browser.session?.utf8.count == 43)
            let attacker = Browser(shop)
            attacker.cookies = ["__Host-session": planted]
            #expect(await attacker.user == nil)
            #expect(shop.sessionCount == 1)
        }
    }

    @Test("An old identifier is signed out after a new sign-in and a logout", .shows("WS5"))
    func oldIdentifiers() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let thief = Browser(shop)
            try await browser.signIn()
            thief.cookies = browser.cookies
            #expect(await thief.user == "ada")
            shop.provider.decide { _ in .approved(subject: "grace") }
            try await browser.signIn()
            #expect(await thief.user == nil)
            #expect(await browser.user == "grace")
            thief.cookies = browser.cookies
            await browser.send("POST", "/auth/sign-out", Browser.ownForm)
            #expect(await thief.user == nil)
            #expect(shop.sessionCount == 0)
        }
    }

    @Test("A cookie of a sibling domain counts for nothing", .shows("WS6"))
    func plantedCookies() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let cookie = try #require(try await browser.signIn().cookies.first { $0.contains("session") })
            #expect(cookie == "__Host-session=\(try #require(browser.session)); Path=/; HttpOnly; SameSite=Lax; Secure")
            let value = try #require(browser.session)
            func user(_ field: String...) async -> String? {
                let headers =
                    Browser.navigation.map { (name: $0.0, value: $0.1) }
                    + field.map { (name: "Cookie", value: $0) }
                let request = SignInRequest(method: "GET", target: "/orders", headers: headers)
                return await shop.signIn.access(to: request).session?.subject
            }
            #expect(await user("a=b; __Host-session=\(value)") == "ada")
            #expect(await user("session=\(value)") == nil)
            #expect(await user("__Host-session=\(value); __Host-session=planted") == nil)
            #expect(await user("__Host-session=planted", "__Host-session=\(value)") == nil)
            #expect(await user("__Host-session=\(value); x=" + String(repeating: "x", count: 40_000)) == nil)
            // Names that don't begin with the prefix for browsers, so that siblings can plant them.
            for space in ["\u{A0}", "\u{2000}", "\u{3000}", "\u{85}", "\u{B}", "\u{FEFF}"] {
                #expect(await user("\(space)__Host-session=\(value)") == nil)
                #expect(await user("__Host-session\(space)=\(value)") == nil)
                #expect(await user("__Host-session=\(value); \(space)__Host-session=planted") == "ada")
            }
            #expect(await user("x=1;\t __Host-session = \(value)\t") == "ada")
            #expect(await user("x=1;\u{301}; __Host-session=\(value)", "y=\u{301}") == "ada")
            let crumbs = (0..<500).map { "sibling\($0)=x" }.joined(separator: "; ")
            #expect(await user("\(crumbs); __Host-session=\(value)") == "ada")
        }
    }

    @Test("A session ends when it's idle, and at its end however much it's used", .shows("WS22"))
    func lifetimes() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            try await browser.signIn()
            shop.time.advance(by: .seconds(1_790))
            #expect(await browser.user == "ada")
            shop.time.advance(by: .seconds(1_790))
            #expect(await browser.user == "ada")
            shop.time.advance(by: .seconds(1_801))
            #expect(await browser.user == nil)
            #expect(shop.sessionCount == 0)
            try await browser.signIn()
            for _ in 0..<27 {
                shop.time.advance(by: .seconds(1_060))
                #expect(await browser.user == "ada")
            }
            shop.time.advance(by: .seconds(200))
            #expect(await browser.user == nil)
        }
    }

    @Test("A clock that was set back revives no session", .shows("WS22"))
    func clockSetBack() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let start = shop.time.timeSource.date()
            shop.time.setDate(start + 3_600)
            try await browser.signIn()
            let cookies = browser.cookies
            shop.time.setDate(start + 3_600 - 30)
            #expect(await browser.user == "ada")
            shop.time.setDate(start)
            #expect(await browser.user == nil)
            shop.time.setDate(start + 3_600)
            browser.cookies = cookies
            #expect(await browser.user == nil)
        }
    }

    @Test("The time of use is written at most once in a tenth of the idle time")
    func writes() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            try await browser.signIn()
            func record() -> String? { shop.store.contents.first { $0.key.hasPrefix("session-") }?.value }
            let first = record()
            shop.time.advance(by: .seconds(179))
            #expect(await browser.user == "ada")
            #expect(record() == first)
            shop.time.advance(by: .seconds(2))
            #expect(await browser.user == "ada")
            #expect(record() != first)
        }
    }

    @Test("Whoever reads the store can't use a session or a token", .shows("WS25", "Y10"))
    func storeLeak() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let thief = Browser(shop)
            try await browser.signIn()
            let session = try #require(await browser.session())
            let token = try await session.authenticator.accessToken().value.expose { $0 }
            let dump = shop.store.contents.map { "\($0) \($1)" }.joined(separator: "\n")
            for secret in [try #require(browser.session), token, "\"ada\"", "eyJhbGciOiJFUzI1NiI"] {
                #expect(!dump.contains(secret))
            }
            for (key, value) in shop.store.contents {
                for text in [key, value, String(key.dropFirst(8)), String(value.prefix(43))] {
                    thief.cookies = ["__Host-session": text]
                    #expect(await thief.user == nil)
                }
            }
            // A value under another key, as by someone who can write to the store.
            let (key, value) = try #require(shop.store.contents.first { $0.key.hasPrefix("session-") })
            shop.store.remove(key)
            _ = try shop.store.write(
                value,
                for: "session-" + String(repeating: "0", count: 64),
                replacing: nil,
                lifetime: .seconds(60)
            )
            #expect(await browser.user == nil)
        }
    }

    @Test("No description, dump or error shows a code, a token, a cookie or an identifier", .shows("WS24"))
    func secrecy() async throws {
        try await Shop(approve: { user in
            var text = "\(user) \(user.tokens)"
            dump(user, to: &text)
            return ["text": .string(text)]
        }).run { shop in
            let browser = Browser(shop)
            shop.provider.decide { _ in .approved(subject: "lovelace") }
            let callback = try await browser.callback()
            let attempt = try #require(browser.cookies.values.first)
            let request = browser.request("GET", callback, Browser.navigation)
            let response = await browser.send("GET", callback)
            let failed = await browser.send("GET", callback.replacing("code=", with: "code=x"))
            let session = try #require(await browser.session())
            let token = try await session.authenticator.accessToken().value.expose { $0 }
            let code = try #require(URLComponents(string: callback)?.queryItems?.first { $0.name == "code" }?.value)
            var text = session.values["text"]?.string ?? ""
            for value in [request, response, failed, session, shop.signIn, shop.store] as [Any] {
                text += "\n\(value) \(String(reflecting: value))\n"
                dump(value, to: &text)
            }
            let journal = response.error.map { "\($0)" } ?? "" + (failed.error.map { "\($0) \($0.logText)" } ?? "")
            let key = Shop.key.expose { $0 }
            for secret in [attempt, try #require(browser.session), token, code, key, "s3cret", "lovelace"] {
                let isShown = (text + journal).contains(secret)
                #expect(!isShown)
            }
        }
    }

    @Test("Without the store, nobody is signed in", .shows("WF10"))
    func storeDown() async throws {
        try await Shop().run { shop in
            let browser = Browser(shop)
            let host = try Shop.instance(
                shop.provider,
                shop.other,
                BrokenSessions(),
                shop.time,
                keys: RecordKeys(sealing: Shop.key)
            )
            let response = await browser.send("GET", try await browser.callback(), to: host)
            #expect(response.status == 503 && response.error?.code == .storeFailed)
            browser.cookies = ["__Host-session": String(repeating: "A", count: 43)]
            let refusal = await browser.open(at: host).refusal
            #expect(refusal?.status == 503 && refusal?.error?.code == .storeFailed)
        }
    }

    @Test("A full store refuses new values, and expired ones make room")
    func capacity() throws {
        let time = ManualTime()
        defer { time.end() }
        let store = InMemorySessions(capacity: 2, timeSource: time.timeSource)
        #expect(try store.write("1", for: "a", replacing: nil, lifetime: .seconds(10)) != nil)
        let version = try store.write("1", for: "b", replacing: nil, lifetime: .seconds(20))
        #expect(try store.write("2", for: "b", replacing: nil, lifetime: .seconds(20)) == nil)
        #expect(try store.write("2", for: "b", replacing: version, lifetime: .seconds(20)) != nil)
        #expect(throws: SignInError(.storeFailed, "")) {
            try store.write("3", for: "c", replacing: nil, lifetime: .seconds(10))
        }
        time.advance(by: .seconds(11))
        #expect(store.read("a") == nil && store.read("b")?.value == "2")
        #expect(try store.write("3", for: "c", replacing: nil, lifetime: .seconds(10)) != nil)
        #expect(store.count == 2)
    }

    @Test("A full store searches its values for expired ones at most once per second")
    func fullStore() throws {
        let time = ManualTime()
        defer { time.end() }
        let store = InMemorySessions(capacity: 2, timeSource: time.timeSource)
        for key in ["a", "b"] {
            #expect(try store.write("1", for: key, replacing: nil, lifetime: .milliseconds(500)) != nil)
        }
        for pause in [Duration.zero, .milliseconds(600)] {
            time.advance(by: pause)
            #expect(throws: SignInError(.storeFailed, "")) {
                try store.write("2", for: "c", replacing: nil, lifetime: .seconds(10))
            }
        }
        #expect(store.read("a") == nil && store.count == 2)
        time.advance(by: .milliseconds(400))
        #expect(try store.write("2", for: "c", replacing: nil, lifetime: .seconds(10)) != nil)
        #expect(store.count == 1)
    }
}
