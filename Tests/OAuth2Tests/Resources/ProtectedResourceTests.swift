import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Protected resource metadata", .limitedConcurrency)
struct ProtectedResourceTests {
    private let time = ManualTime()

    @Test(
        "The document is at the well-known URL of the identifier",
        .shows("RFC 9728 §2, §3"),
        arguments: [
            ("https://api.example", "https://api.example/.well-known/oauth-protected-resource"),
            ("https://api.example/", "https://api.example/.well-known/oauth-protected-resource"),
            ("https://api.example/a/b", "https://api.example/.well-known/oauth-protected-resource/a/b"),
            ("https://api.example:8443/a%2Fb/", "https://api.example:8443/.well-known/oauth-protected-resource/a%2Fb/"),
            ("https://api.example?t=1", "https://api.example/.well-known/oauth-protected-resource?t=1"),
            ("https://api.example/?t=1", "https://api.example/.well-known/oauth-protected-resource?t=1"),
            ("https://api.example/a?t=/b", "https://api.example/.well-known/oauth-protected-resource/a?t=/b"),
        ]
    )
    func locations(identifier: String, url: String) throws {
        let resource = try ProtectedResource(identifier: identifier, authorizationServers: [])
        #expect(try resource.metadataURL.absoluteString == url)
    }

    @Test(
        "Rejects an identifier that isn't an https URL without a fragment",
        arguments: [
            ("", OAuth2Error.Code.protocolViolation), ("api", .protocolViolation), ("urn:api", .protocolViolation),
            ("https://api.example#f", .protocolViolation), ("https://me@api.example", .protocolViolation),
            ("http://api.example", .insecureTransport),
        ]
    )
    func badIdentifiers(identifier: String, code: OAuth2Error.Code) async throws {
        #expect(throws: OAuth2Error(code, "")) {
            try ProtectedResource(identifier: identifier, authorizationServers: [])
        }
        let transport = MockTransport(time: time.timeSource) { _ in .json("{}") }
        let found = await failureCode {
            try await ProtectedResource.discover(identifier, client: client(transport), timing: timing)
        }
        #expect(found == code)
        #expect(transport.requests.isEmpty)
    }

    @Test("A resource publishes what a client reads, and omits empty lists", .shows("RFC 9728 §2, §3"))
    func publication() throws {
        let resource = try ProtectedResource(
            identifier: "https://api.example/mcp",
            authorizationServers: ["https://as.example"],
            scopes: ["read", "write"],
            members: ["resource_name": "Tools", "resource": "https://other.example"]
        )
        #expect(try ProtectedResource(metadata: resource.metadata, identifier: "https://api.example/mcp") == resource)
        #expect(resource.metadata["resource_name"] == "Tools")
        let plain = try ProtectedResource(identifier: "https://api.example", authorizationServers: [])
        #expect(plain.metadata == ["resource": "https://api.example"])
    }

    @Test(
        "Rejects metadata of another resource or with members of the wrong type",
        .shows("RFC 9728 §2, §3"),
        arguments: [
            #"{}"#, #"{"resource":7}"#, #"{"resource":"https://api.example/other"}"#,
            #"{"resource":"https://api.example/mcp/"}"#, #"{"resource":"https://API.example/mcp"}"#,
            #"{"resource":"https://api.example"}"#,
            #"{"resource":"https://api.example/mcp","authorization_servers":[7]}"#,
            #"{"resource":"https://api.example/mcp","authorization_servers":{}}"#,
            #"{"resource":"https://api.example/mcp","scopes_supported":[null]}"#, "[]", "<html>",
        ]
    )
    func badDocuments(text: String) async throws {
        let transport = MockTransport(time: time.timeSource) { _ in .json(text) }
        let error = await failure {
            try await ProtectedResource.discover("https://api.example/mcp", client: client(transport), timing: timing)
        }
        #expect(error?.code == .protocolViolation)
        #expect(error?.message.contains("matching") == false)
    }

    // MARK: Challenges

    @Test(
        "Follows the challenge of any OAuth scheme to the document",
        .shows("O34", "RFC 9728 §4, §5"),
        arguments: ["Bearer", "DPoP", "bearer"]
    )
    func challenge(scheme: String) async throws {
        let document = "https://api.example/meta?x=1"
        let transport = documents([document: metadata("https://api.example/mcp?a=b")])
        let found = try await discover(
            after: "https://api.example/mcp?a=b",
            challenge: #"Basic realm="a", \#(scheme) resource_metadata="\#(document)", scope="one two""#,
            transport
        )
        #expect(found.identifier == "https://api.example/mcp?a=b")
        #expect(found.authorizationServers == ["https://as.example"])
        #expect(found.demandedScopes == ["one", "two"])
        #expect(try found.scope(within: "one two three") == "one two")
        #expect(transport.requests.map(\.url.absoluteString) == [document])
        #expect(transport.requests[0].headers["Authorization"] == nil)
    }

    @Test("Ignores demanded scope of excessive size")
    func longScope() async throws {
        let document = "https://api.example/meta"
        let scope = String(repeating: "x ", count: 1_100)
        let found = try await discover(
            after: "https://api.example/mcp",
            challenge: #"Bearer resource_metadata="\#(document)", scope="\#(scope)""#,
            documents([document: metadata("https://api.example/mcp")])
        )
        #expect(found.demandedScopes.isEmpty)
    }

    @Test(
        "Doesn't follow a challenge to another origin or a document about another URL",
        .shows("G14"),
        arguments: [
            ("https://evil.example/meta", "https://api.example/mcp"),
            ("http://api.example/meta", "https://api.example/mcp"),
            ("https://api.example:8443/meta", "https://api.example/mcp"),
            ("https://api.example@evil.example/meta", "https://api.example/mcp"),
            ("https://127.0.0.1/meta", "https://api.example/mcp"), ("file:///etc/passwd", "https://api.example/mcp"),
            ("https://api.example/meta", "https://api.example"), ("https://api.example/meta", "https://api.example/mc"),
            ("https://api.example/meta", "https://evil.example/mcp"),
        ]
    )
    func foreignDocuments(document: String, resource: String) async throws {
        let transport = documents([document: metadata(resource)])
        let challenge = #"Bearer resource_metadata="\#(document)""#
        let code = await failureCode {
            try await discover(after: "https://api.example/mcp", challenge: challenge, transport)
        }
        #expect(code == .protocolViolation)
        #expect(transport.requests.allSatisfy { $0.url.host == "api.example" })
    }

    @Test("Without a challenge, tries the path and then the origin", .shows("RFC 9728 §4, §5"))
    func wellKnown() async throws {
        let place = "https://api.example/.well-known/oauth-protected-resource"
        for root in ["https://api.example", "https://api.example/"] {
            let transport = documents([place: metadata(root)])
            let found = try await discover(after: "https://api.example/mcp/v1?a=b", challenge: "Bearer", transport)
            #expect((found.identifier, try found.scope(within: "read write")) == (root, "read"))
            #expect(transport.requests.map(\.url.absoluteString) == [place + "/mcp/v1", place])
        }
        let exact = documents([place + "/mcp": metadata("https://api.example/mcp")])
        #expect(try await discover(after: "https://api.example/mcp", exact).identifier == "https://api.example/mcp")
        // A document at the path that describes the origin is another resource's.
        let wrong = documents([place + "/mcp": metadata("https://api.example")])
        #expect(await failureCode { try await discover(after: "https://api.example/mcp", wrong) } == .protocolViolation)
    }

    @Test(
        "Accepts a prefix of the URL only where the application says so",
        arguments: [
            ("https://api.example/mcp/v1/tools?a=b", "https://api.example/mcp/v1"),
            ("https://api.example/mcp/v1", "https://api.example/mcp"),
            ("https://api.example/mcp/v1", "https://api.example/mcp/"),
            ("https://api.example/mcp/v1", "https://api.example"),
            ("https://api.example/mcp/v1", "https://api.example/"),
            ("https://api.example/mcp/v1", "https://api.example:443/mcp"),
            ("https://api.example/a%20b/c", "https://api.example/a%20b"),
        ]
    )
    func prefixes(url: String, resource: String) async throws {
        let document = "https://api.example/meta"
        let challenge = #"Bearer resource_metadata="\#(document)""#
        let transport = documents([document: metadata(resource)])
        let found = try await discover(after: url, challenge: challenge, matching: .pathPrefix, transport)
        #expect(found.identifier == resource)
        let error = try #require(await failure { try await discover(after: url, challenge: challenge, transport) })
        #expect(error.code == .protocolViolation)
        #expect(error.message.contains("at the same origin") && error.message.contains("`matching: .pathPrefix`"))
        #expect(error.serverText?.expose { $0 } == "resource: \(resource)")
        #expect(!error.description.contains(resource))
    }

    @Test("Accepts a prefix at the well-known URLs of the path and of the origin")
    func prefixAtWellKnownURL() async throws {
        let place = "https://api.example/.well-known/oauth-protected-resource"
        for (location, resource) in [
            (place + "/mcp/v1", "https://api.example/mcp"), (place + "/mcp/v1", "https://api.example"),
            (place, "https://api.example/mcp"), (place, "https://api.example"),
            (place + "/mcp/v1", "https://api.example/mcp/v1"),
        ] {
            let transport = documents([location: metadata(resource)])
            let found = try await discover(after: "https://api.example/mcp/v1?a=b", matching: .pathPrefix, transport)
            #expect(found.identifier == resource)
        }
    }

    @Test(
        "Rejects what isn't a prefix in whole segments at the same origin, also with prefixes",
        .shows("G14"),
        arguments: [
            ("https://api.example/api/x", "https://evil.example/api"),
            ("https://api.example/api/x", "http://api.example/api"),
            ("https://api.example/api/x", "https://api.example:8443/api"),
            ("https://api.example/api/x", "https://api.example.evil.example/api"),
            ("https://api.example/api/x", "https://api.example@evil.example/api"),
            ("https://api.example/api/x", "https://me@api.example/api"), ("https://api.example/api/x", "/api"),
            ("https://api.example/apix", "https://api.example/api"),
            ("https://api.example/api", "https://api.example/apix"),
            ("https://api.example/api", "https://api.example/api/x"),
            ("https://api.example/api", "https://api.example/api/"),
            ("https://api.example/api/x", "https://api.example/API"),
            ("https://api.example/api/x", "https://api.example/%61pi"),
            ("https://api.example/api/x", "https://api.example/api/../api"),
            ("https://api.example/api/x", "https://api.example/api/."),
            ("https://api.example/api/%2e%2e/x", "https://api.example/api"),
            ("https://api.example/api/%2E./x", "https://api.example/api"),
            ("https://api.example/api/..;a/x", "https://api.example/api"),
            ("https://api.example/api/%252e%252e/x", "https://api.example/api"),
            ("https://api.example/api%2Fx", "https://api.example/api"),
            ("https://api.example/api/..%2fx", "https://api.example/api"),
            ("https://api.example/api/..%5Cx", "https://api.example/api"),
            ("https://api.example/api/x", "https://api.example/api\\\\x"),
            ("https://api.example/api//x", "https://api.example/api"),
            ("https://api.example/api/x", "https://api.example/api?a=b"),
            ("https://api.example/api/x?a=b", "https://api.example/api?a=b"),
            ("https://api.example/api?x=/api/y", "https://api.example/api?x="),
            ("https://api.example/api/x", "https://api.example/api#"), ("https://api.example/api/x", ""),
        ]
    )
    func falsePrefixes(url: String, resource: String) async throws {
        let document = "https://api.example/meta"
        let challenge = #"Bearer resource_metadata="\#(document)""#
        let transport = documents([document: metadata(resource)])
        let code = await failureCode {
            try await discover(after: url, challenge: challenge, matching: .pathPrefix, transport)
        }
        #expect(code == .protocolViolation)
    }

    @Test(
        "Reports a missing document, an outage and a redirect",
        .shows("G14"),
        arguments: [
            (404, OAuth2Error.Code.endpointMissing), (401, .endpointMissing), (410, .endpointMissing),
            (503, .serverTransient), (302, .protocolViolation),
        ]
    )
    func outages(status: Int, code: OAuth2Error.Code) async throws {
        let transport = MockTransport(time: time.timeSource) { _ in
            .init(status: status, headers: ["Location": "https://evil.example/"])
        }
        #expect(await failureCode { try await discover(after: "https://api.example/mcp", transport) } == code)
        #expect(transport.requests.allSatisfy { $0.url.host == "api.example" })
        // An error without a response is a misuse.
        let misuse = ServerError(endpoint: nil, errorCode: status)
        let found = await failureCode {
            try await ProtectedResource.discover(after: misuse, client: client(transport), timing: timing)
        }
        #expect(found == .malformedRequest)
    }

    // MARK: Authorization servers

    @Test("Loads the first trusted server, from each place where its metadata can be", .shows("O34"))
    func servers() async throws {
        let resource = try ProtectedResource(
            identifier: "https://api.example/mcp",
            authorizationServers: ["https://evil.example", "https://as.example/t"]
        )
        let places = [
            "https://as.example/.well-known/oauth-authorization-server/t",
            "https://as.example/.well-known/openid-configuration/t",
            "https://as.example/t/.well-known/openid-configuration",
        ]
        for (index, place) in places.enumerated() {
            let transport = documents([
                place: #"{"issuer":"https://as.example/t","token_endpoint":"https://as.example/token"}"#
            ])
            let server = try await resource.authorizationServer(client: client(transport), timing: timing) {
                $0 == "https://as.example/t"
            }
            #expect(server.tokenEndpoint.absoluteString == "https://as.example/token")
            #expect(transport.requests.map(\.url.absoluteString) == Array(places[...index]))
        }
    }

    @Test(
        "Rejects servers that aren't trusted, not named, not confidential or don't list the resource",
        .shows("G14", "RFC 9728 §4, §5")
    )
    func badServers() async throws {
        let listing = """
            {"issuer":"ISSUER","token_endpoint":"https://as.example/t","protected_resources":["https://api"]}
            """
        for (issuers, trusted, code) in [
            ([], true, .endpointMissing), (["https://as.example"], false, .issuerMismatch),
            (["https://as.example"], true, .issuerMismatch), (["http://as.example"], true, .insecureTransport),
            (["https://localhost"], true, .insecureTransport), (["http://127.0.0.1"], true, .insecureTransport),
            (["as"], true, .insecureTransport), (["https://["], true, .invalidIssuer),
        ] as [([String], Bool, OAuth2Error.Code)] {
            let resource = try ProtectedResource(identifier: "https://api.example", authorizationServers: issuers)
            let transport = MockTransport(time: time.timeSource) { _ in
                .json(listing.replacing("ISSUER", with: issuers.first ?? ""))
            }
            let found = await failureCode {
                try await resource.authorizationServer(client: client(transport), timing: timing) { _ in trusted }
            }
            #expect(found == code, "\(issuers)")
        }
    }

    // MARK: Helpers

    /// One attempt, because nothing advances the clock.
    private var timing: OAuth2Timing { OAuth2Timing(attempts: 1, timeSource: time.timeSource, random: { 0 }) }

    private func client(_ transport: MockTransport) -> NetworkClient {
        NetworkClient(transport: transport, options: .init(timeSource: time.timeSource))
    }

    private func metadata(_ resource: String) -> String {
        #"{"resource":"\#(resource)","authorization_servers":["https://as.example"],"scopes_supported":["read"]}"#
    }

    /// Returns a transport that has documents at the given URLs, and nothing elsewhere.
    private func documents(_ documents: [String: String]) -> MockTransport {
        MockTransport(time: time.timeSource) { request in
            documents[request.url.absoluteString].map { .json($0) } ?? .init(status: 404)
        }
    }

    /// Returns the error that a client throws for a 401 response.
    private func rejection(of url: String, challenge: String?) async throws -> ServerError {
        var headers: HTTPHeaders = [:]
        headers["WWW-Authenticate"] = challenge
        let transport = MockTransport(time: time.timeSource) { [headers] _ in .init(status: 401, headers: headers) }
        let request = URLRequest(url: try #require(URL(string: url)))
        return try await #require(throws: ServerError.self) { try await client(transport).makeRequest(request) }
    }

    /// Follows a rejection of a request to the resource.
    private func discover(
        after url: String,
        challenge: String? = nil,
        matching: ProtectedResource.Matching = .exact,
        _ transport: MockTransport
    ) async throws -> ProtectedResource {
        let error = try await rejection(of: url, challenge: challenge)
        return try await ProtectedResource.discover(
            after: error,
            matching: matching,
            client: client(transport),
            timing: timing
        )
    }
}
