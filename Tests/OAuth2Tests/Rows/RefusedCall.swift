import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

/// A request with a token, and an authenticator's decisions about the responses to it.
struct RefusedCall {
    let fixture: OAuth2Fixture
    let authenticator: OAuth2Authenticator

    init(_ fixture: OAuth2Fixture = OAuth2Fixture(), authenticator: OAuth2Authenticator? = nil) {
        self.fixture = fixture
        self.authenticator = authenticator ?? fixture.authenticator()
    }

    /// Creates a call with tokens that are bound to a key.
    static func dpop(
        _ fixture: OAuth2Fixture = OAuth2Fixture(steps: [.boundToken("bound-1"), .boundToken("bound-2")])
    ) -> Self {
        Self(fixture, authenticator: fixture.authenticator(dpop: .generated()))
    }

    func request(
        url: URL = OAuth2Fixture.api,
        after earlier: [any Error] = []
    ) async throws -> URLRequest {
        let context = InterceptorContext(
            retryState: Retry.State(authenticationErrors: earlier, started: fixture.time.now)
        )
        return try await authenticator.authenticateRequest(URLRequest(url: url), context: context)
    }

    func action(
        _ status: Int?,
        _ challenge: String? = nil,
        headers: HTTPHeaders = [:],
        body: String = "",
        on request: URLRequest? = nil,
        from answering: URL? = nil,
        error: (any Error)? = nil,
        state: Retry.State? = nil
    ) async throws -> DecidedAction {
        DecidedAction(
            try await rawAction(
                status,
                challenge,
                headers: headers,
                body: body,
                on: request,
                from: answering,
                error: error,
                state: state
            )
        )
    }

    func rawAction(
        _ status: Int?,
        _ challenge: String? = nil,
        headers: HTTPHeaders = [:],
        body: String = "",
        on given: URLRequest? = nil,
        from answering: URL? = nil,
        error: (any Error)? = nil,
        state: Retry.State? = nil
    ) async throws -> Retry.Action {
        let request: URLRequest
        if let given { request = given } else { request = try await self.request() }
        var headers = headers
        if let challenge { headers["WWW-Authenticate"] = challenge }
        let response = try status.map { status in
            HTTPResponse(
                url: try answering ?? #require(request.url),
                status: status,
                headers: headers,
                body: Data(body.utf8)
            )
        }
        return await authenticator.evaluateFailedRequest(
            FailedRequest(
                try HTTPRequest(request),
                response: response,
                error: error ?? ServerError(endpoint: "reports", errorCode: status ?? 0),
                context: InterceptorContext(retryState: state ?? Retry.State(started: fixture.time.now))
            )
        )
    }

    /// Returns the error with which a call ends because of a response.
    func reported(_ status: Int, _ challenge: String) async throws -> OAuth2Error {
        let action = try await rawAction(status, challenge)
        guard case .noRetry(.custom(let error as OAuth2Error)) = action else {
            Issue.record("not failed: \(action)")
            throw CancellationError()
        }
        return error
    }

    /// Returns a failure as a retry state contains it.
    static func failure(_ status: Int, _ challenge: String, nonce: String? = nil) -> ServerError {
        var headers: HTTPHeaders = ["WWW-Authenticate": challenge]
        headers["DPoP-Nonce"] = nonce
        return ServerError(endpoint: "reports", errorCode: status, headers: headers)
    }

    static let invalidToken = #"Bearer error="invalid_token""#
    static let nonceNeeded = #"DPoP error="use_dpop_nonce""#
}

extension OAuth2Fixture {
    /// Requests the API, which rejects the request, and returns the decision that ended the call.
    func reason(_ authenticator: OAuth2Authenticator) async throws -> DecidedAction {
        let client = client(authenticator)
        let error = await #expect(throws: ServerError.self) { try await client.makeRequest(URLRequest(url: Self.api)) }
        return DecidedAction(error?.retry?.reason)
    }
}

extension MockTransport.Step {
    /// A response with a token that is bound to the proof's key.
    static func boundToken(_ access: String, refresh: String? = nil) -> Self {
        let refresh = refresh.map { #","refresh_token":"\#($0)""# } ?? ""
        return .json(#"{"access_token":"\#(access)","token_type":"DPoP","expires_in":3600\#(refresh)}"#)
    }
}

extension URLRequest {
    /// Returns the claims of the request's DPoP proof.
    func proof() throws -> JSONObject {
        try UnverifiedToken(#require(value(forHTTPHeaderField: "DPoP"))).unverifiedClaims
    }
}
