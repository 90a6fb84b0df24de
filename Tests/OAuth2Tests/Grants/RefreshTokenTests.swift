import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestTurns
import Testing

@Suite("Refresh tokens", .timeLimit(.minutes(10)), .turns)
struct RefreshTokenTests {
    private let grant = RefreshTokenGrant(refreshToken: Secret("refresh-0"))

    @Test("The first refresh token starts the chain, and each successor goes on with it")
    func rotation() async throws {
        let realm = Realm(steps: [.tokens("a1", refresh: "refresh-1"), .tokens("a2", refresh: "refresh-2")])
        let authenticator = realm.authenticator(grant: grant)
        #expect(try await authenticator.text() == "a1")
        realm.time.advance(by: .seconds(3600))
        #expect(try await authenticator.text() == "a2")
        #expect(realm.forms.map { $0["grant_type"] } == ["refresh_token", "refresh_token"])
        #expect(realm.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1"])
    }

    @Test("A rotated token is in the store before anyone uses the access token")
    func storedBeforeUse() async throws {
        let events = Journal()
        let store = ProbedTokenStore { record in events.add("stored \(record.refresh ?? "nothing")")
        }
        let realm = Realm(
            steps: [.tokens("a1", refresh: "refresh-1")],
            answers: [
                .handler { request in
                    events.add("used \(request.headers["Authorization"] ?? "nothing")")
                    return .text("ok")
                }
            ]
        )
        let client = realm.client(realm.authenticator(grant: grant, store: store))
        _ = try await client.makeRequest(URLRequest(url: Realm.api))
        #expect(events.entries == ["stored refresh-1", "used Bearer a1"])
    }

    @Test("An answer without a refresh token means the old one to go on")
    func omitted() async throws {
        let realm = Realm(steps: [.tokens("a1"), .tokens("a2", refresh: ""), .tokens("a3")])
        let store = ProbedTokenStore()
        let authenticator = realm.authenticator(grant: grant, store: store)
        for expected in ["a1", "a2", "a3"] {
            #expect(try await authenticator.text() == expected)
            realm.time.advance(by: .seconds(3600))
        }
        #expect(realm.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-0", "refresh-0"])
        #expect(store.written.map(\.refresh) == ["refresh-0", "refresh-0", "refresh-0"])
    }

    @Test("A refused refresh token ends the grant: every caller hears so, and the server no more")
    func invalidGrant() async throws {
        let realm = Realm(steps: [.tokens("a1", refresh: "refresh-1"), .error("invalid_grant")])
        let store = ProbedTokenStore()
        let authenticator = realm.authenticator(grant: grant, store: store)
        let client = realm.client(authenticator)
        _ = try await authenticator.text()
        realm.time.advance(by: .seconds(3600))
        for _ in 1...3 {
            #expect(await failureCode { _ = try await authenticator.text() } == .reauthenticationRequired)
            let code = await failureCode { _ = try await client.makeRequest(URLRequest(url: Realm.api)) }
            #expect(code == .reauthenticationRequired)
        }
        #expect(realm.endpoint.requests.count == 2)
        #expect(realm.resource.requests.isEmpty)
        #expect(store.removals == 1)
    }

    @Test("The error of a grant that ended has the server's code, status and cause")
    func invalidGrantDetails() async throws {
        let realm = Realm(steps: [.error("invalid_grant")])
        let error = await #expect(throws: OAuth2Error.self) { try await realm.authenticator(grant: grant).text() }
        #expect(error?.serverCode == "invalid_grant")
        #expect(error?.status == 400)
        #expect((error?.cause as? OAuth2Error)?.cause is ServerError)
        #expect(error?.isRetryable == false)
    }

    @Test("A store that can't remove a refused token does not bring it back")
    func refusedTokenStaysRefused() async throws {
        let realm = Realm(steps: [.tokens("a1", refresh: "refresh-1"), .error("invalid_grant")])
        let store = ProbedTokenStore()
        let authenticator = realm.authenticator(grant: grant, store: store)
        _ = try await authenticator.text()
        store.fail(.remove)
        realm.time.advance(by: .seconds(3600))
        #expect(await failureCode { _ = try await authenticator.text() } == .reauthenticationRequired)
        #expect(realm.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1"])
    }

    @Test(
        "A failing server, whatever code it sends, does not cost the refresh token",
        arguments: [
            (503, "invalid_grant"), (500, "server_error"), (429, "invalid_grant"), (400, "temporarily_unavailable"),
        ]
    )
    func transient(status: Int, code: String) async throws {
        let realm = Realm(steps: [.error(code, status: status), .tokens("a1", refresh: "refresh-1")])
        let authenticator = realm.authenticator(grant: grant)
        #expect(await failureCode { _ = try await authenticator.text() } == .serverTransient)
        realm.time.advance(by: .seconds(1))
        #expect(try await authenticator.text() == "a1")
        #expect(realm.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-0"])
    }

    @Test("Two users' tokens in one store are two users' tokens")
    func twoUsers() async throws {
        let realm = Realm(steps: [.tokens("alice's", refresh: "x"), .tokens("bob's", refresh: "y")])
        let store = InMemoryTokenStore()
        let alice = realm.authenticator(grant: RefreshTokenGrant(refreshToken: Secret("alice")), store: store)
        let bob = realm.authenticator(grant: RefreshTokenGrant(refreshToken: Secret("bob")), store: store)
        #expect(try await alice.text() == "alice's")
        #expect(try await bob.text() == "bob's")
        #expect(realm.forms.map { $0["refresh_token"] } == ["alice", "bob"])
    }

    @Test("A new authenticator goes on with the newest token in the store")
    func restart() async throws {
        let realm = Realm(steps: [.tokens("a1", refresh: "refresh-1"), .tokens("a2", refresh: "refresh-2")])
        let store = InMemoryTokenStore()
        _ = try await realm.authenticator(grant: grant, store: store).text()
        realm.time.advance(by: .seconds(3600))
        #expect(try await realm.authenticator(grant: grant, store: store).text() == "a2")
        #expect(realm.forms.last?["refresh_token"] == "refresh-1")
    }

    @Test("A record that another removed ends the grant: the first token is not dug out again")
    func removedRecord() async throws {
        let realm = Realm(steps: [.tokens("a1", refresh: "refresh-1"), .error("invalid_grant")])
        let store = InMemoryTokenStore()
        let first = realm.authenticator(grant: grant, store: store)
        _ = try await first.text()
        realm.time.advance(by: .seconds(3600))
        let second = realm.authenticator(grant: grant, store: store)
        #expect(await failureCode { _ = try await second.text() } == .reauthenticationRequired)
        #expect(await failureCode { _ = try await first.text() } == .reauthenticationRequired)
        #expect(realm.endpoint.requests.count == 2)
    }

    @Test("Nor is it by who only found a record and never refreshed")
    func removedRecordAfterFinding() async throws {
        let realm = Realm(steps: [.tokens("a1", refresh: "refresh-1"), .error("invalid_grant")])
        let store = InMemoryTokenStore()
        let first = realm.authenticator(grant: grant, store: store)
        let second = realm.authenticator(grant: grant, store: store)
        #expect(try await first.text() == "a1")
        #expect(try await second.text() == "a1")
        realm.time.advance(by: .seconds(3600))
        #expect(await failureCode { _ = try await first.text() } == .reauthenticationRequired)
        #expect(await failureCode { _ = try await second.text() } == .reauthenticationRequired)
        #expect(realm.endpoint.requests.count == 2)
    }

    @Test("Client credentials that are called an invalid grant may be right later, when the clock is")
    func clientCredentials() async throws {
        let realm = Realm(steps: [.error("invalid_grant")])
        let authenticator = realm.authenticator()
        #expect(await failureCode { _ = try await authenticator.text() } == .requestRejected)
        #expect(try await authenticator.text() == "access-1")
    }

    @Test("A refused refresh token of client credentials leads back to the client's credentials")
    func refreshTokenOfClientCredentials() async throws {
        let realm = Realm(steps: [.tokens("a1", refresh: "refresh-1"), .error("invalid_grant")])
        let authenticator = realm.authenticator()
        _ = try await authenticator.text()
        realm.time.advance(by: .seconds(3600))
        #expect(try await authenticator.text() == "access-1")
        #expect(
            realm.forms.map { $0["grant_type"] } == ["client_credentials", "refresh_token", "client_credentials"]
        )
    }
}
