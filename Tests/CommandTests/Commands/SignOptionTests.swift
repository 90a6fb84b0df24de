import Foundation
import TestSupport
import Testing
import TokenGeneration

@testable import jwt

@Suite("Options of jwt sign", .limitedConcurrency)
struct SignOptionTests {
    private let folder: TemporaryFolder
    private let key: String

    init() throws {
        folder = try TemporaryFolder()
        key = try folder.write(try SampleTokens.es256JWK(), to: "key.jwk")
    }

    private func sign(_ arguments: [String], environment: [String: String] = [:]) throws -> String {
        let result = try BuiltProgram.jwt.run(["sign"] + arguments, environment: environment)
        try #require(result.errors == "" && result.status == 0, "\(result)")
        return String(result.output.dropLast())
    }

    @Test("Accepts relative and absolute times in whole seconds")
    func times() throws {
        let fixed = try sign(["-k", key, "--not-before", "2026-01-31T12:00:00Z", "--issued-at", "7"])
        #expect(try SampleTokens.claims(of: fixed) == #"{"iat":7,"nbf":1769860800}"#)
        let before = Int(Date().timeIntervalSince1970)
        let token = try sign(["-k", key, "--not-before", "-1m", "--issued-at=now", "--expires-in", "15m"])
        let claims = try JSONObject(parsing: SampleTokens.claims(of: token))
        let issuedAt = try #require(claims["iat"]?.number?.integer)
        #expect((before...Int(Date().timeIntervalSince1970)).contains(issuedAt))
        #expect(claims["nbf"]?.number?.integer == issuedAt - 60)
        #expect(claims["exp"]?.number?.integer == issuedAt + 900)
    }

    @Test("Sets jti to a given ID, or to a random one for each token")
    func tokenID() throws {
        #expect(try SampleTokens.claims(of: sign(["-k", key, "--jti", "7"])) == #"{"jti":"7"}"#)
        let made = try (0..<2).map { _ in
            try JSONObject(parsing: SampleTokens.claims(of: sign(["-k", key, "--jti", "auto"])))["jti"]?.string ?? ""
        }
        #expect(made[0] != made[1])
        #expect(made.map(\.count) == [22, 22])
    }

    @Test("Sets typ with --typ")
    func type() throws {
        #expect(
            try SampleTokens.header(of: sign(["-k", key, "--sub", "a", "--typ", "at+jwt"]))
                == #"{"alg":"ES256","typ":"at+jwt"}"#
        )
    }

    @Test("Reads a PEM key or a raw secret from an environment variable")
    func environment() throws {
        let secret = "0123456789abcdef0123456789abcdef"
        let verifier = JWTVerifier(
            key: try VerificationKey(secret: secret.utf8, algorithm: .hs256),
            policy: ValidationPolicy(expiration: .optional)
        )
        for (encoding, text) in [
            ("text", secret), ("base64", Data(secret.utf8).base64EncodedString()),
            ("base64url", SampleTokens.base64URL(secret)), ("hex", secret.utf8.map { String($0, radix: 16) }.joined()),
        ] {
            let arguments = ["--key-env", "KEY", "--secret", encoding, "--alg", "HS256", "-c", "a=1"]
            #expect(try verifier.verify(sign(arguments, environment: ["KEY": text])).claims == ["a": 1])
        }
        let pem = try sign(["--key-env=KEY", "-c", "a=1"], environment: ["KEY": KeyFixtures.pkcs8])
        #expect(try SampleTokens.claims(of: pem) == #"{"a":1}"#)
        let file = try folder.write(secret + "\n", to: "secret")
        #expect(
            try verifier.verify(sign(["--key-file", file, "--secret=text", "--alg=HS256", "-c", "a=1"])).claims == [
                "a": 1
            ]
        )
    }

    @Test(
        "Rejects a secret that isn't in canonical encoding",
        arguments: [
            ("base64", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE"),
            ("base64", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=="),
            ("base64", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDF="),
            ("base64", "MDEyMzQ1Njc4OTAxMjM0\nNTY3ODkwMTIzNDU2Nzg5MDE="),
            ("base64", " MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="),
            ("base64", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE= "),
            ("base64", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n\n"),
            ("base64", "-_-_MzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="),
            ("base64url", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="),
            ("base64url", "+/+/MzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE"),
            ("base64url", "MDEyMzQ1Njc4OTAx MjM0NTY3ODkwMTIzNDU2Nzg5MDE"),
            ("base64url", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDF"),
            ("hex", "3031 32333435363738393031323334353637383930313233343536373839303132"),
        ]
    )
    func strictSecrets(encoding: String, text: String) throws {
        let path = try folder.write(text, to: "secret")
        let result = try BuiltProgram.jwt.run("sign", "-k", path, "--secret", encoding, "--alg", "HS256", "-c", "a=1")
        #expect(result.fails(2, "jwt sign: \(path): the secret must be \(encoding): "), "\(result)")
    }

    @Test("Rejects an environment variable that isn't UTF-8", .shows("X5"))
    func environmentEncoding() throws {
        for (command, name) in [
            ("sign --key-env X", "for --key-env"),
            ("sign -k key.jwk --password-env X", "for --password-env"),
            ("token --profile x", "HOME"),
        ] {
            let script = "X=\"$(printf 's\\377')\" HOME=\"$(printf '/\\377')\" XDG_CONFIG_HOME= jwt \(command)"
            let result = try BuiltProgram.shell(script, in: folder)
            let message = "the environment variable \(name) isn't valid UTF-8\n"
            #expect(result.status == 2 && result.output == "" && result.errors.hasSuffix(message), "\(result)")
        }
    }

    @Test("Warns if other users can read a password file")
    func passwordPermissions() throws {
        let path = try folder.write(KeyFixtures.encrypted, to: "encrypted.pem")
        let file = try folder.write("secret\n", to: "password", mode: 0o644)
        let result = try BuiltProgram.jwt.run("sign", "-k", path, "--password-file", file, "-c", "a=1")
        #expect(result.status == 0)
        let message = "\(file): other users can access this password (mode 644); fix: chmod 600 \(file)"
        #expect(result.errors == "jwt sign: warning: \(message)\n")
    }

    @Test("Prints a fix that works in a shell for any file name")
    func pastedAdvice() throws {
        for name in ["a b.jwk", "it's.jwk", "it'\u{301}s.jwk", "-k.jwk", "$(x).jwk", "ü.jwk"] {
            try folder.write(try SampleTokens.es256JWK(), to: name, mode: 0o644)
            let quoted = ShellWord.quoted(name)
            let script = """
                jwt sign --key=\(quoted) -c a=1 2>&1 >/dev/null | sed 's/.*fix: //' > advice && sh advice && \
                jwt sign --key - -c a=1 < \(quoted) 2>&1 >/dev/null
                """
            #expect(try BuiltProgram.shell(script, in: folder) == .success())
            #expect(try folder.mode(of: name) == 0o600, "\(name)")
        }
    }

    @Test("Names the file behind standard input in the fix")
    func standardInputFile() throws {
        let path = try folder.write(try SampleTokens.es256JWK(), to: "open.jwk", mode: 0o644)
        let result = try BuiltProgram.shell("jwt sign --key - -c a=1 < open.jwk", in: folder)
        #expect(result.status == 0)
        let real = URL(filePath: path).resolvingSymlinksInPath().path
        let message = "standard input: other users can access this private key (mode 644); fix: chmod 600 \(real)"
        #expect(result.errors == "jwt sign: warning: \(message)\n")
    }

    @Test("Decrypts a key only with its password")
    func password() throws {
        let path = try folder.write(KeyFixtures.encrypted, to: "encrypted.pem")
        let file = try folder.write("secret\n", to: "password")
        for arguments in [["--password-file", file], ["--password-env", "PW"]] {
            let token = try sign(["-k", path, "-c", "a=1"] + arguments, environment: ["PW": "secret"])
            #expect(try SampleTokens.claims(of: token) == #"{"a":1}"#)
        }
        let wrong = try BuiltProgram.jwt.run(
            ["sign", "--json", "-k", path, "--password-env", "PW"],
            environment: ["PW": "swordfish"]
        )
        #expect(wrong.fails(2, #"{"error":{"code":"incorrectPassword","message":"\#(path): "#), "\(wrong)")
        #expect(!wrong.errors.contains("swordfish"))
        let unset = try BuiltProgram.jwt.run("sign", "-k", path, "--password-env", "PW_UNSET")
        let message = "jwt sign: the environment variable for --password-env is unset or empty\n"
        #expect(unset == .failure(64, message))
        for variable in ["KEY_UNSET", "KEY_EMPTY"] {
            let result = try BuiltProgram.jwt.run(
                ["sign", "--json", "--key-env", variable, "-c", "a=1"],
                environment: ["KEY_EMPTY": ""]
            )
            let problem = "the environment variable for --key-env is unset or empty"
            #expect(result == .failure(64, #"{"error":{"code":"usage","message":"\#(problem)"}}"# + "\n"))
        }
        let empty = try folder.write("\n", to: "empty")
        let none = try BuiltProgram.jwt.run("sign", "-k", path, "--password-file", empty)
        #expect(none == .failure(2, "jwt sign: \(empty): contains no password\n"))
    }

    @Test("Creates JSON serializations and detached payloads that JWSVerifier accepts")
    func forms() throws {
        let verifier = JWSVerifier(key: try VerificationKey(jwk: JWK(parsing: SampleTokens.es256JWK())))
        let payload = Data(#"{"a":1}"#.utf8)
        for format in ["json", "general"] {
            let text = try sign(["-k", key, "-c", "a=1", "--format", format])
            let verified = try verifier.verify(json: text, requiring: .all)
            #expect(verified.payload == payload)
            #expect(verified.header == ["alg": "ES256", "typ": "JWT"])
        }
        let detached = try sign(["-k", key, "-c", "a=1", "--detached", "--payload-out", folder.file("payload")])
        #expect(detached.contains(".."))
        #expect(try folder.text(of: "payload") == #"{"a":1}"#)
        #expect(try verifier.verify(compact: detached, detachedPayload: payload).header["typ"] == "JWT")
        let unencoded = try sign(["-k", key, "-c", "a=1", "--unencoded-payload", "--format", "json"])
        let verified = try verifier.verify(json: unencoded, requiring: .all)
        #expect(verified.payload == payload)
        #expect(verified.payloadEncoding == .unencoded)
        #expect(verified.header["typ"] == nil)
        let refused = try BuiltProgram.jwt.run("sign", "-k", key, "-c", "a=1.5", "--unencoded-payload")
        let message = "an unencoded payload of a compact JWS must be printable ASCII without a period; detach it"
        #expect(refused == .failure(2, "jwt sign: \(message)\n"))
    }

    @Test("Prints the token and a generated key in one object with --json")
    func json() throws {
        let named = try BuiltProgram.jwt.run("sign", "--json", "-k", key, "-c", "a=1")
        #expect(named.errors == "")
        let token = try #require(try JSONObject(parsing: named.output)["token"]?.string)
        #expect(try SampleTokens.claims(of: token) == #"{"a":1}"#)
        let made = try BuiltProgram.jwt.run("sign", "--json", "--expires-in", "1h")
        #expect(made.errors == "")
        let object = try JSONObject(parsing: made.output)
        let jwk = try JWK(try #require(object["publicKey"]?.object))
        #expect(throws: Never.self) {
            try JWTVerifier(keys: JWKSet(keys: [jwk])).verify(object["token"]?.string ?? "")
        }
    }

    @Test("Prints warnings and errors as lines of JSON with --json")
    func jsonMessages() throws {
        let open = try folder.write(try SampleTokens.es256JWK(), to: "open.jwk", mode: 0o644)
        let warned = try BuiltProgram.jwt.run("sign", "--json", "-k", open, "--sub", "a")
        #expect(
            warned.errors
                == #"{"warning":{"message":"\#(open): other users can access this private key (mode 644); fix: chmod 600 \#(open)"}}"#
                + "\n"
        )
        let missing = try BuiltProgram.jwt.run("sign", "--json", "-k", "missing")
        let error = #"{"error":{"code":"system","message":"missing: can't be read: No such file or directory"}}"#
        #expect(missing == .failure(2, error + "\n"))
        let usage = try BuiltProgram.jwt.run("sign", "--sbu", "alice", "--json")
        let hint = #"{"error":{"code":"usage","message":"unknown option --sbu, did you mean --sub?"}}"#
        #expect(usage == .failure(64, hint + "\n"))
    }

    @Test("Explains a missing algorithm and an invalid encoding of a secret")
    func badSecrets() throws {
        let path = try folder.write("0123456789abcdef0123456789abcdeX", to: "secret")
        let unnamed = try BuiltProgram.jwt.run("sign", "-k", path, "--secret", "text")
        let advice = "a raw secret can be for HS256, HS384 or HS512: name the algorithm with --alg"
        #expect(unnamed == .failure(2, "jwt sign: \(path): \(advice)\n"))
        let other = try BuiltProgram.jwt.run("sign", "-k", path, "--secret", "hex", "--alg", "HS256")
        #expect(
            other
                == .failure(2, "jwt sign: \(path): the secret must be hex: pairs of 0-9 and a-f, no white space\n")
        )
    }
}

@Suite("Algorithms of the jwt command", .limitedConcurrency)
struct AlgorithmCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("Signs with a key for each algorithm and verifies with its public part", arguments: JWSAlgorithm.implemented)
    func everyAlgorithm(algorithm: JWSAlgorithm) throws {
        let files = algorithm.isSymmetric ? "--out key" : "--format jwk --out key --public-out public"
        let script = """
            jwt keygen --alg \(algorithm) \(files) && jwt sign -k key --sub alice --expires-in 1h > token && \
            jwt verify -k key < token && jwt verify -k \(algorithm.isSymmetric ? "key" : "public") < token | grep -q alice
            """
        let result = try BuiltProgram.shell(script, in: folder)
        #expect(result.status == 0 && result.errors == "", "\(result)")
        #expect(try SampleTokens.header(of: folder.text(of: "token")).contains("\"alg\":\"\(algorithm)\""))
    }

    @Test(
        "Uses an RSA key in PEM only with the algorithm in --alg",
        arguments: ["RS256", "PS512"]
    )
    func named(algorithm: String) throws {
        let script = """
            jwt keygen --alg \(algorithm) --out key --public-out public && \
            jwt sign -k key --alg \(algorithm) --expires-in 1h > token && jwt verify -k public --alg \(algorithm) < token
            """
        #expect(try BuiltProgram.shell(script, in: folder).status == 0)
        let other = try BuiltProgram.shell("jwt verify -k public --alg RS384 < token", in: folder)
        #expect(other == .failure(1, "jwt verify: “alg” of the header is “\(algorithm)”, but the key is for RS384\n"))
        let unnamed = try BuiltProgram.shell("jwt verify -k public < token", in: folder)
        #expect(unnamed.fails(2, endingWith: "name the algorithm with --alg\n"), "\(unnamed)")
        let wrong = try BuiltProgram.shell("jwt sign -k key --alg ES256", in: folder)
        #expect(wrong.fails(2, containing: "ES256 can't use a key"), "\(wrong)")
    }

    @Test("Uses --alg for a key set whose keys don't state an algorithm")
    func namedForSet() throws {
        let key = try SigningKey.generate(.ps256)
        var jwk = key.verificationKey.jwk
        jwk.members["alg"] = nil
        try folder.write(JWKSet(keys: [jwk]).serialized(), to: "set")
        try folder.write(key.pem(), to: "key")
        #expect(try BuiltProgram.shell("jwt sign -k key --alg PS256 --expires-in 1h > token", in: folder).status == 0)
        #expect(try BuiltProgram.shell("jwt verify -k set --alg PS256 < token", in: folder).status == 0)
        #expect(try BuiltProgram.shell("jwt verify -k set < token", in: folder).status == 1)
    }

    @Test("Verifies with the public key of a certificate")
    func certificate() throws {
        try folder.write(KeyFixtures.certificate, to: "certificate.pem")
        let result = try BuiltProgram.jwt.run(
            ["verify", "-k", folder.file("certificate.pem"), try SampleTokens.es256Token()]
        )
        #expect(result == .failure(1, "jwt verify: the signature doesn't verify with this key\n"))
    }

    @Test("Requires --key for HMAC, and generates a key for the algorithm in --alg")
    func withoutKey() throws {
        let secret = try BuiltProgram.jwt.run("sign", "--alg", "HS256")
        #expect(secret.fails(64, "jwt sign: --alg HS256 needs --key"), "\(secret)")
        let made = try BuiltProgram.jwt.run("sign", "--alg", "Ed25519", "--expires-in", "1h")
        #expect(made.status == 0)
        #expect(try VerificationKey(jwk: JWK(parsing: made.errors)).algorithm == .ed25519)
    }

    @Test("Rejects a secret that is too short, with the reason")
    func refused() throws {
        try folder.write(#"{"kty":"oct","alg":"HS256","k":"c2VjcmV0"}"#, to: "short")
        let short = try BuiltProgram.jwt.run("sign", "-k", folder.file("short"))
        #expect(short.fails(2, containing: "the secret has 6 bytes, but HS256 needs at least 32"), "\(short)")
        #expect(!short.errors.contains("c2VjcmV0"))
    }
}
