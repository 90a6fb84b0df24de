import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// Tests of the rejections at the authorization and device endpoints.
@Suite("MockAuthorizationServer: users and devices", .limitedConcurrency, .authorizationPeer)
struct GrantHandlerTests {
    private var peer: AuthorizationPeer { .current }

    private static let place = AuthorizationPeer.place
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    private static let request = [
        "response_type": "code", "client_id": "app", "redirect_uri": place, "state": "s", "scope": "read",
        "code_challenge": challenge, "code_challenge_method": "S256",
    ]

    @Test("Redirects the user with a code, the state and the issuer, and keeps the redirect URI's query")
    func code() async throws {
        let location = try #require(try await visit().location)
        #expect(location.hasPrefix(Self.place + "&code="))
        let answer = Self.query(location)
        #expect(answer["state"] == "s")
        #expect(answer["iss"] == peer.server.metadata.issuer)
        let tokens = try await redeem(answer["code"])
        #expect(tokens.status == 200)
        #expect(tokens.body["scope"] == "read")
        #expect(tokens.refreshToken != nil)
        #expect(tokens.body["id_token"] == nil)
    }

    @Test("Keeps the spelling of the redirect URI's query")
    func spelling() async throws {
        let place = "https://app.example/callback?flag&x=a%20b&next=/home"
        peer.server.register(.init(id: "spelled", authentication: .none, redirectURIs: [place], scopes: ["read"]))
        let location = try await visit(["client_id": "spelled", "redirect_uri": place]).location
        #expect(location?.hasPrefix(place + "&code=") == true)
    }

    @Test("Doesn't redirect for an unknown client or to an unregistered URI")
    func strangers() async throws {
        for changes in [
            ["client_id": "stranger"], ["client_id": nil], ["redirect_uri": nil],
            ["redirect_uri": "https://evil.example/"], ["redirect_uri": "https://app.example/callback"],
            ["redirect_uri": Self.place + "&more=1"], ["redirect_uri": "http://127.0.0.1:80/other"],
            ["redirect_uri": "http://localhost:8080/cli"], ["redirect_uri": "http://127.0.0.1.evil.example:1/cli"],
        ] as [[String: String?]] {
            let answer = try await visit(changes)
            #expect(answer.status == 400, "\(changes)")
            #expect(answer.location == nil, "\(changes)")
        }
        let twice = try await visit(more: "&state=another")
        #expect(twice.status == 400)
        #expect(twice.location == nil)
    }

    @Test("Accepts any port of a loopback redirect URI")
    func loopback() async throws {
        for port in [1024, 65_535] {
            let place = "http://127.0.0.1:\(port)/cli"
            let location = try await visit(["redirect_uri": place]).location
            #expect(location?.hasPrefix("\(place)?code=") == true)
        }
    }

    @Test(
        "Returns errors of the request to the redirect URI, with the state",
        arguments: [
            (["response_type": "token"], "unsupported_response_type"),
            (["response_type": nil], "unsupported_response_type"),
            (["code_challenge": nil], "invalid_request"), (["code_challenge": "short"], "invalid_request"),
            (["code_challenge_method": "plain"], "invalid_request"),
            (["code_challenge_method": nil], "invalid_request"),
            (["scope": "read admin"], "invalid_scope"), (["resource": "relative"], "invalid_target"),
            (["authorization_details": "{}"], "invalid_authorization_details"),
            (["authorization_details": "[]"], "invalid_authorization_details"),
            (["authorization_details": #"[{"a":1}]"#], "invalid_authorization_details"),
        ] as [([String: String?], String)]
    )
    func errors(changes: [String: String?], code: String) async throws {
        let answer = Self.query(try #require(try await visit(changes).location))
        #expect(answer["error"] == code)
        #expect(answer["state"] == "s")
        #expect(answer["iss"] == peer.server.metadata.issuer)
        #expect(answer["code"] == nil)
    }

    @Test("Accepts a code once, within a minute and with matching parameters; a failed attempt uses it up")
    func redeeming() async throws {
        for changes in [
            ["code_verifier": String(repeating: "a", count: 43)], ["redirect_uri": "http://127.0.0.1:1/cli"],
            ["client_id": "other"],
        ] {
            let code = Self.query(try #require(try await visit().location))["code"]
            #expect(try await redeem(code, changes).error == "invalid_grant", "\(changes)")
            #expect(try await redeem(code).error == "invalid_grant")
        }
        for missing in ["code", "code_verifier", "redirect_uri"] {
            let code = Self.query(try #require(try await visit().location))["code"]
            #expect(try await redeem(code, [missing: ""]).error == "invalid_request")
        }
        let late = Self.query(try #require(try await visit().location))["code"]
        peer.time.advance(by: .seconds(60))
        #expect(try await redeem(late).error == "invalid_grant")

        let code = Self.query(try #require(try await visit().location))["code"]
        let tokens = try await redeem(code)
        #expect(peer.server.isActive(tokens.accessToken))
        #expect(try await redeem(code).error == "invalid_grant")
        #expect(!peer.server.isActive(tokens.accessToken))
    }

    @Test("Slows down a device that polls too often, and accepts a device code once")
    func device() async throws {
        let begun = try await peer.post([("client_id", "app"), ("scope", "read")], to: "/device_authorization")
        #expect(begun.status == 200)
        #expect(begun.body["interval"] == nil)
        let code = begun.body["device_code"]?.string ?? ""
        func ask(_ client: String = "app") async throws -> AuthorizationPeer.Answer {
            let type = "urn:ietf:params:oauth:grant-type:device_code"
            return try await peer.post([("grant_type", type), ("device_code", code), ("client_id", client)])
        }
        #expect(try await ask().error == "slow_down")
        peer.time.advance(by: .seconds(5))
        #expect(try await ask().error == "slow_down")
        peer.time.advance(by: .seconds(15))
        #expect(try await ask().error == "authorization_pending")
        #expect(try await ask("other").error == "invalid_grant")
        let userCode = begun.body["user_code"]?.string ?? ""
        #expect(peer.server.approveDevice(userCode: userCode, subject: "grace"))
        #expect(!peer.server.approveDevice(userCode: userCode))
        peer.time.advance(by: .seconds(15))
        let tokens = try await ask()
        #expect(peer.server.isActive(tokens.accessToken))
        peer.time.advance(by: .seconds(15))
        #expect(try await ask().error == "invalid_grant")
        peer.time.advance(by: .seconds(600))
        #expect(try await ask().error == "expired_token")
    }

    // MARK: Requests

    private func visit(
        _ changes: [String: String?] = [:],
        more: String = ""
    ) async throws -> (status: Int, location: String?) {
        var parameters = Self.request
        for (name, value) in changes { parameters[name] = value }
        let query = FormURLEncoded.encode(parameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        let response = try await peer.get(peer.server.server.url(for: "/authorize?\(query)\(more)"))
        return (response.status, response.headers["Location"])
    }

    private func redeem(
        _ code: String?,
        _ changes: [String: String] = [:]
    ) async throws -> AuthorizationPeer.Answer {
        var form = [
            "grant_type": "authorization_code", "code": code ?? "", "redirect_uri": Self.place,
            "code_verifier": Self.verifier, "client_id": "app",
        ]
        form.merge(changes) { $1 }
        return try await peer.post(form.map { ($0.key, $0.value) })
    }

    private static func query(_ location: String) -> [String: String] {
        let pairs = FormURLEncoded.decode(location.split(separator: "?", maxSplits: 1).last ?? "") ?? []
        return Dictionary(pairs.map { ($0.name, $0.value) }) { "\($0) \($1)" }
    }
}
