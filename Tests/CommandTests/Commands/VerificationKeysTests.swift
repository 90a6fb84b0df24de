import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing
import TokenGeneration

@testable import jwt

@Suite("Keys of jwt verify", .limitedConcurrency)
struct VerificationKeysTests {
    private let root: MockCertificateAuthority
    private let certificate: MockCertificate
    private let folder: TemporaryFolder
    private let key: SigningKey
    private let set: String

    init() throws {
        root = try MockCertificateAuthority(name: "Root")
        certificate = try root.issueServerCertificate(hosts: ["localhost"])
        folder = try TemporaryFolder()
        key = try SigningKey.generate(.es256)
        var jwk = key.verificationKey.jwk
        jwk.keyID = "1"
        set = JWKSet(keys: [jwk]).serialized()
        try folder.write(root.certificatePEM, to: "root.pem")
    }

    private func token(issuer: String? = nil, keyID: String = "1") throws -> String {
        var claims: JSONObject = ["exp": 4_102_444_800]
        claims["iss"] = issuer.map(JSONValue.string)
        return try JWTGenerator(payload: claims, signingService: key.identified(by: keyID)).token()
    }

    private func withServer(_ test: (LoopbackServer, String) async throws -> Void) async throws {
        var configuration = LoopbackServer.Configuration()
        configuration.tls = LoopbackServer.TLS(certificate: certificate)
        try await withLoopbackServer(configuration: configuration) { server in
            try await test(server, "https://localhost:\(server.port)")
        }
    }

    private func verify(_ arguments: String...) async throws -> ProcessResult {
        try await BuiltProgram.jwt.runApart(
            ["verify", "--timeout", "5m", "--roots", folder.file("root.pem")] + arguments
        )
    }

    @Test("Verifies with a set in a file, and selects the key by kid")
    func file() throws {
        let path = try folder.write(set, to: "keys.jwks")
        #expect(try BuiltProgram.jwt.run("verify", "--jwks", path, try token()).status == 0)
        let other = try BuiltProgram.jwt.run("verify", "--jwks", path, "--json", try token(keyID: "2"))
        let error = #"{"error":{"code":"unknownKey","message":"the key set has no key with the token's “kid” “2”"}}"#
        #expect(other == .failure(1, error + "\n"))
        let single = try folder.write(key.verificationKey.jwk.members.serialized(), to: "key.jwk")
        let refused = try BuiltProgram.jwt.run("verify", "--jwks", single, try token())
        let reason = "not a JWK Set: the key set must have an array “keys”; pass a single JWK with --key FILE"
        #expect(refused == .failure(2, "jwt verify: \(single): \(reason)\n"))
        let pem = try folder.write(key.verificationKey.pem(), to: "key.pem")
        let unfit = try BuiltProgram.jwt.run("verify", "--jwks", pem, try token())
        #expect(unfit.errors.hasSuffix("; pass a PEM key with --key FILE\n") && unfit.status == 2, "\(unfit.errors)")
    }

    @Test("Fetches a set with https, and only from a trusted server", .shows("B2"))
    func web() async throws {
        try await withServer { server, url in
            server.on(.get, "/keys", .json(set))
            server.on(.get, "/gone", .status(410))
            server.on(.get, "/text", .text("secret"))
            let token = try token()
            #expect(try await verify("--jwks", url + "/keys?a=secret", token).status == 0)
            let gone = try await verify("--jwks", url + "/gone?a=secret", token)
            #expect(gone == .failure(2, "jwt verify: \(url)/gone: the server responded with 410\n"))
            let text = try await verify("--jwks", url + "/text", token)
            #expect(text.fails(2, "jwt verify: \(url)/text: ") && !text.errors.contains("secret"), "\(text)")
            let untrusted = try await BuiltProgram.jwt.runApart(["verify", "--json", "--jwks", url + "/keys", token])
            #expect(untrusted.fails(2, #"{"error":{"code":"tls","message":"\#(url)/keys: "#), "\(untrusted)")
            #expect(untrusted.errors.hasSuffix("; pass its root certificate with --roots FILE\"}}\n"))
        }
    }

    @Test("Discovers an issuer's keys, and accepts only tokens of the issuer")
    func discovery() async throws {
        try await withServer { server, url in
            let metadata = "{\"issuer\":\"\(url)/a\",\"jwks_uri\":\"\(url)/keys\"}"
            server.on(.get, "/keys", .json(set))
            server.on(.get, "/a/.well-known/openid-configuration", .json(metadata))
            server.on(.get, "/.well-known/oauth-authorization-server/b", .json(metadata.replacing("/a", with: "/b")))
            server.on(.get, "/c/.well-known/openid-configuration", .json(metadata))
            server.on(
                .get,
                "/d/.well-known/openid-configuration",
                .json("{\"issuer\":\"\(url)/d\",\"jwks_uri\":\"http://x/\"}")
            )
            for path in ["/a", "/b"] {
                let own = try await verify("--discover", url + path, try token(issuer: url + path))
                #expect(own.status == 0, "\(own)")
                let other = try await verify("--discover", url + path, try token(issuer: url + "/x"))
                let message = "the claim “iss” isn't the issuer that the options expect"
                #expect(other == .failure(1, "jwt verify: \(message)\n"))
            }
            let place = url + "/c/.well-known/openid-configuration"
            let impostor = try await verify("--discover", url + "/c", try token(issuer: url + "/c"))
            #expect(impostor == .failure(2, "jwt verify: \(place): the metadata belongs to another issuer\n"))
            let plain = try await verify("--discover", url + "/d", try token(issuer: url + "/d"))
            #expect(plain.fails(2, endingWith: "the metadata has no https URL for the keys (jwks_uri)\n"), "\(plain)")
        }
    }

    @Test("Reports a missing network")
    func noNetwork() throws {
        let result = try BuiltProgram.jwt.run("verify", "--jwks", "https://127.0.0.1:1/keys", try token())
        #expect(result.fails(2, "jwt verify: https://127.0.0.1:1/keys: "), "\(result)")
    }

    @Test("Requires, prohibits and compares claims, and limits ages and lifetimes")
    func policy() throws {
        let path = try folder.write(set, to: "keys.jwks")
        let service = key.identified(by: "1")
        let claims: JSONObject = ["exp": 2_000, "iat": 1_000, "role": "admin", "list": [1, "a"]]
        let token = try JWTGenerator(payload: claims, signingService: service).token()
        let check = { (arguments: [String]) in
            try BuiltProgram.jwt.run(["verify", "--jwks", path, "--at", "1500", "--json"] + arguments + [token])
        }
        for good in [
            ["--require", "role"], ["--prohibit", "x"], ["--claim", "role=admin", "-c", "list=[1,\"a\"]"],
            ["--max-age", "500"], ["--max-lifetime", "1000"],
        ] {
            #expect(try check(good).status == 0, "\(good)")
        }
        for (bad, code) in [
            (["--require", "x"], "missingClaim"), (["--prohibit", "role"], "prohibitedClaim"),
            (["-c", "role=user"], "checkFailed"),
            (["-c", "x=1"], "checkFailed"), (["--max-age", "5m"], "tooOld"),
            (["--max-lifetime", "5m"], "lifetimeTooLong"),
        ] {
            let result = try check(bad)
            #expect(result.status == 1)
            #expect(result.errors.hasPrefix("{\"error\":{\"code\":\"\(code)\","), "\(bad): \(result)")
        }
    }

    @Test("Fetches sets and metadata with http from this machine", .shows("X6"))
    func loopback() async throws {
        try await withLoopbackServer { server in
            let url = "http://127.0.0.1:\(server.port)"
            server.on(.get, "/keys", .json(set))
            server.on(.get, "/moved", .status(302, headers: ["Location": "/keys"]))
            server.on(
                .get,
                "/.well-known/oauth-authorization-server/a",
                .json("{\"issuer\":\"\(url)/a\",\"jwks_uri\":\"\(url)/keys\"}")
            )
            let fetched = try await BuiltProgram.jwt.runApart(["verify", "--jwks", url + "/keys", try token()])
            #expect(fetched.status == 0, "\(fetched)")
            let discovered = try await BuiltProgram.jwt.runApart(
                ["verify", "--discover", url + "/a", try token(issuer: url + "/a")]
            )
            #expect(discovered.status == 0, "\(discovered)")
            // A redirect could lead to a server that the user didn't specify.
            let moved = try await BuiltProgram.jwt.runApart(["verify", "--jwks", url + "/moved", try token()])
            #expect(moved.status == 2)
            #expect(moved.errors.hasPrefix("jwt verify: \(url)/moved: the server responded with 30"), "\(moved)")
        }
    }

    @Test("Accepts references to this machine only from documents on this machine", .shows("X6"))
    func naming() throws {
        let elsewhere = try #require(WebDocument("https://id.example/a"))
        let other = try #require(WebDocument("https://keys.example/b"))
        #expect(elsewhere.canName(other))
        for address in ["http://127.0.0.1/a", "https://localhost/a", "http://[::1]:1/a"] {
            let here = try #require(WebDocument(address))
            #expect(here.canName(here) && here.canName(other))
            #expect(!elsewhere.canName(here), "\(address)")
        }
    }

    @Test("Warns about a certificate that isn't valid, in PEM, in DER and in a JWK")
    func expiredCertificate() throws {
        let (start, end) = (Date(timeIntervalSince1970: 1_000), Date(timeIntervalSince1970: 2_000))
        let expired = try root.issueServerCertificate(hosts: ["localhost"], notBefore: start, notAfter: end)
        let service = try SigningKey(pem: expired.privateKeyPEM, algorithm: .es256)
        let token = try JWTGenerator(payload: ["exp": 4_102_444_800], signingService: service).token()
        let pem = try folder.write(expired.certificatePEM, to: "expired.pem", mode: 0o644)
        let der = folder.file("expired.der")
        try expired.certificateDER.write(to: URL(filePath: der))
        var jwk = service.verificationKey.jwk
        jwk.members["x5c"] = [.string(expired.certificateDER.base64EncodedString())]
        let set = try folder.write(jwk.members.serialized(), to: "expired.jwk", mode: 0o644)
        for path in [pem, der, set] {
            let verify = { (time: String) in try BuiltProgram.jwt.run("verify", "-k", path, "--at", time, token) }
            for time in ["1000", "1500", "2000"] {
                let result = try verify(time)
                #expect(result.status == 0 && result.errors == "", "\(result)")
            }
            for (time, words) in [
                ("2001", "the certificate has expired (1970-01-01T00:33:20Z)"),
                ("999", "the certificate isn't valid yet (1970-01-01T00:16:40Z)"),
            ] {
                let result = try verify(time)
                #expect(result.status == 0)
                #expect(result.errors == "jwt verify: warning: \(path): \(words)\n")
            }
        }
        let inspected = try BuiltProgram.jwt.run("key", "inspect", pem)
        #expect(inspected.status == 0 && inspected.errors.contains("the certificate has expired"))
    }

    @Test("Warns about a private key that other users can access")
    func permissions() throws {
        let path = try folder.write(try key.pem(), to: "key.pem", mode: 0o644)
        let result = try BuiltProgram.jwt.run("verify", "-k", path, try token())
        #expect(result.status == 0)
        #expect(
            result.errors.hasPrefix("jwt verify: warning: \(path): other users can access this private key (mode 644)")
        )
        let publicPath = try folder.write(try key.verificationKey.pem(), to: "public.pem", mode: 0o644)
        #expect(try BuiltProgram.jwt.run("verify", "-k", publicPath, try token()).errors == "")
    }
}
