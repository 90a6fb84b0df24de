import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// Tests which requests get the token.
@Suite("OAuth2Authenticator: origins of tokens", .limitedConcurrency)
struct ResourceTests {
    @Test("Leaves the caller's Authorization field unchanged, even if it's rejected")
    func callersAuthorization() async throws {
        let fixture = OAuth2Fixture(answers: [.refusal])
        let client = fixture.client(fixture.authenticator())
        var request = URLRequest(url: OAuth2Fixture.api)
        request.setValue("Bearer the caller's", forHTTPHeaderField: "Authorization")
        let error = await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
        #expect(error?.errorCode == 401)
        #expect(fixture.credentials == ["Bearer the caller's"])
        #expect(fixture.endpoint.requests.isEmpty)
    }

    @Test(
        "Rejects a token with characters that RFC 6750 doesn't allow in a header field",
        .shows("S11"),
        arguments: ["a b", "a, DPoP b", "a\r\nX-Evil: 1", "", "é", "a=b", "\"a\""]
    )
    func tokenCharacters(_ text: String) async throws {
        let fixture = OAuth2Fixture()
        for key in try [nil, DPoPProofGenerator(key: .generate(.es256))] {
            let token = AccessToken(
                value: Secret(text),
                type: key == nil ? "Bearer" : "DPoP",
                requested: fixture.time.now,
                proofGenerator: key
            )
            let authenticator = OAuth2Authenticator(
                source: StaticTokenSource(token),
                resources: .everyHTTPSOrigin,
                timing: .init(timeSource: fixture.time.timeSource)
            )
            let client = fixture.client(authenticator)
            let code = await failureCode { try await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) }
            #expect(code == .malformedRequest)
        }
        #expect(fixture.resource.requests.isEmpty)
    }

    @Test(
        "Sends tokens to the given origins, for any path and spelling, or if requested to every origin with TLS",
        .shows("G3", "Z3", "RFC 6750 §2.1")
    )
    func givenOrigins() async throws {
        let resources = ["https://api.example/v1", "https://other.example:8443"].compactMap { URL(string: $0) }
        let (given, others) = (
            ["https://api.example/reports", "HTTPS://API.example:443/", "https://other.example:8443/x?y#z"],
            [
                "https://api.example./", "https://api.example:8443/", "https://sub.api.example/", "https://example/",
                "https://other.example/", "http://api.example/", "https://evil.example/?https://api.example",
            ]
        )
        let secure = [
            "https://api.example/reports", "https://other.example:8443/", "http://127.0.0.1:8080/", "http://localhost/",
        ]
        let rows: [(ResourceRule, [String], [String])] = [
            (.origins(of: resources), given, others), (.everyHTTPSOrigin, secure, []),
        ]
        for (rule, given, others) in rows {
            let fixture = OAuth2Fixture()
            let client = fixture.client(fixture.authenticator(resources: rule))
            for url in given + others { _ = try? await client.makeRequest(URLRequest(url: #require(URL(string: url)))) }
            #expect(fixture.resource.requests.map(\.url.absoluteString) == given + others)
            #expect(fixture.credentials == given.map { _ in "Bearer access-1" } + others.map { _ in nil })
        }
    }

    @Test(
        "Fails every request if the list of resources is empty or a URL has no origin",
        .shows("K12"),
        arguments: [[], ["/reports"], ["https://api.example", "api.example"], ["ftp://api.example"]]
    )
    func resourcesWithoutOrigin(urls: [String]) async throws {
        let fixture = OAuth2Fixture()
        let resources = ResourceRule.origins(of: urls.compactMap { URL(string: $0) })
        let client = fixture.client(fixture.authenticator(resources: resources))
        for url in [OAuth2Fixture.api, try #require(URL(string: "https://other.example/"))] {
            let error = await #expect(throws: NetworkError.self) { try await client.makeRequest(URLRequest(url: url)) }
            #expect(error?.code == .requestNotMade)
            #expect((error?.cause as? OAuth2Error)?.code == .malformedRequest)
        }
        #expect(fixture.resource.requests.isEmpty)
        #expect(fixture.endpoint.requests.isEmpty)
    }

    @Test(
        "Never sends a token to another machine without TLS",
        .shows("G3", "RFC 6750 §5.2, §5.3"),
        arguments: ["http://api.example/", "http://127.0.0.1.example/", "http://192.168.0.1/"]
    )
    func insecure(url: String) async throws {
        let fixture = OAuth2Fixture()
        let target = try #require(URL(string: url))
        for resources in [ResourceRule.everyHTTPSOrigin, [target]] {
            let client = fixture.client(fixture.authenticator(resources: resources))
            let error = await #expect(throws: NetworkError.self) {
                try await client.makeRequest(URLRequest(url: target))
            }
            #expect(error?.code == .requestNotMade)
            #expect((error?.cause as? OAuth2Error)?.code == .insecureTransport)
        }
        #expect(fixture.resource.requests.isEmpty)
        #expect(fixture.endpoint.requests.isEmpty)
    }

    @Test("A failed token request ends the call before anything is sent, with the reason as the cause", .shows("2.8"))
    func noToken() async throws {
        let fixture = OAuth2Fixture(steps: [.error("invalid_client", status: 401)])
        let client = fixture.client(fixture.authenticator(), Retry.Policy.maxRetries(3, when: .always))
        let error = await #expect(throws: NetworkError.self) {
            try await client.makeRequest(URLRequest(url: OAuth2Fixture.api))
        }
        #expect((error?.code, (error?.cause as? OAuth2Error)?.code) == (.requestNotMade, .invalidClient))
        #expect(fixture.resource.requests.isEmpty)
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("Writes the scheme as Bearer, however the server spells it", .shows("RFC 6750 §2.1"))
    func canonicalScheme() async throws {
        let fixture = OAuth2Fixture(steps: [.json(#"{"access_token":"a1","token_type":"bEARER"}"#)])
        fixture.issue("a1")
        let client = fixture.client(fixture.authenticator())
        _ = try await client.makeRequest(URLRequest(url: OAuth2Fixture.api))
        #expect(fixture.credentials == ["Bearer a1"])
    }
}
