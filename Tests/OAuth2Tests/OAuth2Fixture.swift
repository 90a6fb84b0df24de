import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import Synchronization
import TokenGeneration

/// A scripted authorization server and API in memory, with a manual clock.
///
/// The token endpoint first plays its steps, and then issues `access-1`, `access-2`, … The API
/// responds with `ok` to requests with an issued token that hasn't been revoked, and with 401 and a
/// Bearer challenge to others.
final class OAuth2Fixture: Sendable {
    static let api = URL(string: "https://api.example/reports")!
    static let server = AuthorizationServer(
        issuer: "https://as.example",
        tokenEndpoint: URL(string: "https://as.example/token")!
    )

    let time: ManualTime
    /// The token endpoint, which records its requests.
    let endpoint: MockTransport
    /// The API, which records its requests.
    let resource: MockTransport
    /// The events of the authenticators.
    let events = EventJournal()
    private let tokens: Tokens

    /// Creates a fixture.
    ///
    /// - Parameters:
    ///   - steps: The token endpoint's first responses.
    ///   - lifetime: The `expires_in` of the tokens that it issues afterwards.
    ///   - answers: The API's first responses.
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
        // Tasks that sleep forever would count as leaks.
        time.end()
    }

    /// The `Authorization` header fields of the API's requests, in order.
    var credentials: [String?] { resource.requests.map { $0.headers["Authorization"] } }

    /// The forms of the token endpoint's requests, in order.
    var forms: [[String: String]] { endpoint.forms }

    /// Makes the API accept a token that a step issues.
    func issue(_ token: String) { tokens.add(token) }

    /// Makes the API reject every token issued so far.
    func revoke() { tokens.revoke() }

    /// Returns an authenticator, which makes one attempt by default.
    func authenticator(
        grant: any Grant = ClientCredentialsGrant(),
        clientAuthentication: (any ClientAuthentication)? = nil,
        resources: ResourceRule = .everyHTTPSOrigin,
        store: (any TokenStore)? = nil,
        dpop: DPoPKey? = nil,
        random: Double = 1,
        attempts: Int = 1,
        replicationDelay: Duration? = nil,
        options: OAuth2Authenticator.Options = OAuth2Authenticator.Options(),
        stepUpSource: (@Sendable (ResourceDemand) -> (any TokenSource)?)? = nil
    ) -> OAuth2Authenticator {
        var options = options
        if let stepUpSource { options.stepUpSource = stepUpSource }
        return OAuth2Authenticator(
            client: OAuth2Client(
                server: Self.server,
                clientAuthentication: clientAuthentication
                    ?? .clientSecretBasic(clientID: "reports", secret: Secret("s3cret-of-reports")),
                dpop: dpop,
                client: NetworkClient(
                    transport: endpoint,
                    options: .init(timeSource: time.timeSource, observers: [events])
                ),
                timing: .init(
                    attempts: attempts,
                    replicationDelay: replicationDelay,
                    timeSource: time.timeSource,
                    random: { random }
                )
            ),
            grant: grant,
            resources: resources,
            store: store ?? InMemoryTokenStore(timeSource: time.timeSource),
            options: options
        )
    }

    func client(_ interceptors: any Interceptor..., timeout: Duration = .seconds(60)) -> NetworkClient {
        NetworkClient(
            transport: resource,
            interceptors: interceptors,
            options: .init(timeout: timeout, timeSource: time.timeSource)
        )
    }

    /// Opens the gate that holds a refresh's request, and waits until the refresh has ended.
    func land(_ gate: ResponseGate) async throws {
        // The timeouts of the refresh and of the request.
        try await time.waitForSleepers(count: 2)
        gate.open()
        while time.sleeperCount > 0 { await Task.yield() }
    }

    /// Advances the clock until no task sleeps, because a sleeping task would count as a leak.
    func runOut() async {
        while time.sleeperCount > 0 {
            _ = time.advanceToNextSleeper()
            await Task.yield()
        }
    }

    /// Advances the clock to one sleeper after another until a task ends, and returns its result.
    ///
    /// A task that doesn't sleep at some moment may do so later. With a limit, longer sleeps end
    /// only by what happens, however slow the machine is.
    func runOut<Value: Sendable>(
        _ task: Task<Value, any Error>,
        within limit: Duration? = nil
    ) async -> Result<Value, any Error> {
        let isOver = Mutex(false)
        let end = Task {
            defer { isOver.withLock { $0 = true } }
            return await task.result
        }
        while !isOver.withLock({ $0 }) {
            for _ in 1...200 where !isOver.withLock({ $0 }) { await Task.yield() }
            if !isOver.withLock({ $0 }) { time.advanceToNextSleeper(within: limit) }
        }
        return await end.value
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

extension OAuth2Authenticator.Options {
    /// Options with additional scope, or for claims that a resource demands.
    static func obtaining(scope: String? = nil, claims: Bool = false) -> Self {
        var options = Self()
        options.additionalScope = scope
        options.sendsDemandedClaims = claims
        return options
    }
}

extension MockTransport {
    /// The forms of the requests, in order. Repeated values are joined by spaces.
    var forms: [[String: String]] {
        requests.map { request in
            let pairs = FormURLEncoded.decode(String(decoding: request.body, as: UTF8.self)) ?? []
            return Dictionary(pairs.map { ($0.name, $0.value) }) { "\($0) \($1)" }
        }
    }
}

extension HTTPTransportResponse {
    /// A 401 response with the error `invalid_token`.
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

    /// Returns a 401 response with challenges.
    static func challenge(_ challenges: String) -> Self { .status(401, headers: ["WWW-Authenticate": challenges]) }

    /// Returns a token endpoint's response with tokens.
    static func tokens(_ access: String, refresh: String? = nil, lifetime: Int = 3600) -> Self {
        let refresh = refresh.map { #","refresh_token":"\#($0)""# } ?? ""
        return .json(#"{"access_token":"\#(access)","token_type":"Bearer","expires_in":\#(lifetime)\#(refresh)}"#)
    }

    /// Returns a 503 response with `Retry-After`.
    static func retryAfter(_ seconds: Int) -> Self { .status(503, headers: ["Retry-After": "\(seconds)"]) }

    /// Returns a token endpoint's response to a token exchange.
    static func exchanged(_ access: String, lifetime: Int = 3600) -> Self {
        let type = "urn:ietf:params:oauth:token-type:access_token"
        return .json(
            #"{"access_token":"\#(access)","issued_token_type":"\#(type)","token_type":"Bearer","expires_in":\#(lifetime)}"#
        )
    }

    /// Returns a token endpoint's error response.
    static func error(_ code: String, status: Int = 400) -> Self {
        .json(#"{"error":"\#(code)"}"#, status: status)
    }
}

extension OAuth2Authenticator {
    /// Returns the text of a valid token.
    func text(until deadline: ContinuousClock.Instant? = nil) async throws -> String {
        try await accessToken(until: deadline).value.expose { $0 }
    }
}

/// Returns an operation's `OAuth2Error`, alone or as the cause of a `NetworkError`, or `nil` if it
/// succeeds or throws another error.
func failure<Result>(_ operation: () async throws -> Result) async -> OAuth2Error? {
    do {
        _ = try await operation()
        return nil
    } catch {
        return error as? OAuth2Error ?? (error as? NetworkError)?.cause as? OAuth2Error
    }
}

/// Returns the code of an operation's `OAuth2Error`.
func failureCode<Result>(_ operation: () async throws -> Result) async -> OAuth2Error.Code? {
    await failure(operation)?.code
}

/// Returns the code of an operation's `TokenError`, alone or as the cause of another error.
func flaw<Result>(_ operation: () async throws -> Result) async -> TokenError.Code? {
    do {
        _ = try await operation()
        return nil
    } catch {
        let cause = (error as? OAuth2Error)?.cause ?? (error as? AccessRefusal)?.cause
        return (error as? TokenError ?? cause as? TokenError)?.code
    }
}
