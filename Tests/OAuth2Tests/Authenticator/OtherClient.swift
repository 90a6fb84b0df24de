import Foundation
import MockNetworking
import Networking
import OAuth2

/// An HTTP client that knows nothing of this library's, with the documented loop around it.
struct OtherClient {
    let transport: MockTransport
    let authenticator: OAuth2Authenticator

    func send(
        _ url: URL = OAuth2Fixture.api,
        method: HTTPMethod = .get,
        headers: HTTPHeaders = [:],
        deadline: ContinuousClock.Instant? = nil
    ) async throws -> HTTPTransportResponse {
        let request = HTTPRequest(method: method, url: url, headers: headers)
        var authentication = authenticator.authentication(
            method: method,
            url: url,
            headers: headers,
            deadline: deadline
        )
        var response: HTTPTransportResponse
        repeat {
            var attempt = request
            for field in try await authentication.credentials() { attempt.headers[field.name] = field.value }
            response = try await transport.send(attempt, limits: HTTPTransportLimits())
        } while try await authentication.needsRetry(
            after: response.status,
            headers: response.headers,
            body: response.body
        )
        return response
    }
}

extension OAuth2Fixture {
    /// Returns the loop with an authenticator, around the fixture's API.
    func otherClient(_ authenticator: OAuth2Authenticator? = nil) -> OtherClient {
        OtherClient(transport: resource, authenticator: authenticator ?? self.authenticator())
    }
}
