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
            (["response_mode": "fragment"], "invalid_request"),
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
        let unknown = try await redeem("unknown")
        #expect((unknown.error, unknown.description) == ("invalid_grant", "the code is unknown"))
        let late = Self.query(try #require(try await visit().location))["code"]
        peer.time.advance(by: .seconds(60))
        #expect(try await redeem(late).error == "invalid_grant")

        let code = Self.query(try #require(try await visit().location))["code"]
        let tokens = try await redeem(code)
        #expect(peer.server.isActive(tokens.accessToken))
        #expect(try await redeem(code).error == "invalid_grant")
        #expect(!peer.server.isActive(tokens.accessToken))
    }

    @Test(
        "A token request can narrow the granted resources, but not add one",
        arguments: [("https://a.example", nil), ("https://b.example", "invalid_target")] as [(String, String?)]
    )
    func narrowedResources(requested: String, error: String?) async throws {
        let place = try #require(try await visit(["resource": "https://a.example"]).location)
        let answer = try await redeem(Self.query(place)["code"], ["resource": requested])
        #expect((answer.status, answer.error) == (error == nil ? 200 : 400, error))
        guard error == nil else { return }
        #expect(try UnverifiedToken(answer.accessToken).unverifiedClaims["aud"]?.string == requested)
    }

    @Test("A visit fails if the server doesn't redirect the browser to a URL")
    func noRedirect() async throws {
        let url = peer.server.server.url(for: "/authorize")
        peer.server.misbehave(at: .authorization, .response(.text("Sign in")), .response(.status(302)))
        let page = await #expect(throws: MockError.self) { try await peer.server.visit(url) }
        #expect(page?.code == .noRedirect)
        #expect(page?.localizedDescription == "noRedirect: the authorization endpoint didn't redirect the browser")
        let error = await #expect(throws: ServerError.self) { try await peer.server.visit(url) }
        #expect(error?.errorCode == 302)
    }

    // MARK: Pushed and signed requests

    @Test(
        "Doesn't redirect for an unknown pushed request or an unusable request object",
        arguments: [
            (["client_id": nil, "request": "x"], "the parameter client_id is missing"),
            (["request_uri": "urn:ietf:params:oauth:request_uri:unknown"], "the pushed request is unknown"),
            (["request": "x"], "the client doesn't have a key"),
        ] as [([String: String?], String)]
    )
    func unusableRequests(changes: [String: String?], text: String) async throws {
        let answer = try await visit(changes)
        #expect((answer.status, answer.location) == (400, nil))
        #expect(answer.text == text)
    }

    @Test("A pushed request is only for the client that pushed it")
    func pushedByAnother() async throws {
        let answer = try await peer.post(Self.request.map { ($0.key, $0.value) }, to: "/par")
        #expect(answer.status == 201)
        let uri = try #require(answer.body["request_uri"]?.string)
        let visit = try await visit(["client_id": "other", "request_uri": uri])
        #expect((visit.status, visit.text) == (400, "the pushed request is unknown"))
    }

    @Test("Rejects a pushed request with a request_uri, without its type or with another client's request object")
    func badPushes() async throws {
        let app = [("client_id", "app"), ("response_type", "code")]
        let foreign = try requestObject(of: "keyed", ["client_id": "app", "response_type": "code"])
        let rows: [([(name: String, value: String)], String, String)] = [
            (app + [("request_uri", "urn:x")], "invalid_request", "a pushed request can't be pushed again"),
            ([("client_id", "app")], "invalid_request", "the parameter response_type is missing"),
            (app + [("request", "x")], "invalid_request_object", "the client doesn't have a key"),
            (try assertion(of: "keyed") + [("request", foreign)], "invalid_request_object", "another client signed it"),
        ]
        for (form, error, description) in rows {
            let answer = try await peer.post(form, to: "/par")
            #expect((answer.status, answer.error) == (400, error))
            #expect(answer.description == description)
        }
    }

    @Test("Reads lists and objects in a request object, and grants all its resources")
    func requestObjectValues() async throws {
        let client = MockAuthorizationServer.Client(
            id: "signer",
            authentication: .privateKeyJWT(peer.key.verificationKey),
            redirectURIs: [Self.place]
        )
        peer.server.register(client)
        var claims = JSONObject(Self.request.map { ($0.key, .string($0.value)) })
        claims["client_id"] = "signer"
        claims["resource"] = ["https://a.example", "https://b.example"]
        claims["authorization_details"] = [["type": "payment"]]
        claims["claims"] = ["userinfo": ["email": nil]]
        claims["max_age"] = 300
        let object = try requestObject(of: "signer", claims)
        let pushed = try await peer.post(try assertion(of: "signer") + [("request", object)], to: "/par")
        let uri = try #require(pushed.body["request_uri"]?.string)
        let parameters = try #require(peer.server.pushedAuthorizationRequest(uri))
        #expect(parameters["authorization_details"] == #"[{"type":"payment"}]"#)
        #expect(parameters["claims"] == #"{"userinfo":{"email":null}}"#)
        #expect(parameters["max_age"] == "300")
        let place = try #require(try await visit(["client_id": "signer", "request_uri": uri]).location)
        let form = [
            ("grant_type", "authorization_code"), ("code", Self.query(place)["code"] ?? ""),
            ("redirect_uri", Self.place), ("code_verifier", Self.verifier),
        ]
        let tokens = try await peer.post(try form + assertion(of: "signer"))
        #expect(tokens.body["authorization_details"] == [["type": "payment"]])
        let audience = try UnverifiedToken(tokens.accessToken).unverifiedClaims["aud"]
        #expect(audience == ["https://a.example", "https://b.example"])
    }

    /// Returns a request object that a client signs
    /// ([RFC 9101 §4](https://www.rfc-editor.org/rfc/rfc9101#section-4)).
    private func requestObject(of client: String, _ claims: JSONObject) throws -> String {
        var payload = peer.claims(["iss": .string(client)], without: "sub")
        for claim in claims { payload[claim.name] = claim.value }
        return try JWTGenerator(
            header: ["typ": "oauth-authz-req+jwt"],
            payload: payload,
            signingService: ES256SigningService(key: peer.key)
        ).token()
    }

    private func assertion(of client: String) throws -> [(name: String, value: String)] {
        let claims = peer.claims(["iss": .string(client), "sub": .string(client)])
        return [
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ("client_assertion", try peer.assertion(claims)),
        ]
    }

    // MARK: Devices

    @Test("Rejects a backchannel request without one hint, openid or the client's notification token")
    func badBackchannelRequests() async throws {
        var client = MockAuthorizationServer.Client(id: "bank", secret: AuthorizationPeer.secret)
        client.metadata.members["backchannel_client_notification_endpoint"] = "https://bank.example/ping"
        peer.server.register(client)
        let (openID, hint) = (("scope", "openid"), ("login_hint", "ada"))
        let needed = "one hint and openid are required"
        let rows: [([(name: String, value: String)], String)] = [
            ([openID], needed), ([openID, hint, ("id_token_hint", "x")], needed), ([hint], needed),
            ([("scope", "read"), hint], needed), ([openID, hint], "the notification token is missing"),
        ]
        for (form, description) in rows {
            let answer = try await peer.post(form, to: "/backchannel_authentication", headers: peer.basic("bank"))
            #expect((answer.status, answer.error) == (400, "invalid_request"))
            #expect(answer.description == description)
        }
    }

    @Test("Binds refresh tokens of a client without credentials to its key", .shows("RFC 9449 §5"))
    func boundRefreshToken() async throws {
        let (key, other) = (try SigningKey.generate(.es256), try SigningKey.generate(.es256))
        func proof(_ key: SigningKey) throws -> HTTPHeaders {
            let url = peer.server.server.url(for: "/token").absoluteString
            let date = peer.time.date
            return ["DPoP": try DPoPProofGenerator(key: key).proof(method: "POST", url: url, date: date)]
        }
        func refresh(_ token: String?, _ headers: HTTPHeaders) async throws -> AuthorizationPeer.Answer {
            let form = [("grant_type", "refresh_token"), ("refresh_token", token ?? ""), ("client_id", "app")]
            return try await peer.post(form, headers: headers)
        }
        let code = Self.query(try #require(try await visit().location))["code"]
        var token = try await redeem(code, headers: proof(key)).refreshToken
        for _ in 1...2 {
            for headers in [[:], try proof(other)] as [HTTPHeaders] {
                let refused = try await refresh(token, headers)
                #expect((refused.status, refused.error) == (400, "invalid_grant"))
                #expect(refused.description == "the refresh token is bound to another key or certificate")
            }
            let answer = try await refresh(token, proof(key))
            #expect(answer.status == 200)
            token = answer.refreshToken
        }
        // Without a proof, it isn't bound.
        let second = Self.query(try #require(try await visit().location))["code"]
        #expect(try await refresh(try await redeem(second).refreshToken, proof(key)).status == 200)
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
    ) async throws -> (status: Int, location: String?, text: String) {
        var parameters = Self.request
        for (name, value) in changes { parameters[name] = value }
        let query = FormURLEncoded.encode(parameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        let response = try await peer.get(peer.server.server.url(for: "/authorize?\(query)\(more)"))
        return (response.status, response.headers["Location"], String(decoding: response.body, as: UTF8.self))
    }

    private func redeem(
        _ code: String?,
        _ changes: [String: String] = [:],
        headers: HTTPHeaders = [:]
    ) async throws -> AuthorizationPeer.Answer {
        var form = [
            "grant_type": "authorization_code", "code": code ?? "", "redirect_uri": Self.place,
            "code_verifier": Self.verifier, "client_id": "app",
        ]
        form.merge(changes) { $1 }
        return try await peer.post(form.map { ($0.key, $0.value) }, headers: headers)
    }

    private static func query(_ location: String) -> [String: String] {
        let pairs = FormURLEncoded.decode(location.split(separator: "?", maxSplits: 1).last ?? "") ?? []
        return Dictionary(pairs.map { ($0.name, $0.value) }) { "\($0) \($1)" }
    }
}
