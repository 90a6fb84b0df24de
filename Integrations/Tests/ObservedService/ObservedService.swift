import Foundation
public import FoundationNetworking
public import MockNetworking
public import Networking
public import OAuth2

/// A client of a scripted API and token endpoint, whose texts are full of secrets.
public struct ObservedService: Sendable {
    /// The text that each secret contains.
    public static let secret = "s3cret"

    /// The client of the API, with the observer.
    public let client: NetworkClient
    /// The authenticator among the client's interceptors.
    public let authenticator: OAuth2Authenticator
    /// The API, which records its requests.
    public let api: MockTransport
    /// The token endpoint, which records its requests.
    public let endpoint: MockTransport

    /// Creates a service.
    ///
    /// - Parameters:
    ///   - observer: The observer, given only to the client of the API.
    ///   - answers: The API's responses.
    ///   - tokens: The responses of the token endpoint before it issues a token.
    public init(
        _ observer: any ClientObserver,
        answers: [MockTransport.Step],
        tokens: [MockTransport.Step] = []
    ) {
        api = MockTransport(steps: answers, handler: nil)
        endpoint = MockTransport(steps: tokens) { _ in
            HTTPTransportResponse(
                status: 200,
                headers: ["Content-Type": "application/json"],
                body: Data(#"{"access_token":"s3cret-token","token_type":"Bearer","expires_in":3600}"#.utf8)
            )
        }
        authenticator = OAuth2Authenticator(
            client: OAuth2Client(
                server: AuthorizationServer(
                    issuer: "https://as.example",
                    tokenEndpoint: Self.url("https://as.example/token")
                ),
                clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret-client")),
                client: NetworkClient(transport: endpoint),
                timing: OAuth2Timing(attempts: 1)
            ),
            grant: ClientCredentialsGrant(),
            resources: .everyHTTPSOrigin
        )
        client = NetworkClient(
            transport: api,
            interceptors: [authenticator, Retry.Policy.maxRetries(1), LeakingInterceptor()],
            options: .init(observers: [observer])
        )
    }

    private static func url(_ text: String) -> URL {
        guard let url = URL(string: text) else { preconditionFailure("\(text) is a URL") }
        return url
    }

    /// A request with secrets in each part.
    public var request: URLRequest {
        var request = URLRequest(url: Self.url("https://api.example/reports?access_token=s3cret-1"))
        request.setValue("s3cret-key", forHTTPHeaderField: "X-API-Key")
        return request
    }

    /// An error of another package with a secret in its text.
    public struct Leak: Error, CustomStringConvertible {
        /// The secret.
        public let description = "s3cret-error"

        /// Creates the error.
        public init() {}
    }

    /// Makes a request that succeeds after a 503 and a 401, one that ends with a 404, one that
    /// fails with another package's error, and one that isn't sent because of a password in its
    /// URL.
    ///
    /// - Parameter observer: The observer of the client.
    /// - Returns: The service.
    /// - Throws: The error of the first request.
    public static func exercised(by observer: any ClientObserver) async throws -> ObservedService {
        let service = ObservedService(
            observer,
            answers: [
                .status(503, headers: ["Retry-After": "0"]),
                .status(401, headers: ["WWW-Authenticate": #"Bearer error="invalid_token""#]),
                .text("s3cret-body"), .text("s3cret-body", status: 404), .text("ok", status: 299),
            ]
        )
        _ = try await service.client.makeRequest(service.request)
        _ = try? await service.client.makeRequest(service.request)
        _ = try? await service.client.makeRequest(service.request)
        let refused = URLRequest(url: Self.url("https://ada:s3cret-password@api.example/"))
        _ = try? await service.client.makeRequest(refused)
        return service
    }
}

/// An interceptor that fails after a response with the status 299.
private struct LeakingInterceptor: RequestInterceptor {
    func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse {
        let response = try await next(request)
        if response.status == 299 { throw ObservedService.Leak() }
        return response
    }
}
