import Foundation
import OAuth2
import Testing

@Suite("Comparison of token texts by bytes")
struct ExactTextTests {
    private static let spellings = ["\u{E9}", "e\u{301}"]

    @Test("Access tokens differ if their scope or type has another Unicode spelling")
    func accessTokens() {
        let now = ContinuousClock.now
        for make in [
            { AccessToken(value: Secret("t"), scope: $0, requested: now) },
            { AccessToken(value: Secret("t"), type: $0, requested: now) },
            { AccessToken(value: Secret($0), requested: now) },
        ] as [(String) -> AccessToken] {
            let tokens = Self.spellings.map(make)
            #expect(tokens[0] != tokens[1])
            #expect(tokens[0] == make(Self.spellings[0]))
            #expect(Set(tokens + tokens).count == 2)
        }
    }

    @Test("Records differ in each property, and texts in their Unicode spelling")
    func records() {
        let changes: [(inout TokenRecord, String) -> Void] = [
            { $0.accessToken = Secret($1) }, { $0.tokenType = $1 }, { $0.scope = $1 },
            { $0.refreshToken = Secret($1) }, { $0.proofKey = Secret($1) }, { $0.proofKeyThumbprint = $1 },
            { $0.refreshAttempt = RefreshAttempt(id: $1) }, { $0.epoch = $1 },
            { $0.refreshAttempt = RefreshAttempt(id: "a", host: $1) },
            { $0.refreshAttempt = RefreshAttempt(id: "a", earlier: [$1]) },
        ]
        let plain = TokenRecord(accessToken: Secret("t"))
        for change in changes {
            let records = Self.spellings.map { text in
                var record = plain
                change(&record, text)
                return record
            }
            #expect(Set(records + [plain] + records).count == 3)
        }
        let moment = Date(timeIntervalSince1970: 1)
        #expect(TokenRecord(accessToken: Secret("t"), expiration: moment) != plain)
        #expect(TokenRecord(accessToken: Secret("t"), obtained: moment) != plain)
        #expect(TokenRecord(accessToken: Secret("t"), end: .signedOut) != plain)
        #expect(TokenRecord(accessToken: Secret("t"), generation: 1) != plain)
        let pause = RefreshPause(duration: .seconds(1), end: moment)
        #expect(TokenRecord(accessToken: Secret("t"), pause: pause) != plain)
        #expect(TokenRecord(accessToken: Secret("t")) == plain)
    }
}
