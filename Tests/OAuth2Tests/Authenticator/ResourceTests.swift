import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// Which requests get the token, and which must not.
@Suite("OAuth2Authenticator: where tokens go", .timeLimit(.minutes(10)), .limitedConcurrency)
struct ResourceTests {
    @Test("An Authorization that the caller set is left as it is, also when it is refused")
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
        "A token of characters that RFC 6750 doesn't allow is not put into a header field",
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
            let code = await failureCode { _ = try await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) }
            #expect(code == .malformedRequest)
        }
        #expect(fixture.resource.requests.isEmpty)
    }

    @Test("Tokens go to the given origins, whatever the path and however the origin is written")
    func givenOrigins() async throws {
        let fixture = OAuth2Fixture()
        let resources = ["https://api.example/v1", "https://other.example:8443"].compactMap { URL(string: $0) }
        let client = fixture.client(fixture.authenticator(resources: .origins(of: resources)))
        let urls = [
            "https://api.example/reports", "HTTPS://API.example:443/", "https://other.example:8443/x?y#z",
            "https://api.example./", "https://api.example:8443/", "https://sub.api.example/", "https://example/",
            "https://other.example/", "http://api.example/", "https://evil.example/?https://api.example",
        ]
        for url in urls {
            _ = try? await client.makeRequest(URLRequest(url: try #require(URL(string: url))))
        }
        #expect(fixture.resource.requests.map(\.url.absoluteString) == urls)
        #expect(fixture.credentials == Array(repeating: "Bearer access-1", count: 3) + Array(repeating: nil, count: 7))
    }

    @Test(
        "An empty list of resources, or one with a URL that has no origin, fails every request",
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

    @Test("Every https origin gets the token only if that is asked for by name")
    func everyOrigin() async throws {
        let fixture = OAuth2Fixture()
        let client = fixture.client(fixture.authenticator(resources: .everyHTTPSOrigin))
        for url in ["https://api.example/reports", "https://other.example:8443/"] {
            _ = try await client.makeRequest(URLRequest(url: try #require(URL(string: url))))
        }
        #expect(fixture.credentials == ["Bearer access-1", "Bearer access-1"])
    }

    @Test(
        "A token never goes without TLS to another machine",
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

    @Test("On loopback tokens go without TLS", arguments: ["http://127.0.0.1:8080/", "http://localhost/"])
    func loopback(url: String) async throws {
        let fixture = OAuth2Fixture()
        let client = fixture.client(fixture.authenticator())
        _ = try await client.makeRequest(URLRequest(url: try #require(URL(string: url))))
        #expect(fixture.credentials == ["Bearer access-1"])
    }

    @Test("A failed token request ends the call before anything is sent, with the reason as the cause")
    func noToken() async throws {
        let fixture = OAuth2Fixture(steps: [.error("invalid_client", status: 401)])
        let client = fixture.client(fixture.authenticator(), Retry.Policy.maxRetries(3, when: .always))
        let error = await #expect(throws: NetworkError.self) {
            try await client.makeRequest(URLRequest(url: OAuth2Fixture.api))
        }
        #expect(error?.code == .requestNotMade)
        #expect((error?.cause as? OAuth2Error)?.code == .invalidClient)
        #expect(fixture.resource.requests.isEmpty)
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("The scheme is written as Bearer, whatever the server calls it")
    func canonicalScheme() async throws {
        let fixture = OAuth2Fixture(steps: [.json(#"{"access_token":"a1","token_type":"bEARER"}"#)])
        fixture.issue("a1")
        let client = fixture.client(fixture.authenticator())
        _ = try await client.makeRequest(URLRequest(url: OAuth2Fixture.api))
        #expect(fixture.credentials == ["Bearer a1"])
    }

    @Test("A refused request of another authenticator is none of this one's")
    func othersRefusal() {
        let authenticator = OAuth2Fixture().authenticator()
        var request = URLRequest(url: OAuth2Fixture.api)
        let response = HTTPResponse(url: OAuth2Fixture.api, status: 401)
        for field in [nil, "Bearer unknown", "Basic YTpi", "Bearer", "unknown"] {
            request.setValue(field, forHTTPHeaderField: "Authorization")
            let action = authenticator.evaluateFailedRequest(
                request,
                response: response,
                error: ServerError(endpoint: "reports", errorCode: 401),
                context: InterceptorContext()
            )
            #expect(DecidedAction(action) == .none)
        }
    }
}
