import Foundation
import FoundationNetworking
import Networking
import OAuth2
import ResourceServer
import TokenGeneration
import WorkloadIdentity

/// The cost of adding a token to a request, and of getting one for thousands of callers.
struct OAuthSuite {
    private let arguments: Arguments
    private let request = URLRequest(url: URL(string: "https://api.example/reports?page=2")!)
    private let context = InterceptorContext()

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func run() async throws {
        if !arguments.isJSON {
            print("µs of CPU time per operation, medians; “baseline” is the work that the case includes")
            print("case                          µs   baseline      ratio")
        }
        if arguments.wants("bearer") { try await bearer() }
        if arguments.wants("two tasks") { try await twoTasks() }
        if arguments.wants("dpop") { try await dpop() }
        if arguments.wants("access token") { try await accessToken() }
        if arguments.wants("file assertion") { try await fileAssertion() }
        if arguments.wants("waiters") { try await waiters() }
        if arguments.wants("storm") { try await storm() }
    }

    // MARK: Requests with a fresh token

    private func bearer() async throws {
        let authenticator = OAuth2Authenticator(source: StaticTokenSource(token()), resources: [request.url!])
        let ours = try await median(of: 2_000) {
            _ = try await authenticator.authenticateRequest(request, context: context)
        }
        let beside = try await median(of: 2_000) {
            var request = request
            request.setAuthorization("Bearer \(Self.text)")
        }
        report("bearer", ours, beside: beside)
    }

    /// Measures two tasks at once, which would show contention for a lock.
    private func twoTasks() async throws {
        let authenticator = OAuth2Authenticator(source: StaticTokenSource(token()), resources: [request.url!])
        var figures: [Double] = []
        var singles: [Double] = []
        for _ in 0..<arguments.rounds {
            for tasks in [1, 2] {
                let start = CPUClock.now
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<tasks {
                        group.addTask {
                            for _ in 0..<2_000 {
                                _ = try await authenticator.authenticateRequest(request, context: context)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                let figure = Double(CPUClock.now - start) / 1_000 / Double(tasks * 2_000)
                if tasks == 1 { singles.append(figure) } else { figures.append(figure) }
            }
        }
        report("two tasks", figures.median, beside: singles.median)
    }

    private func dpop() async throws {
        let key = try SigningKey.generate(.es256)
        let token = token(proof: try DPoPProofGenerator(key: key))
        let authenticator = OAuth2Authenticator(source: StaticTokenSource(token), resources: [request.url!])
        let service = try ES256SigningService(key: key)
        let message = Data(repeating: 0x61, count: 300)
        let ours = try await median(of: 200) {
            _ = try await authenticator.authenticateRequest(request, context: context)
        }
        let proof = try DPoPProofGenerator(key: key)
        let alone = try await median(of: 200) {
            _ = try proof.proof(method: "GET", url: "https://api.example/reports", accessToken: Self.text)
        }
        let beside = try await median(of: 200) { _ = try service.sign(data: message) }
        report("dpop request", ours, beside: beside)
        report("dpop proof", alone, beside: beside)
    }

    // MARK: Requests to your API

    /// Compares a resource server's complete decision about a request with the verification of its
    /// token.
    private func accessToken() async throws {
        let key = try SigningKey.generate(.es256)
        let (issuer, audience) = ("https://id.example", "https://api.example")
        let service = key.identified(by: "1")
        var jwk = service.verificationKey.jwk
        jwk.members["use"] = "sig"
        let document = JWKSet(keys: [jwk])
        let keys = IssuerKeys.url(
            URL(string: "https://id.example/jwks")!,
            client: NetworkClient(transport: OneDocument(body: document.serializedData()))
        )
        let verifier = AccessTokenVerifier(issuer: issuer, audience: audience, keys: keys)
        let alone = JWTVerifier(keys: document, policy: .accessToken(issuer: issuer, audience: audience))
        let now = Date()
        let token = try JWTGenerator(
            header: ["typ": "at+jwt"],
            payload: [
                "iss": .string(issuer), "sub": "ada", "aud": .string(audience), "client_id": "shop", "jti": "1",
                "scope": "orders.read orders.write", "iat": JSONValue(date: now),
                "exp": JSONValue(date: now.addingTimeInterval(3_600)),
            ],
            signingService: service
        ).token()
        let request = ProtectedRequest(
            method: .get,
            url: "https://api.example/orders",
            headers: ["Host": "api.example", "Accept": "*/*", "Authorization": "Bearer \(token)"]
        )
        let requirement = AccessRequirement(scope: ["orders.read"])
        var (ours, beside): ([Double], [Double]) = ([], [])
        for _ in 0..<arguments.rounds {
            ours.append(try await turn(of: 200) { _ = try await verifier.verify(request, requires: requirement) })
            beside.append(try await turn(of: 200) { _ = try alone.verify(token) })
        }
        report("access token", ours.median, beside: beside.median)
    }

    // MARK: Token requests

    /// Compares a token request whose assertion is read from a file with a request that has a
    /// secret, and one read of that file.
    private func fileAssertion() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "bench-assertion-\(getpid())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let assertion = try JWTGenerator(
            payload: [
                "iss": "https://cluster.example", "sub": "system:serviceaccount:finance:reports",
                "aud": ["https://as.example"], "exp": JSONValue(date: Date().addingTimeInterval(3_600)),
                "kubernetes.io": ["namespace": "finance", "pod": .string(String(repeating: "p", count: 400))],
            ],
            signingService: SigningKey.generate(.es256)
        ).token()
        try Data(assertion.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let server = AuthorizationServer(
            issuer: "https://as.example",
            tokenEndpoint: URL(string: "https://as.example/token")!
        )
        let body = Data(#"{"access_token":"\#(Self.text)","token_type":"Bearer","expires_in":300}"#.utf8)
        func client(_ authentication: any ClientAuthentication) -> OAuth2Client {
            OAuth2Client(
                server: server,
                clientAuthentication: authentication,
                client: NetworkClient(transport: OneDocument(body: body))
            )
        }
        let source = FileTokenSource(path: path, audience: "https://as.example")
        let federated = client(.signedAssertion(clientID: "reports", assertion: source))
        let secret = client(.clientSecretPost(clientID: "reports", secret: Secret(assertion)))
        var (ours, beside): ([Double], [Double]) = ([], [])
        for _ in 0..<arguments.rounds {
            ours.append(try await turn(of: 200) { _ = try await federated.tokens(for: ClientCredentialsGrant()) })
            beside.append(
                try await turn(of: 200) {
                    _ = try await secret.tokens(for: ClientCredentialsGrant())
                    _ = try Data(contentsOf: URL(filePath: path))
                }
            )
        }
        report("file assertion", ours.median, beside: beside.median)
    }

    /// An issuer with one document in memory.
    private struct OneDocument: HTTPTransport {
        let body: Data

        func send(_ request: HTTPRequest, limits: HTTPTransportLimits) -> HTTPTransportResponse {
            HTTPTransportResponse(status: 200, headers: ["Cache-Control": "max-age=3600"], body: body)
        }
    }

    // MARK: Thousands of callers

    private static let crowd = 5_000

    /// Measures callers that wait for the same token request.
    private func waiters() async throws {
        for deadline in [false, true] {
            var figures: [Double] = []
            for _ in 0..<min(arguments.rounds, 11) {
                let requests = Counter()
                let source = CachedTokenSource(
                    ClosureTokenSource { _ in
                        requests.add()
                        try await Task.sleep(for: .milliseconds(300))
                        return token()
                    }
                )
                let need = TokenRequirements(deadline: deadline ? .now + .seconds(60) : nil)
                let start = CPUClock.now
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<Self.crowd { group.addTask { _ = try await source.token(for: need) } }
                    try await group.waitForAll()
                }
                figures.append(Double(CPUClock.now - start) / 1_000 / Double(Self.crowd))
                guard requests.value == 1 else { throw UsageError(text: "\(requests.value) requests for one token") }
            }
            report(deadline ? "waiters deadline" : "waiters", figures.median, beside: nil)
        }
    }

    /// Measures requests that are rejected with the same token: the decision and the wait for a new
    /// token.
    private func storm() async throws {
        var figures: [Double] = []
        for _ in 0..<min(arguments.rounds, 11) {
            let requests = Counter()
            let authenticator = OAuth2Authenticator(
                source: ClosureTokenSource { _ in
                    requests.add()
                    if requests.value > 1 { try await Task.sleep(for: .milliseconds(300)) }
                    return AccessToken(value: Secret("\(Self.text)-\(requests.value)"), requested: .now)
                },
                resources: .everyHTTPSOrigin
            )
            let sent = try await HTTPRequest(authenticator.authenticateRequest(request, context: context))
            let response = HTTPResponse(
                url: request.url!,
                status: 401,
                headers: ["WWW-Authenticate": #"Bearer error="invalid_token""#]
            )
            let error = ServerError(endpoint: "reports", errorCode: 401)
            let start = CPUClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<Self.crowd {
                    group.addTask {
                        let failure = FailedRequest(
                            sent,
                            response: response,
                            error: error,
                            context: InterceptorContext(retryState: Retry.State(started: .now))
                        )
                        let action = await authenticator.evaluateFailedRequest(failure)
                        guard case .retry = action else { throw UsageError(text: "bench: action \(action)") }
                        _ = try await authenticator.authenticateRequest(request, context: context)
                    }
                }
                try await group.waitForAll()
            }
            figures.append(Double(CPUClock.now - start) / 1_000 / Double(Self.crowd))
            guard requests.value == 2 else { throw UsageError(text: "\(requests.value) requests for two tokens") }
        }
        report("storm", figures.median, beside: nil)
    }

    // MARK: Measuring

    private static let text = String(repeating: "0123456789abcdef", count: 40)

    private func token(proof: DPoPProofGenerator? = nil) -> AccessToken {
        AccessToken(
            value: Secret(Self.text),
            type: proof == nil ? "Bearer" : "DPoP",
            requested: .now,
            proofGenerator: proof
        )
    }

    private func median(of count: Int, _ body: () async throws -> Void) async throws -> Double {
        try await body()
        var figures: [Double] = []
        for _ in 0..<arguments.rounds {
            let start = CPUClock.now
            for _ in 0..<count { try await body() }
            figures.append(Double(CPUClock.now - start) / 1_000 / Double(count))
        }
        return figures.median
    }

    private func turn(of count: Int, _ body: () async throws -> Void) async throws -> Double {
        let start = CPUClock.now
        for _ in 0..<count { try await body() }
        return Double(CPUClock.now - start) / 1_000 / Double(count)
    }

    private func report(_ name: String, _ ours: Double, beside: Double?) {
        if arguments.isJSON {
            let number = { (value: Double?) in value.map { String(format: "%.3f", $0) } ?? "null" }
            print(
                """
                {"suite":"oauth","case":"\(name)","us":\(number(ours)),"beside_us":\(number(beside)),\
                "ratio":\(number(beside.map { ours / $0 }))}
                """
            )
        } else {
            let padded = name + String(repeating: " ", count: max(0, 22 - name.count))
            let rest = beside.map { String(format: " %10.2f %10.2f", $0, ours / $0) } ?? ""
            print(padded + String(format: "%10.2f", ours) + rest)
        }
        fflush(nil)
    }
}

/// A counter for several tasks.
// reason: the lock protects the count.
private final class Counter: @unchecked Sendable {
    private let lock = NSLock()
    private var count = 0

    var value: Int { lock.withLock { count } }

    func add() { lock.withLock { count += 1 } }
}
