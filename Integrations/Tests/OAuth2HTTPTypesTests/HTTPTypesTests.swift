import Foundation
import HTTPTypes
import MockNetworking
import Networking
import OAuth2
import OAuth2HTTPTypes
import Testing

@Suite("swift-http-types")
struct HTTPTypesTests {
    @Test("Converts fields, and keeps repeated ones apart")
    func fields() throws {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .setCookie, value: "a=1"))
        fields.append(HTTPField(name: .setCookie, value: "b=2"))
        fields[.accept] = "text/plain"
        let headers = HTTPHeaders(fields)
        #expect(headers.values(for: "set-cookie") == ["a=1", "b=2"])
        var copy: HTTPFields = [.accept: "*/*", .from: "ada"]
        copy.set(headers)
        copy.set(["not a name": "x"])
        #expect(copy[values: .setCookie] == ["a=1", "b=2"])
        #expect(copy[values: .accept] == ["text/plain"])
        #expect(copy[.from] == "ada")
        #expect(copy.count == 4)
    }

    @Test("Assembles the URL from scheme, authority and path")
    func url() {
        let authority = "api.example:8443"
        let request = HTTPTypes.HTTPRequest(method: .get, scheme: "https", authority: authority, path: "/a?b=c")
        #expect(request.absoluteURL == "https://api.example:8443/a?b=c")
        let relative = HTTPTypes.HTTPRequest(method: .get, scheme: nil, authority: authority, path: "/")
        #expect(relative.absoluteURL == nil)
        let root = HTTPTypes.HTTPRequest(method: .get, scheme: "https", authority: authority, path: nil)
        #expect(root.absoluteURL == "https://api.example:8443/")
    }

    /// A middleware in the form of swift-openapi-runtime.
    private func intercept(
        _ request: HTTPTypes.HTTPRequest,
        body: String?,
        baseURL: URL,
        authenticator: OAuth2Authenticator,
        next: (HTTPTypes.HTTPRequest, String?, URL) async throws -> (HTTPTypes.HTTPResponse, String?)
    ) async throws -> (HTTPTypes.HTTPResponse, String?) {
        try await authenticator.intercept(request, baseURL: baseURL) { request in
            try await next(request, body, baseURL)
        }
    }

    @Test("Sends a request again with a new token")
    func retry() async throws {
        let base = try #require(URL(string: "https://api.example/v1"))
        let tokens = ClosureTokenSource { requirements in
            AccessToken(
                value: Secret(requirements.isUnwanted(Secret("first")) ? "second" : "first"),
                requested: .now
            )
        }
        let authenticator = OAuth2Authenticator(source: tokens, resources: [base])
        var sent: [String?] = []
        let request = HTTPTypes.HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/reports")
        let (response, content) = try await intercept(request, body: "b", baseURL: base, authenticator: authenticator) {
            request,
            body,
            _ in
            sent.append(request.headerFields[.authorization])
            return (HTTPTypes.HTTPResponse(status: sent.count == 1 ? .unauthorized : .ok), body)
        }
        #expect(response.status == .ok)
        #expect(content == "b")
        #expect(sent == ["Bearer first", "Bearer second"])
    }

    @Test("Returns the first response to a request that can't be repeated")
    func once() async throws {
        let base = try #require(URL(string: "https://api.example"))
        let source = StaticTokenSource(AccessToken(value: Secret("a"), requested: .now))
        let authenticator = OAuth2Authenticator(source: source, resources: [base])
        let request = HTTPTypes.HTTPRequest(method: .post, scheme: "https", authority: "other.example", path: "/")
        var count = 0
        let (response, _) = try await authenticator.intercept(request, isRepeatable: false) { request in
            count += 1
            #expect(request.headerFields[.authorization] == nil)
            return (HTTPTypes.HTTPResponse(status: .unauthorized), ())
        }
        #expect((response.status, count) == (.unauthorized, 1))
    }

    @Test(
        "A path that names another host gets no token",
        arguments: ["@api.example/", ".api.example/", ":444/", "x", "?x"]
    )
    func hosts(path: String) async throws {
        let source = StaticTokenSource(AccessToken(value: Secret("a"), requested: .now))
        let api = try #require(URL(string: "https://api.example"))
        let authenticator = OAuth2Authenticator(source: source, resources: [api])
        let base = try #require(URL(string: "https://evil.example"))
        let request = HTTPTypes.HTTPRequest(method: .get, scheme: "https", authority: "evil.example", path: path)
        for base in [base, nil] {
            await #expect(throws: NetworkError(.invalidRequest, "")) {
                _ = try await authenticator.intercept(request, baseURL: base) { _ in
                    (HTTPTypes.HTTPResponse(status: .ok), ())
                }
            }
        }
    }

    @Test("Fails for a request without an absolute URL")
    func noURL() async throws {
        let source = StaticTokenSource(AccessToken(value: Secret("a"), requested: .now))
        let authenticator = OAuth2Authenticator(source: source, resources: .everyHTTPSOrigin)
        let request = HTTPTypes.HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")
        await #expect(throws: NetworkError(.invalidRequest, "")) {
            _ = try await authenticator.intercept(request) { _ in (HTTPTypes.HTTPResponse(status: .ok), ()) }
        }
    }
}
