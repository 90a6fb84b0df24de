import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

/// The samples about other HTTP clients, run with mock servers.
@Suite("Samples: other HTTP clients", .limitedConcurrency)
struct OtherClientSnippets {
    @Test("The loop sends the token, and recovers when it's revoked")
    func loop() async throws {
        try await withServers { authorization, api, authenticator async throws in
            let client = LoopedClient(authenticator: authenticator, client: PlainClient())
            let request = PlainClient.Request(method: .get, url: api.url(for: "/reports"))
            #expect(try await client.send(request).status == 200)
            authorization.revokeAccessTokens()
            #expect(try await client.send(request).status == 200)
            #expect(authorization.tokenRequestCount == 2)
        }
    }

    @Test("The middleware sends the token, and recovers when it's revoked")
    func middleware() async throws {
        try await withServers { authorization, api, authenticator async throws in
            let middleware: any OpenAPI.ClientMiddleware = OpenAPI.TokenMiddleware(authenticator: authenticator)
            let request = OpenAPI.HTTPRequest(path: "/reports")
            let next = { @Sendable (request: OpenAPI.HTTPRequest, body: OpenAPI.HTTPBody?, baseURL: URL) async throws in
                let url = try #require(URL(string: baseURL.absoluteString + (request.path ?? "")))
                let headers = HTTPHeaders(request.headerFields.map { .init(name: $0.name.rawName, value: $0.value) })
                let response = try await PlainClient().send(.init(method: .get, url: url, headers: headers))
                return (OpenAPI.HTTPResponse(response), nil as OpenAPI.HTTPBody?)
            }
            for isLast in [false, true] {
                let (response, _) = try await middleware.intercept(
                    request,
                    body: nil,
                    baseURL: api.baseURL,
                    operationID: "reports",
                    next: next
                )
                #expect(response.status.code == 200)
                if !isLast { authorization.revokeAccessTokens() }
            }
            #expect(authorization.tokenRequestCount == 2)
            // A body that can be sent only once ends the loop.
            authorization.revokeAccessTokens()
            let (response, _) = try await middleware.intercept(
                request,
                body: OpenAPI.HTTPBody(iterationBehavior: .single),
                baseURL: api.baseURL,
                operationID: "reports",
                next: next
            )
            #expect(response.status.code == 401)
        }
    }

    private func withServers(
        _ body: (MockAuthorizationServer, LoopbackServer, OAuth2Authenticator) async throws -> Void
    ) async throws {
        let authorization = try MockAuthorizationServer.start(clients: [.init(id: "reports", secret: "s3cret")])
        defer { Task { await authorization.stop() } }
        try await withLoopbackServer { api async throws in
            api.on(.get, "/reports", authorization.protecting { _ in .text("a report") })
            let authenticator = OAuth2Authenticator(
                server: authorization.metadata,
                clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret")),
                grant: ClientCredentialsGrant(),
                resources: [api.baseURL]
            )
            try await body(authorization, api, authenticator)
        }
    }
}

/// A client of another library.
private struct PlainClient {
    struct Request {
        var method: HTTPMethod
        var url: URL
        var headers: HTTPHeaders = [:]
    }

    func send(_ request: Request) async throws -> HTTPTransportResponse {
        let transport = try CurlTransport()
        let message = HTTPTransportRequest(method: request.method, url: request.url, headers: request.headers)
        return try await transport.send(message, limits: HTTPTransportLimits())
    }
}

private struct LoopedClient {
    typealias Request = PlainClient.Request
    typealias Response = HTTPTransportResponse

    let authenticator: OAuth2Authenticator
    let client: PlainClient

    // swift-format-ignore
    func send(_ request: Request) async throws -> Response {
        var authentication = authenticator.authentication(
            method: request.method, url: request.url
        )
        while true {
            var attempt = request
            for field in try await authentication.credentials() {
                attempt.headers[field.name] = field.value
            }
            let response = try await client.send(attempt)
            guard try await authentication.needsRetry(
                after: response.status, headers: response.headers
            ) else { return response }
        }
    }
}

/// A middleware for the shapes of swift-openapi-runtime and swift-http-types.
private enum OpenAPI {
    // swift-format-ignore
    struct TokenMiddleware: ClientMiddleware {
        let authenticator: OAuth2Authenticator

        func intercept(
            _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String,
            next: (HTTPRequest, HTTPBody?, URL) async throws -> (HTTPResponse, HTTPBody?)
        ) async throws -> (HTTPResponse, HTTPBody?) {
            let text = baseURL.absoluteString + (request.path ?? "")
            guard let url = URL(string: text), let method = HTTPMethod(request.method.rawValue)
            else { throw URLError(.badURL) }
            var authentication = authenticator.authentication(method: method, url: url)
            while true {
                var attempt = request
                for field in try await authentication.credentials() {
                    HTTPField.Name(field.name).map { attempt.headerFields[$0] = field.value }
                }
                let (response, content) = try await next(attempt, body, baseURL)
                let fields = response.headerFields.map {
                    HTTPHeaders.Field(name: $0.name.rawName, value: $0.value)
                }
                guard try await authentication.needsRetry(
                    after: response.status.code, headers: HTTPHeaders(fields)
                ), body?.iterationBehavior != .single else { return (response, content) }
            }
        }
    }

    protocol ClientMiddleware: Sendable {
        func intercept(
            _ request: HTTPRequest,
            body: HTTPBody?,
            baseURL: URL,
            operationID: String,
            next: (HTTPRequest, HTTPBody?, URL) async throws -> (HTTPResponse, HTTPBody?)
        ) async throws -> (HTTPResponse, HTTPBody?)
    }

    struct HTTPBody: Sendable {
        enum IterationBehavior { case single, multiple }
        let iterationBehavior: IterationBehavior
    }

    struct HTTPField: Sendable {
        struct Name: Sendable, Hashable {
            let rawName: String

            init?(_ name: String) { rawName = name }
        }

        let name: Name
        var value: String
    }

    struct HTTPFields: Sendable, Sequence {
        private var fields: [HTTPField] = []

        subscript(name: HTTPField.Name) -> String? {
            get { fields.first { $0.name == name }?.value }
            set {
                fields.removeAll { $0.name == name }
                if let newValue { fields.append(HTTPField(name: name, value: newValue)) }
            }
        }

        func makeIterator() -> some IteratorProtocol<HTTPField> { fields.makeIterator() }
    }

    struct HTTPRequest: Sendable {
        struct Method: Sendable { let rawValue: String }

        var method = Method(rawValue: "GET")
        var path: String?
        var headerFields = HTTPFields()
    }

    struct HTTPResponse: Sendable {
        struct Status: Sendable { let code: Int }

        let status: Status
        var headerFields = HTTPFields()

        init(_ response: HTTPTransportResponse) {
            status = Status(code: response.status)
            for field in response.headers { HTTPField.Name(field.name).map { headerFields[$0] = field.value } }
        }
    }
}
