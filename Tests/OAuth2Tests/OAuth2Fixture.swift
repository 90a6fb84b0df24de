import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import Synchronization

/// An authorization server and an API in memory, scripted, on a clock that stands still.
///
/// The token endpoint first plays its steps; then it issues `access-1`, `access-2`, … The API answers `ok` to requests
/// with a token that was issued and not revoked, and 401 with a Bearer challenge to others.
final class OAuth2Fixture: Sendable {
    static let api = URL(string: "https://api.example/reports")!
    static let server = AuthorizationServer(
        issuer: "https://as.example",
        tokenEndpoint: URL(string: "https://as.example/token")!
    )

    let time: ManualTime
    /// What the token endpoint was asked.
    let endpoint: MockTransport
    /// What the API was asked.
    let resource: MockTransport
    private let tokens: Tokens

    /// Makes a fixture.
    ///
    /// - Parameters:
    ///   - steps: What the token endpoint answers first.
    ///   - lifetime: The `expires_in` of the tokens after that.
    ///   - answers: What the API answers first.
    init(steps: [MockTransport.Step] = [], lifetime: Int = 3600, answers: [MockTransport.Step] = []) {
        let time = ManualTime()
        let tokens = Tokens()
        self.time = time
        self.tokens = tokens
        endpoint = MockTransport(steps: steps, time: time.timeSource) { _ in
            .json(#"{"access_token":"\#(tokens.issue())","token_type":"Bearer","expires_in":\#(lifetime)}"#)
        }
        resource = MockTransport(steps: answers, time: time.timeSource) { request in
            tokens.accept(request.headers["Authorization"]) ? .text("ok") : .refusal
        }
    }

    deinit {
        // Tasks that would sleep forever count as leaks.
        time.end()
    }

    /// The `Authorization` fields that the API got, in order.
    var credentials: [String?] { resource.requests.map { $0.headers["Authorization"] } }

    /// The forms that the token endpoint got, in order.
    var forms: [[String: String]] {
        endpoint.requests.map { request in
            let pairs = FormURLEncoded.decode(String(decoding: request.body, as: UTF8.self)) ?? []
            return Dictionary(pairs.map { ($0.name, $0.value) }) { "\($0) \($1)" }
        }
    }

    /// Makes the API accept a token that a step issues.
    func issue(_ token: String) { tokens.add(token) }

    /// Makes the API refuse every token issued so far.
    func revoke() { tokens.revoke() }

    /// An authenticator that asks a failing token endpoint once, unless it is to ask more often.
    func authenticator(
        grant: any Grant = ClientCredentialsGrant(),
        resources: ResourceRule = .everyHTTPSOrigin,
        store: (any TokenStore)? = nil,
        dpop: DPoPKey? = nil,
        random: Double = 1,
        attempts: Int = 1,
        replicationDelay: Duration? = nil,
        stepUpSource: (@Sendable (ResourceDemand) -> (any TokenSource)?)? = nil
    ) -> OAuth2Authenticator {
        var options = OAuth2Authenticator.Options()
        options.stepUpSource = stepUpSource
        return OAuth2Authenticator(
            server: Self.server,
            clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret-of-reports")),
            grant: grant,
            resources: resources,
            store: store ?? InMemoryTokenStore(timeSource: time.timeSource),
            dpop: dpop,
            client: NetworkClient(transport: endpoint, options: .init(timeSource: time.timeSource)),
            timing: .init(
                attempts: attempts,
                replicationDelay: replicationDelay,
                timeSource: time.timeSource,
                random: { random }
            ),
            options: options
        )
    }

    func client(_ interceptors: any RequestInterceptor..., timeout: Duration = .seconds(60)) -> NetworkClient {
        NetworkClient(
            transport: resource,
            interceptors: interceptors,
            options: .init(timeout: timeout, timeSource: time.timeSource)
        )
    }

    /// Opens the gate at which the one refresh's request waits, and waits until the refresh has ended and been judged.
    func land(_ gate: ResponseGate) async throws {
        // The refresh's deadline and the request's.
        try await time.waitForSleepers(count: 2)
        gate.open()
        while time.sleeperCount > 0 { await Task.yield() }
    }

    /// Lets time pass until nobody waits for it any more: what a test leaves hanging would count as a leak.
    func runOut() async {
        while time.sleeperCount > 0 {
            _ = time.advanceToNextSleeper()
            await Task.yield()
        }
    }

    private final class Tokens: Sendable {
        private let state = Mutex((count: 0, valid: Set<String>()))

        func issue() -> String {
            state.withLock { state in
                state.count += 1
                state.valid.insert("access-\(state.count)")
                return "access-\(state.count)"
            }
        }

        func add(_ token: String) { state.withLock { _ = $0.valid.insert(token) } }

        func revoke() { state.withLock { $0.valid = [] } }

        func accept(_ field: String?) -> Bool {
            guard let field, field.hasPrefix("Bearer ") else { return false }
            return state.withLock { $0.valid.contains(String(field.dropFirst(7))) }
        }
    }
}

extension HTTPTransportResponse {
    /// A 401 that says that the token is not valid.
    static var refusal: Self {
        Self(status: 401, headers: ["WWW-Authenticate": #"Bearer realm="api", error="invalid_token""#])
    }

    static func text(_ text: String) -> Self { Self(status: 200, body: Data(text.utf8)) }

    static func json(_ text: String) -> Self {
        Self(status: 200, headers: ["Content-Type": "application/json"], body: Data(text.utf8))
    }
}

extension MockTransport.Step {
    static var refusal: Self { .response(.refusal) }

    /// A 401 with these challenges.
    static func challenge(_ challenges: String) -> Self { .status(401, headers: ["WWW-Authenticate": challenges]) }

    /// An answer of a token endpoint.
    static func tokens(_ access: String, refresh: String? = nil, lifetime: Int = 3600) -> Self {
        let refresh = refresh.map { #","refresh_token":"\#($0)""# } ?? ""
        return .json(#"{"access_token":"\#(access)","token_type":"Bearer","expires_in":\#(lifetime)\#(refresh)}"#)
    }

    /// An error of a token endpoint.
    static func error(_ code: String, status: Int = 400) -> Self {
        .json(#"{"error":"\#(code)"}"#, status: status)
    }
}

extension OAuth2Authenticator {
    /// The text of a token that is good now.
    func text(until deadline: ContinuousClock.Instant? = nil) async throws -> String {
        try await accessToken(until: deadline).value.expose { $0 }
    }
}

/// The code of the `OAuth2Error` that an operation fails with, alone or as the cause of a `NetworkError`.
func failureCode(_ operation: () async throws -> Void) async -> OAuth2Error.Code? {
    do {
        try await operation()
        return nil
    } catch let error as OAuth2Error {
        return error.code
    } catch let error as NetworkError {
        return (error.cause as? OAuth2Error)?.code
    } catch {
        return nil
    }
}
