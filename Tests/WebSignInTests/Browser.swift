import Foundation
import MockNetworking
import Networking
import OAuth2
import SharedStores
import Synchronization
import TokenGeneration
import WebSignIn

/// A web application with one or two providers, and a clock that tests move.
final class Shop: Sendable {
    static let origin = "https://shop.example"
    static let key = Secret("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
    /// A key that a provider encrypts messages with.
    static let encryption: DecryptionKey = {
        let jwk = try! JWK(["kty": "oct", "k": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE"])
        return try! DecryptionKey(jwk: jwk, algorithm: .dir, encryption: .a256GCM)
    }()
    static var decrypter: JWEDecrypter {
        JWEDecrypter(keys: [encryption], policy: DecryptionPolicy(algorithms: [.dir], encryptions: [.a256GCM]))
    }
    static let olderKey = Secret("YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXowMTIzNDU=")

    let time = ManualTime(date: Date())
    let provider: MockAuthorizationServer
    let other: MockAuthorizationServer
    let store: InMemorySessions
    let signIn: SignIn

    static func client(_ name: String) -> MockAuthorizationServer.Client {
        var client = MockAuthorizationServer.Client(
            id: "shop-\(name)",
            authentication: .clientSecretBasic("s3cret"),
            redirectURIs: ["\(origin)/auth/\(name)/callback"]
        )
        client.logoutRedirectURIs = ["\(origin)/auth/\(name)/signed-out"]
        return client
    }

    init(
        _ change: (inout SignIn.Options, inout SignInProvider) -> Void = { _, _ in },
        apis: ResourceRule? = nil,
        algorithm: JWSAlgorithm = .es256,
        approve: @escaping @Sendable (AuthenticatedUser) async throws -> JSONObject = { _ in [:] }
    ) throws {
        var configuration = MockAuthorizationServer.Configuration()
        // With a date that goes on, the tokens of a slow test would come from the future.
        configuration.time.date = time.timeSource.date
        other = try .start(configuration: configuration, clients: [Self.client("partner")])
        configuration.signingAlgorithm = algorithm
        provider = try .start(configuration: configuration, clients: [Self.client("id")])
        store = InMemorySessions(timeSource: time.timeSource)
        signIn = try Self.instance(
            self.provider,
            other,
            store,
            time,
            keys: RecordKeys(sealing: Self.key),
            change,
            apis: apis,
            approve: approve
        )
    }

    /// Another host with the same store, or one with other keys.
    static func instance(
        _ first: MockAuthorizationServer,
        _ other: MockAuthorizationServer,
        _ store: any SessionStore,
        _ time: ManualTime,
        keys: RecordKeys,
        _ change: (inout SignIn.Options, inout SignInProvider) -> Void = { _, _ in },
        apis: ResourceRule? = nil,
        approve: @escaping @Sendable (AuthenticatedUser) async throws -> JSONObject = { _ in [:] }
    ) throws -> SignIn {
        var options = SignIn.Options()
        options.timeSource = time.timeSource
        var providers = [("id", first), ("partner", other)].map { name, server in
            SignInProvider(
                name,
                issuer: server.metadata.issuer,
                clientAuthentication: .clientSecretBasic(clientID: "shop-\(name)", secret: Secret("s3cret")),
                scope: "openid orders.read",
                idTokenAlgorithms: [.es256],
                apis: apis
            )
        }
        change(&options, &providers[0])
        return try SignIn(
            publicURL: origin,
            keys: keys,
            sessions: store,
            providers: providers,
            options: options,
            approve: approve
        )
    }

    func anotherHost(
        keys: RecordKeys? = nil,
        apis: ResourceRule? = nil,
        store: (any SessionStore)? = nil
    ) throws -> SignIn {
        try Self.instance(
            provider,
            other,
            store ?? self.store,
            time,
            keys: keys ?? RecordKeys(sealing: Self.key),
            apis: apis
        )
    }

    /// The `auth_time` of a user who authenticates now, by the clock that tests move.
    var authenticationTime: JSONValue {
        .number(JSONNumber(Int(time.timeSource.date().timeIntervalSince1970)))
    }

    /// The keys of sessions in the store.
    var sessionCount: Int { store.contents.keys.count { $0.hasPrefix("session-") } }

    func stop() async {
        time.end()
        await provider.stop()
        await other.stop()
    }

    /// Runs a test and stops the servers.
    func run(_ body: (Shop) async throws -> Void) async throws {
        do { try await body(self) } catch {
            await stop()
            throw error
        }
        await stop()
    }
}

/// A store that fails.
struct BrokenSessions: SessionStore {
    struct Failure: Error {}

    func read(_ key: String) throws -> StoredSessionValue? { throw Failure() }
    func write(_ value: String, for key: String, replacing version: String?, lifetime: Duration) throws -> String? {
        throw Failure()
    }
    func remove(_ key: String) throws { throw Failure() }
}

/// A store that says that hosts share it.
struct SharedSessions: SessionStore {
    private let sessions: InMemorySessions

    init(_ sessions: InMemorySessions) { self.sessions = sessions }

    func read(_ key: String) -> StoredSessionValue? { sessions.read(key) }
    func write(_ value: String, for key: String, replacing version: String?, lifetime: Duration) throws -> String? {
        try sessions.write(value, for: key, replacing: version, lifetime: lifetime)
    }
    func remove(_ key: String) { sessions.remove(key) }
}

/// A store whose first removal fails.
final class OnceBrokenSessions: SessionStore {
    private let sessions: InMemorySessions
    private let hasFailed = Mutex(false)

    init(_ sessions: InMemorySessions) { self.sessions = sessions }

    func read(_ key: String) -> StoredSessionValue? { sessions.read(key) }
    func write(_ value: String, for key: String, replacing version: String?, lifetime: Duration) throws -> String? {
        try sessions.write(value, for: key, replacing: version, lifetime: lifetime)
    }
    func remove(_ key: String) throws {
        let fails = hasFailed.withLock { hasFailed in
            defer { hasFailed = true }
            return !hasFailed
        }
        if fails { throw BrokenSessions.Failure() }
        sessions.remove(key)
    }
}

/// A browser with cookies, which asks one application and follows redirects to its providers.
final class Browser: Sendable {
    static let navigation = [
        ("Accept", "text/html"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Site", "cross-site"),
        ("Host", "shop.example"),
    ]
    static let ownForm = [("Accept", "text/html"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Site", "same-origin")]

    let shop: Shop
    private let jar = Mutex<[String: String]>([:])

    init(_ shop: Shop) { self.shop = shop }

    var cookies: [String: String] {
        get { jar.withLock { $0 } }
        set { jar.withLock { $0 = newValue } }
    }

    var session: String? { cookies["__Host-session"] }

    func request(_ method: String, _ target: String, _ headers: [(String, String)], body: String = "") -> SignInRequest
    {
        let cookie = cookies.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: "; ")
        let all = headers + (cookie.isEmpty ? [] : [("Cookie", cookie)])
        return SignInRequest(
            method: method,
            target: target,
            headers: all.map { (name: $0.0, value: $0.1) },
            body: Data(body.utf8)
        )
    }

    /// Sends a request to the sign-in's routes and keeps the cookies of the response.
    @discardableResult
    func send(
        _ method: String = "GET",
        _ target: String,
        _ headers: [(String, String)] = Browser.navigation,
        body: String = "",
        to host: SignIn? = nil
    ) async -> SignInResponse {
        let request = request(method, target, headers, body: body)
        guard let response = await (host ?? shop.signIn).response(to: request) else {
            fatalError("no route: \(target)")
        }
        keep(response)
        return response
    }

    func keep(_ response: SignInResponse) {
        for cookie in response.cookies {
            let parts = cookie.split(separator: ";")[0].split(
                separator: "=",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            jar.withLock { $0[String(parts[0])] = cookie.contains("Max-Age=0") ? nil : String(parts[1]) }
        }
    }

    /// Opens a page of the application that needs a user.
    func open(
        _ target: String = "/orders",
        method: String = "GET",
        _ headers: [(String, String)] = Browser.navigation,
        requiring requirement: SignInRequirement = .signedIn,
        at host: SignIn? = nil
    ) async -> SignInAccess {
        let access = await (host ?? shop.signIn).access(to: request(method, target, headers), requiring: requirement)
        if case .refused(let response) = access { keep(response) }
        return access
    }

    var user: String? {
        get async {
            if case .granted(let session) = await open() { session.subject } else { nil }
        }
    }

    func session(at host: SignIn? = nil) async -> UserSession? {
        if case .granted(let session) = await open(at: host) { session } else { nil }
    }

    /// Starts a sign-in and returns the path of the callback that the provider redirects to.
    func callback(
        at name: String = "id",
        returningTo path: String = "/orders?page=2",
        from place: String? = nil
    ) async throws -> String {
        let query = FormURLEncoded.encode([("return", path)])
        let start =
            if let place { place } else {
                try await require(send("GET", "/auth/\(name)/start?\(query)").location)
            }
        let redirect = try await shop.provider.visit(require(URL(string: start)))
        return try String(require(redirect.absoluteString.components(separatedBy: Shop.origin).last))
    }

    @discardableResult
    func signIn(at name: String = "id", claims: [String: JSONValue?] = [:]) async throws -> SignInResponse {
        let callback = try await callback(at: name)
        let all = claims.merging(["auth_time": shop.authenticationTime]) { own, _ in own }
        shop.provider.misbehave(.signedToken(.claims(all)))
        return await send("GET", callback)
    }
}

extension SignInResponse {
    var cookies: [String] { headers.filter { $0.name == "Set-Cookie" }.map(\.value) }
    var location: String? { self["Location"] }

    subscript(name: String) -> String? { headers.last { $0.name == name }?.value }
}

extension SignInAccess {
    var refusal: SignInResponse? { if case .refused(let response) = self { response } else { nil } }
    var session: UserSession? { if case .granted(let session) = self { session } else { nil } }
}

struct MissingValue: Error {}

func require<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw MissingValue() }
    return value
}
