import Foundation
import HTTPSignatures
import MockNetworking
import Networking
import OAuth2
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@Suite("jwt request --http-signature", .limitedConcurrency, .tokenScene)
struct RequestSignatureTests {
    private var scene: TokenScene { .current }

    /// Writes the key on Ed25519 of RFC 9421, and returns the option for it.
    private static func key(_ scene: TokenScene) throws -> [String] {
        let keys = try JSONObject(parsing: Vector.data("rfc9421-keys"))["keys"]?.object
        let members = try #require(keys?["test-key-ed25519"]?.object?["jwk"]?.object).with(["kid": "k-1"])
        try scene.home.write(members.serialized(), to: "signer.jwk")
        let key = try SigningKey(jwk: JWK(members))
        try scene.home.write(key.verificationKey.jwk.members.serialized(), to: "signer.pub", mode: 0o644)
        return ["--http-signature", scene.home.file("signer.jwk")]
    }

    /// Returns the report of `jwt http verify` about a request as the server received it.
    private static func report(
        _ request: LoopbackRequest?,
        _ scene: TokenScene,
        _ options: String...,
        origin: String? = nil
    ) async throws -> (status: Int32, report: JSONObject, text: String) {
        let request = try #require(request)
        var text = "\(request.method) \(request.target) HTTP/1.1\r\n"
        for field in request.headers where field.name.lowercased() != "transfer-encoding" {
            text += "\(field.name): \(field.value)\r\n"
        }
        try scene.home.write(text + "\r\n" + String(decoding: request.body, as: UTF8.self), to: "received")
        let key = ["-k", scene.home.file("signer.pub"), "--origin", origin ?? scene.origin]
        let rules = options.isEmpty ? ["--signature-profile", "standard"] : options
        let result = try await scene.jwt(["http", "verify", "--json", scene.home.file("received")] + key + rules)
        return (result.status, try JSONObject(parsing: result.output), result.output + result.errors)
    }

    private static func covered(_ report: JSONObject) -> [String] {
        let signature = report["signatures"]?.array?.first?.object
        return signature?["covered"]?.array?.compactMap { $0.object?["component"]?.string } ?? []
    }

    @Test("Signs requests with data and files, without a token", .shows("P43"))
    func withoutToken() async throws {
        scene.api.onAnyMethod("/orders") { _ in .text("done") }
        let url = scene.origin + "/orders?a=%2f"
        let body = try scene.home.write("[1, 2]\n", to: "body.json")
        let key = try Self.key(scene)
        for arguments in [
            [url], ["POST", url, "-d", "a=b"], ["PUT", url, "-d", "@" + body, "-H", "Content-Type: text/plain"],
            [url, "--json-body", #"{"a":1}"#],
        ] {
            let result = try await scene.jwt(["request"] + arguments + key)
            #expect(result == .success("done"))
            let received = try #require(scene.api.requests.last)
            let (status, report, text) = try await Self.report(received, scene)
            #expect(status == 0, "\(text)")
            let expected =
                received.body.isEmpty
                ? [] : [#""content-digest""#, #""content-type""#, #""content-length""#]
            #expect(Self.covered(report) == [#""@method""#, #""@target-uri""#] + expected)
            #expect(report["signatures"]?.array?.first?.object?["keyid"] == "k-1")
            #expect(received.headers["Authorization"] == nil)
        }
        #expect(scene.authorization.tokenRequestCount == 0)
    }

    @Test("Covers tokens and DPoP proofs, and signs the retry after a rejected token")
    func withToken() async throws {
        var configuration = MockAuthorizationServer.Configuration()
        configuration.dpop = .required
        configuration.requiresNonces = true
        try await TokenScene.play(configuration) { scene in
            scene.api.on(.post, "/orders", scene.authorization.protecting { _ in .text("done") })
            let result = try await scene.jwt(
                ["request", "POST", scene.origin + "/orders", "-d", "a", "--dpop"] + Self.key(scene) + scene.flags
            )
            #expect(result == .success("done"))
            var nonces: Set<JSONValue> = []
            for request in scene.api.requests {
                let (status, report, text) = try await Self.report(request, scene)
                #expect(status == 0, "\(text)")
                #expect(Self.covered(report).suffix(2) == [#""authorization""#, #""dpop""#])
                #expect(text.contains("DPoP REDACTED"))
                nonces.insert(report["signatures"]?.array?.first?.object?["nonce"] ?? .null)
            }
            #expect(scene.api.requestCount > 1 && nonces.count == scene.api.requestCount)
        }
    }

    @Test("Signs redirects within the origin, and no others")
    func redirects() async throws {
        try await withLoopbackServer { foreign in
            foreign.on(.get, "/there", .text("there"))
            scene.api.on(.get, "/home", .status(302, headers: ["Location": "/here?b"]))
            scene.api.on(.get, "/here", .text("here"))
            scene.api.on(.get, "/away", .status(302, headers: ["Location": "http://127.0.0.1:\(foreign.port)/there"]))
            let key = try Self.key(scene)
            let home = try await scene.jwt(["request", scene.origin + "/home", "-L"] + key)
            #expect(home == .success("here"))
            for request in scene.api.requests { #expect(try await Self.report(request, scene).status == 0) }
            let away = try await scene.jwt(["request", scene.origin + "/away", "-L"] + key)
            #expect(away == .success("there"))
            let request = try #require(foreign.requests.first)
            #expect(request.headers["Signature"] == nil && request.headers["Signature-Input"] == nil)
        }
    }

    @Test(
        "Signs with the profile, the ID, the tag and the components of the options",
        .shows("RFC 9421 §1.4, §2.5, §3.2")
    )
    func options() async throws {
        scene.api.onAnyMethod("/x") { _ in .status(204) }
        let url = scene.origin + "/x"
        let key = try Self.key(scene)
        func input(_ options: [String]) async throws -> String {
            let result = try await scene.jwt(["request", url] + key + options)
            #expect(result == .success())
            return scene.api.requests.last?.headers["Signature-Input"] ?? ""
        }
        let chosen = try await input([
            "-H", "Idempotency-Key: 1", "--signature-cover", "idempotency-key", "--signature-keyid", "mine",
            "--signature-tag", "orders", "--signature-expires-in", "1m",
        ])
        #expect(chosen.hasPrefix(#"sig1=("@method" "@target-uri" "idempotency-key");created="#))
        for text in [";expires=", #";keyid="mine""#, #";nonce=""#, #";tag="orders""#] {
            #expect(chosen.contains(text))
        }
        let (status, _, text) = try await Self.report(
            scene.api.requests.last,
            scene,
            "--signature-profile",
            "standard",
            "--require",
            "idempotency-key",
            "--tag",
            "orders"
        )
        #expect(status == 0, "\(text)")
        let payments = try await input(["--signature-profile", "open-payments"])
        #expect(payments.hasPrefix(#"sig1=("@method" "@target-uri");created="#) && !payments.contains("nonce"))
        let proxied = try await input(["--signature-profile", "proxied"])
        #expect(proxied.hasPrefix(#"sig1=("@method" "@authority" "@path" "@query");"#))
        let fapi = try await input(["--signature-profile", "fapi2", "-H", "Authorization: Bearer abc"])
        #expect(fapi.contains(#""authorization""#) && fapi.contains(#";tag="fapi-2-request""#))
        let gnap = try await input(["--signature-profile", "gnap"])
        #expect(gnap.contains(#";tag="gnap""#))
        let thumbprint = try JWK(JSONObject(parsing: scene.home.text(of: "signer.pub"))).thumbprint
        let agent = try await input([
            "--signature-profile", "web-bot-auth", "--signature-agent", "https://bot.example/keys",
        ])
        #expect(agent.contains(#"keyid="\#(thumbprint)""#) && agent.contains(#";tag="web-bot-auth""#))
        #expect(scene.api.requests.last?.headers["Signature-Agent"] == #"sig1="https://bot.example/keys""#)
        let bot = try await Self.report(scene.api.requests.last, scene, "--signature-profile", "web-bot-auth")
        #expect(bot.status == 0, "\(bot.text)")
        #expect(try await input(["--signature-keyid", "auto"]).contains(#"keyid="\#(thumbprint)""#))
    }

    @Test("Signs with PEM keys, encrypted keys and secrets, and takes the options from a profile")
    func keys() async throws {
        scene.api.onAnyMethod("/x") { _ in .status(204) }
        let url = scene.origin + "/x"
        try scene.home.write(KeyFixtures.rsa, to: "rsa.pem")
        try scene.home.write(KeyFixtures.pkcs8, to: "ec.pem")
        try scene.home.write(String(repeating: "s", count: 32) + "\n", to: "shared")
        for options in [
            ["ec.pem"], ["rsa.pem", "--signature-alg", "PS512"], ["rsa.pem", "--signature-alg", "RS256"],
            ["shared", "--signature-secret", "text", "--signature-alg", "HS256", "--signature-keyid", "s"],
        ] {
            let key = ["--http-signature", scene.home.file(options[0])] + options.dropFirst()
            let result = try await scene.jwt(["request", url] + key)
            #expect(result == .success(), "\(options)")
        }
        _ = try Self.key(scene)
        try scene.write(profiles: [
            "prod": .object(
                scene.members.with([
                    "http-signature": .string(scene.home.file("signer.jwk")), "signature-tag": "orders",
                ])
            )
        ])
        let token = try await scene.jwt(["token", "--profile", "prod"])
        #expect(token.status == 0, "\(token)")
        let signed = try await scene.jwt(["request", url, "--profile", "prod"])
        #expect(signed == .success())
        let headers = try #require(scene.api.requests.last?.headers)
        #expect(headers["Authorization"] != nil && headers["Signature-Input"]?.contains("orders") == true)
    }

    @Test("Answers a 401 with Accept-Signature once, within the profile")
    func demand() async throws {
        let wanted = #"sig1=("@method" "@target-uri");created;nonce="from-server""#
        scene.api.on(.get, "/x", .status(401, headers: ["Accept-Signature": wanted]), .text("done"))
        let result = try await scene.jwt(["request", scene.origin + "/x", "-f"] + Self.key(scene))
        #expect(result == .success("done"))
        #expect(scene.api.requests.map { $0.headers["Signature-Input"]?.contains("from-server") } == [false, true])
    }

    @Test(
        "Requires and verifies the response's signature before it prints the body",
        .shows("RFC 9421 §1.4, §2.5, §3.2")
    )
    func responses() async throws {
        let key = try SigningKey.generate(.es256)
        try scene.home.write(key.verificationKey.jwk.members.serialized(), to: "server.pub", mode: 0o644)
        let signer = try MessageSigner(key: key, keyID: "server", profile: .standardResponse)
        let origin = scene.origin
        for (path, content) in [("/signed", "the content"), ("/changed", "another one")] {
            scene.api.on(.get, path) { request in
                let sent = HTTPMessage(
                    method: request.method,
                    target: request.target,
                    at: origin,
                    headers: request.headers
                )
                var response = LoopbackResponse.text("the content")
                let message = HTTPMessage(status: 200, headers: response.headers, request: sent)
                for field in try await signer.sign(message, body: .data(Data(content.utf8)))
                where field.name != "Content-Length" {
                    response.headers[field.name] = field.value
                }
                return response
            }
        }
        scene.api.on(.get, "/unsigned", .text("the content"))
        func send(_ path: String, _ options: [String] = []) async throws -> ProcessResult {
            let verifying = ["--response-signature", scene.home.file("server.pub")]
            return try await scene.jwt(["request", origin + path] + Self.key(scene) + verifying + options)
        }
        #expect(try await send("/signed") == .success("the content"))
        let unsigned = try await send("/unsigned")
        let rejected = "/unsigned: the response was rejected: the message has no signature\n"
        #expect(unsigned == .failure(1, "jwt request: \(origin)\(rejected)"))
        let out = scene.home.file("out")
        for options in [[], ["-o", out], ["--json"]] {
            let changed = try await send("/changed", options)
            #expect(changed.status == 1 && changed.output == "", "\(changed)")
            #expect(changed.errors.contains("the content isn't the one that Content-Digest describes"))
        }
        #expect(try await send("/changed", ["--json"]).errors.contains(#""code":"digestMismatch""#))
        #expect(try !scene.home.names().contains("out"))
        _ = try Self.key(scene)
        try scene.home.write(scene.home.text(of: "signer.pub"), to: "server.pub", mode: 0o644)
        let other = try await send("/signed", ["--json"])
        #expect(other.status == 1 && other.errors.contains(#""code":"signatureInvalid""#))
    }

    @Test("Reports unusable keys and requests that can't be signed, and sends nothing")
    func failures() async throws {
        let url = scene.origin + "/x"
        try scene.home.write(KeyFixtures.rsa, to: "rsa.pem")
        try scene.home.write("short", to: "short")
        try scene.home.write(String(repeating: "s", count: 32), to: "shared")
        let file = scene.home.file
        let ed25519 = try Self.key(scene)
        for (options, message) in [
            (
                ["--http-signature", file("rsa.pem")],
                """
                \(file("rsa.pem")): a key of kty “RSA” can be used with RS256, RS384, RS512, PS256, PS384, PS512; \
                name the algorithm with --signature-alg
                """
            ),
            (
                [
                    "--http-signature", file("rsa.pem"), "--signature-alg", "PS512", "--signature-profile",
                    "open-payments",
                ],
                "\(file("rsa.pem")): the profile doesn't accept keys for PS512"
            ),
            (
                ["--http-signature", file("shared"), "--signature-secret", "text", "--signature-alg", "HS256"],
                "\(file("shared")): a secret needs an ID that the verifier knows; pass --signature-keyid ID"
            ),
            (
                ["--http-signature", file("signer.pub")],
                nil
            ),
            (["--http-signature", file("none")], "\(file("none")): can't be read: No such file or directory"),
            (
                ed25519 + ["--signature-cover", "x-missing"],
                "\(url): can't sign the request: the message has no field for the component \"x-missing\""
            ),
            (
                ed25519 + ["--signature-profile", "fapi2"],
                "\(url): can't sign the request: the message has no field for the component \"authorization\""
            ),
        ] as [([String], String?)] {
            let result = try await scene.jwt(["request", url] + options)
            #expect(result.status == 2 && result.output == "", "\(result)")
            if let message { #expect(result.errors == "jwt request: \(message)\n") }
        }
        #expect(scene.api.requestCount == 0)
    }
}
