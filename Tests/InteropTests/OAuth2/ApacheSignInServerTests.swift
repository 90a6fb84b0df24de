import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestPrograms
import TestSupport
import Testing
import TokenGeneration

/// Apache with mod_auth_openidc as a client of the mock server, and as a resource server that
/// introspects its tokens. Each test starts its own Apache with `Tests/Interop/apache`.
@Suite("Sign-in: Apache", .enabled(if: Interop.isPrepared, Interop.hint), .serialized, .timeLimit(.minutes(20)))
struct ApacheSignInServerTests {
    private static let algorithms: [JWSAlgorithm] = [.rs256, .ps256, .es256, .es384]

    @Test("Apache signs users in at the mock server", arguments: algorithms)
    func signIn(algorithm: JWSAlgorithm) async throws {
        try await Self.run(algorithm) { mock, apache in
            let callback = try await apache.beginSignIn(at: mock)
            #expect(try await apache.get(callback) == 302)
            #expect(try await apache.get("/signed-in") == 200)
            let form = try #require(mock.server.requests(for: "/token").first)
            #expect(form.formValue("code_verifier") != nil)
            #expect(mock.server.requests(for: "/userinfo").count == 1)
            // The state is used.
            #expect(try await apache.get(callback) != 200)
            #expect(mock.server.requests(for: "/token").count == 1)
        }
    }

    @Test("Apache rejects another state, a rejected code and a response without a valid ID token")
    func refusals() async throws {
        try await Self.run(.es256) { mock, apache in
            let faults: [MockAuthorizationServer.Fault?] = [
                nil, .error("invalid_grant"), .members(["id_token": nil]),
                .members(["id_token": "eyJhbGciOiJub25lIn0.e30."]),
            ]
            for fault in faults {
                if let fault { mock.misbehave(fault) }
                var callback = try await apache.beginSignIn(at: mock)
                if fault == nil {
                    let text = callback.absoluteString.replacing("state=", with: "state=x")
                    callback = try #require(URL(string: text))
                }
                #expect(try await apache.get(callback) != 302)
                #expect(try await apache.get("/signed-in") == 302)
            }
            #expect(mock.server.requests(for: "/token").count == 3)
        }
    }

    @Test("Apache introspects the mock server's tokens")
    func introspection() async throws {
        try await Self.run(.es256) { mock, apache in
            let active = try mock.issueAccessToken(clientID: "app", subject: "ada")
            let revoked = try mock.issueAccessToken(clientID: "app", subject: "ada")
            let other = try mock.issueAccessToken(clientID: "app", subject: "eve")
            mock.revoke(revoked)
            #expect(try await apache.get("/introspected", token: active) == 200)
            for token in [revoked, other, "unknown"] {
                #expect(try await apache.get("/introspected", token: token) == 401)
            }
            #expect(mock.server.requests(for: "/introspect").count == 4)
        }
    }

    private static func run(
        _ algorithm: JWSAlgorithm,
        _ test: (MockAuthorizationServer, ApacheSite) async throws -> Void
    ) async throws {
        var configuration = MockAuthorizationServer.Configuration()
        configuration.signingAlgorithm = algorithm
        let mock = try MockAuthorizationServer.start(configuration: configuration)
        let apache = try await ApacheSite(issuer: mock.metadata.issuer)
        defer { apache.stop() }
        mock.register(
            MockAuthorizationServer.Client(
                id: "site",
                authentication: .clientSecretBasic("site-secret"),
                redirectURIs: [apache.url("/signed-in/callback").absoluteString]
            )
        )
        mock.register(MockAuthorizationServer.Client(id: "api", secret: "api-secret"))
        try await test(mock, apache)
        await mock.stop()
    }
}

/// An Apache, and a browser with its cookies.
private final class ApacheSite {
    private let program: ChildProgram
    private let folder: URL
    private let port: Int
    private let client = NetworkClient(options: .init(timeout: .seconds(120), redirects: .never))
    private var cookies: [String: String] = [:]
    private var location: URL?

    init(issuer: String) async throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "apache-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let free = try LoopbackServer.start()
        port = free.port
        await free.stop()
        program = try ChildProgram(
            path: "/bin/bash",
            [
                Interop.file("apache"), "sign-in", try Interop.required("INTEROP_APACHE_FOLDER"), folder.path,
                "\(port)", issuer,
            ],
            errors: .inherited
        )
        let isReady = try await eventuallyReady()
        try #require(isReady, "Apache didn't start")
    }

    private func eventuallyReady() async throws -> Bool {
        for _ in 0..<6000 where !program.isOver {
            if (try? await get("/")) != nil { return true }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }

    func stop() {
        program.kill()
        try? FileManager.default.removeItem(at: folder)
    }

    func url(_ path: String) -> URL { URL(string: "http://127.0.0.1:\(port)\(path)")! }

    func get(_ path: String, token: String? = nil) async throws -> Int { try await get(url(path), token: token) }

    /// Returns the status code of a response, after storing its cookies and location.
    func get(_ url: URL, token: String? = nil) async throws -> Int {
        var request = URLRequest(url: url)
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        let pairs = cookies.map { "\($0.key)=\($0.value)" }
        if !pairs.isEmpty { request.setValue(pairs.joined(separator: "; "), forHTTPHeaderField: "Cookie") }
        do {
            let response = try await client.response(for: request)
            keep(response.headers)
            return response.status
        } catch let error as ServerError {
            keep(error.headers)
            return error.errorCode
        }
    }

    /// Opens a page and the mock server's sign-in, and returns the URL that the browser opens then.
    func beginSignIn(at mock: MockAuthorizationServer) async throws -> URL {
        #expect(try await get("/signed-in") == 302)
        return try await mock.visit(try #require(location))
    }

    private func keep(_ headers: HTTPHeaders) {
        location = headers["Location"].flatMap { URL(string: $0) }
        for field in headers.values(for: "Set-Cookie") {
            let pair = field.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            let value = pair.count == 2 ? String(pair[1]) : ""
            cookies[String(pair[0])] = value.isEmpty ? nil : value
        }
    }
}
