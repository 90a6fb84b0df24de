import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import Testing
import TokenGeneration

/// A test environment with a home folder, an authorization server with a registered client, and an
/// API.
final class TokenScene: Sendable {
    let home: TemporaryFolder
    let authorization: MockAuthorizationServer
    let api: LoopbackServer

    static let clientID = "reports"
    static let secret = "s3cret"

    private init(_ configuration: MockAuthorizationServer.Configuration) throws {
        var configuration = configuration
        // The clock is the real one: no token expires while a busy machine runs the test.
        configuration.tokenLifetime = .seconds(3_600)
        home = try TemporaryFolder()
        authorization = try MockAuthorizationServer.start(
            configuration: configuration,
            clients: [.init(id: Self.clientID, secret: Self.secret)]
        )
        api = try LoopbackServer.start()
        try home.write(Self.secret + "\n", to: "secret")
    }

    /// Creates the environment, runs the test and stops the servers.
    static func play(
        _ configuration: MockAuthorizationServer.Configuration = .init(),
        _ test: (TokenScene) async throws -> Void
    ) async throws {
        let scene = try TokenScene(configuration)
        do {
            try await test(scene)
        } catch {
            await scene.end()
            throw error
        }
        await scene.end()
    }

    private func end() async {
        await authorization.stop()
        await api.stop()
    }

    /// The token endpoint's URL.
    var endpoint: String { authorization.metadata.tokenEndpoint.absoluteString }
    /// The API's origin.
    var origin: String { "http://127.0.0.1:\(api.port)" }

    /// The options of a client with a secret.
    var flags: [String] {
        ["--token-endpoint", endpoint, "--client-id", Self.clientID, "--client-secret-file", home.file("secret")]
    }

    /// The server's issuer identifier.
    var issuer: String { authorization.metadata.issuer }

    /// Registers a public client, and returns the options for the client, the issuer and the grant.
    func programFlags(_ grant: String) -> [String] {
        authorization.register(.init(id: "cli", authentication: .none, redirectURIs: ["http://127.0.0.1/callback"]))
        return ["--issuer", issuer, "--client-id", "cli", "--grant", grant]
    }

    /// The members of a profile for the client.
    var members: JSONObject {
        [
            "token-endpoint": .string(endpoint), "client-id": .string(Self.clientID),
            "client-secret-file": .string(home.file("secret")),
        ]
    }

    /// Writes the configuration file.
    func write(profiles: JSONObject, mode: Int = 0o600) throws {
        let folder = home.file(".config/jwt")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let document: JSONObject = ["profiles": .object(profiles)]
        try home.write(document.serialized(), to: ".config/jwt/config.json", mode: mode)
    }

    /// Runs the command as this user.
    func jwt(
        _ arguments: [String],
        environment: [String: String] = [:],
        errorsAreTerminal: Bool = false
    ) async throws -> ProcessResult {
        try await BuiltProgram.jwt.runApart(
            patient(arguments),
            environment: variables.merging(environment) { $1 },
            errorsAreTerminal: errorsAreTerminal
        )
    }

    /// Adds a long timeout, because the servers run in this process and may respond slowly under
    /// load.
    private func patient(_ arguments: [String]) -> [String] {
        guard ["token", "request"].contains(arguments.first),
            !arguments.contains(where: { $0.hasPrefix("--token-timeout") || $0 == "--" || $0 == "--help" })
        else { return arguments }
        return arguments + ["--token-timeout", "10m"]
    }

    /// Runs a shell script as this user.
    func shell(
        _ script: String,
        environment: [String: String] = [:],
        errorsAreTerminal: Bool = false
    ) async throws -> ProcessResult {
        try await BuiltProgram.sh.runApart(
            ["-c", script],
            environment: variables.merging(environment) { $1 },
            errorsAreTerminal: errorsAreTerminal
        )
    }

    private var variables: [String: String] {
        [
            "HOME": home.path, "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "XDG_CACHE_HOME": "", "BROWSER": "",
            "DISPLAY": "",
            "WAYLAND_DISPLAY": "", "ORIGIN": origin,
        ]
    }

    /// Returns the token that a command printed.
    static func token(_ result: ProcessResult) -> String {
        String(result.output.dropLast())
    }
}

extension TokenScene {
    @TaskLocal private static var scene: TokenScene?

    /// The environment of the running test, whose suite has the trait `tokenScene`.
    static var current: TokenScene {
        guard let scene else { preconditionFailure("the suite lacks the trait .tokenScene") }
        return scene
    }

    /// Creates an environment for each test of a suite.
    struct SceneTrait: SuiteTrait, TestTrait, TestScoping {
        let configuration: MockAuthorizationServer.Configuration

        var isRecursive: Bool { true }

        func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { testCase == nil ? nil : self }

        @concurrent
        func provideScope(
            for test: Test,
            testCase: Test.Case?,
            performing function: @Sendable @concurrent () async throws -> Void
        ) async throws {
            try await TokenScene.play(configuration) { scene in
                try await TokenScene.$scene.withValue(scene) { try await function() }
            }
        }
    }
}

extension Trait where Self == TokenScene.SceneTrait {
    /// Gives each test the environment `TokenScene.current`.
    static var tokenScene: Self { tokenScene { _ in } }

    /// Gives each test the environment `TokenScene.current` with a configured server.
    static func tokenScene(_ configure: (inout MockAuthorizationServer.Configuration) -> Void) -> Self {
        var configuration = MockAuthorizationServer.Configuration()
        configure(&configuration)
        return Self(configuration: configuration)
    }
}

extension JSONObject {
    /// Returns the object with additional members.
    func with(_ members: JSONObject) -> JSONObject {
        var result = self
        for member in members { result[member.name] = member.value }
        return result
    }

    /// Returns the object without a member.
    func without(_ name: String) -> JSONObject {
        var result = self
        result[name] = nil
        return result
    }
}

/// The requests of etcd's JSON gateway that a token store sends, on a loopback server.
final class EtcdGateway: Sendable {
    private struct State {
        var revision = 1
        var entries: [String: (value: String, revision: Int)] = [:]
    }

    private let state = Mutex(State())

    init(on server: LoopbackServer) {
        server.on(.post, "/v3/kv/range") { [self] request in
            let key = try JSONObject(parsing: request.body)["key"]?.string ?? ""
            return state.withLock { state in
                let entry = state.entries[key].map {
                    #","kvs":[{"key":"\#(key)","mod_revision":"\#($0.revision)","value":"\#($0.value)"}]"#
                }
                return .json(#"{"header":{"revision":"\#(state.revision)"}\#(entry ?? "")}"#)
            }
        }
        server.on(.post, "/v3/kv/txn") { [self] request in
            let body = try JSONObject(parsing: request.body)
            return state.withLock { Self.transaction(body, &$0) }
        }
    }

    /// All stored values.
    var values: [String] {
        state.withLock { state in
            state.entries.values.map { String(decoding: Data(base64Encoded: $0.value) ?? Data(), as: UTF8.self) }
        }
    }

    private static func transaction(_ body: JSONObject, _ state: inout State) -> LoopbackResponse {
        let compare = body["compare"]?.array?.first?.object
        let key = compare?["key"]?.string ?? ""
        let expected = (compare?["mod_revision"] ?? compare?["create_revision"])?.string
        guard expected == String(state.entries[key]?.revision ?? 0) else {
            return .json(#"{"header":{"revision":"\#(state.revision)"}}"#)
        }
        state.revision += 1
        let put = body["success"]?.array?.first?.object?["request_put"]?.object
        state.entries[key] = put?["value"]?.string.map { ($0, state.revision) }
        return .json(#"{"header":{"revision":"\#(state.revision)"},"succeeded":true}"#)
    }
}
