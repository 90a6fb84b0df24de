import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

/// Requests to origins that the application didn't name.
@Suite("Requests that get no token", .limitedConcurrency)
struct WithheldTokenTests {
    @Test(
        "Names the origin and the rule if a server requires a token that the request doesn't get",
        .shows("G20"),
        arguments: [
            ("https://other.example/reports", "https://other.example:443"),
            ("http://api.example/reports", "http://api.example:80"),
            ("https://api.example:8443/", "https://api.example:8443"),
        ]
    )
    func reason(url: String, origin: String) async throws {
        let fixture = OAuth2Fixture(answers: [.refusal, .challenge("DPoP algs=\"ES256\"")])
        let client = fixture.client(fixture.authenticator(resources: [OAuth2Fixture.api]))
        let request = URLRequest(url: try #require(URL(string: url)))
        for _ in 1...2 {
            let error = await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
            #expect(error?.errorCode == 401)
            guard case .custom(let reason as OAuth2Error)? = error?.retry?.reason else {
                Issue.record("no reason: \(String(describing: error?.retry))")
                return
            }
            #expect(reason.code == .originNotCovered && reason.status == 401)
            #expect(reason.message.contains("don't have \(origin), only https://api.example:443;"))
            #expect(reason.serverText?.expose { $0.hasPrefix("WWW-Authenticate: ") } == true)
        }
        #expect(fixture.credentials == [nil, nil])
        #expect(fixture.endpoint.requests.isEmpty)
        // The event is reported once, and the counter counts each request.
        let withheld = fixture.events.tokenEvents.filter { $0.name == "oauth2.token.withheld" }
        #expect(withheld == [.withheld(origin: String(origin.drop { $0 != "/" }.dropFirst(2)))])
        #expect(withheld.first?.labels.keys.sorted() == ["server.address", "server.port"])
        #expect(fixture.events.tokenEvents.count { $0 == .refused } == 2)
    }

    @Test("Reports at most 64 origins, and names at most eight in the reason", .shows("G20"))
    func limits() async throws {
        let fixture = OAuth2Fixture(answers: Array(repeating: .refusal, count: 70))
        let resources = try (1...10).map { try #require(URL(string: "https://api\($0).example")) }
        let client = fixture.otherClient(fixture.authenticator(resources: .origins(of: resources)))
        for number in 1...70 {
            let url = try #require(URL(string: "https://other\(number).example/"))
            let error = await #expect(throws: OAuth2Error(.originNotCovered, "")) { try await client.send(url) }
            #expect(error?.message.contains("https://api8.example:443 and 2 more;") == true)
        }
        #expect(fixture.events.tokenEvents.count { $0.name == "oauth2.token.withheld" } == 64)
    }

    @Test(
        "Leaves other responses alone",
        arguments: [
            (401, ["WWW-Authenticate": "Basic realm=\"a\""], nil), (401, [:], nil),
            (401, ["WWW-Authenticate": "Bearer", "Accept-Signature": #"sig1=("@method")"#], nil),
            (403, ["WWW-Authenticate": "Bearer error=\"insufficient_scope\""], nil),
            (401, ["WWW-Authenticate": "Bearer"], "Basic YTpi"),
        ] as [(Int, HTTPHeaders, String?)]
    )
    func unrelated(status: Int, headers: HTTPHeaders, authorization: String?) async throws {
        let fixture = OAuth2Fixture(answers: [.status(status, headers: headers)])
        let client = fixture.client(fixture.authenticator(resources: [OAuth2Fixture.api]))
        var request = URLRequest(url: try #require(URL(string: "https://other.example/")))
        request.setValue(authorization, forHTTPHeaderField: "Authorization")
        let error = await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
        #expect(error?.errorCode == status && error?.retry == nil)
        #expect(fixture.events.tokenEvents.isEmpty)
    }

    @Test("Leaves a request alone that another authenticator authorizes")
    func otherAuthenticator() async throws {
        let fixture = OAuth2Fixture(answers: [.refusal])
        let url = try #require(URL(string: "https://other.example/"))
        let client = fixture.client(
            fixture.authenticator(resources: [OAuth2Fixture.api]),
            fixture.authenticator(resources: [url])
        )
        #expect(try await client.makeRequest(URLRequest(url: url)) == Data("ok".utf8))
        #expect(fixture.credentials == ["Bearer access-1", "Bearer access-2"])
        #expect(!fixture.events.tokenEvents.contains { $0.name == "oauth2.token.withheld" })
    }
}
