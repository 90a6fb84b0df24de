import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("jwt key", .limitedConcurrency)
struct KeyCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(KeyFixtures.pkcs8, to: "key.pem")
        try folder.write(KeyFixtures.rsa, to: "rsa.pem")
    }

    private func shell(_ script: String) throws -> ProcessResult {
        try BuiltProgram.shell(script, in: folder)
    }

    private static let inOtherForm =
        #"{"alg":"ES256","crv":"P-256","d":"CL4XBSM0qIyXE45MIu21mJ9SMaD-oC9LsRGSYALEnuo","kty":"EC","x":"yhHBn7znLUpsmEx9M3ymsfWy_8xrayQ8vhCajxQee5M","y":"kaN3nrRB1FY-pTOtjtrpl-uDKJeTiAT0tEQXn001Z4M"}"#

    @Test("Converts a key to every form and back without changes")
    func roundTrips() throws {
        let result = try shell(
            """
            set -e
            jwt key convert key.pem --to jwk
            for form in jwk der traditional traditional-der; do
              jwt key convert key.pem --to $form --out key.$form
              jwt key convert key.$form --to pem | cmp - key.pem
            done
            PW=a jwt key convert key.pem --new-password-env PW --out encrypted.pem
            PW=a jwt key convert encrypted.pem --password-env PW | cmp - key.pem
            jwt key convert - --to traditional < key.pem | head -n 1
            head -n 1 encrypted.pem
            for file in key.jwk key.der encrypted.pem; do stat -c %a $file; done
            jwt key convert rsa.pem --to jwk --alg PS256 | jwt key convert - | cmp - rsa.pem
            """
        )
        #expect(
            result
                == .success(
                    """
                    \(Self.inOtherForm)
                    -----BEGIN EC PRIVATE KEY-----
                    -----BEGIN ENCRYPTED PRIVATE KEY-----
                    600
                    600
                    600

                    """
                )
        )
    }

    @Test("Writes the public part of keys and certificates without private members")
    func publicParts() throws {
        try folder.write(KeyFixtures.certificate, to: "certificate.pem")
        let result = try shell(
            """
            jwt key public key.pem && jwt key convert key.pem --public --to jwk --kid auto &&
            jwt key public key.pem --to der -o public.der && jwt key convert public.der | cmp - public.pem
            stat -c %a public.der; jwt key convert certificate.pem | head -n 1
            """
        )
        let thumbprint = try SigningKey(pem: KeyFixtures.pkcs8).verificationKey.thumbprint
        let jwk =
            #"{"alg":"ES256","crv":"P-256","kid":"\#(thumbprint)","kty":"EC","x":"yhHBn7znLUpsmEx9M3ymsfWy_8xrayQ8vhCajxQee5M","y":"kaN3nrRB1FY-pTOtjtrpl-uDKJeTiAT0tEQXn001Z4M"}"#
        #expect(result.output == KeyFixtures.publicKey + jwk + "\n644\n-----BEGIN PUBLIC KEY-----\n")
    }

    @Test("Preserves a JWK's metadata, and states an algorithm only if it's known")
    func metadata() throws {
        try folder.write(
            try SampleTokens.es256JWK(["kid": "k1", "use": "sig", "key_ops": ["sign"], "other": 1]),
            to: "key.jwk"
        )
        let kept = try JSONObject(parsing: shell("jwt key public key.jwk --to jwk").output)
        #expect(kept["kid"] == "k1" && kept["use"] == "sig" && kept["d"] == nil)
        let renamed = try JSONObject(parsing: shell("jwt key convert key.jwk --to jwk --kid k2").output)
        #expect(renamed["kid"] == "k2" && renamed["key_ops"] == ["sign"])
        let rsa = try JSONObject(parsing: shell("jwt key public rsa.pem --to jwk").output)
        #expect(rsa.map(\.name).sorted() == ["e", "kty", "n"])
        let named = try JSONObject(parsing: shell("jwt key public rsa.pem --to jwk --alg RS512").output)
        #expect(named["alg"] == "RS512")
    }

    @Test("Converts a raw secret to a JWK and back")
    func secrets() throws {
        let result = try BuiltProgram.shell(
            """
            jwt key convert --key-env S --secret hex --to jwk | jwt key convert - --to raw
            jwt key convert --key-env S --secret hex --to pem; jwt key public --key-env S --secret hex
            """,
            environment: ["S": "6162" + String(repeating: "30", count: 30)]
        )
        #expect(result.output == "ab" + String(repeating: "0", count: 30))
        #expect(
            result.errors == """
                jwt key convert: --key-env: secrets have no PEM or DER format; write the secret as a JWK
                jwt key public: --key-env: a secret has no public part

                """
        )
        #expect(result.status == 2)
    }

    @Test("Prints RFC 7638 thumbprints, as text and as a URI")
    func thumbprints() throws {
        let jwk = try JWK(parsing: Self.inOtherForm)
        let result = try shell(
            "jwt key thumbprint key.pem; jwt key thumbprint key.pem --hash sha512; jwt key thumbprint key.pem --uri --json"
        )
        #expect(
            result.output == """
                \(try jwk.thumbprint)
                \(try jwk.thumbprint(.sha512))
                {"thumbprint":"\(try jwk.thumbprintURI())"}

                """
        )
        // Keys that can't sign have a thumbprint, too.
        let other = try BuiltProgram.jwt.run(
            ["key", "thumbprint", "-"],
            input: #"{"kty":"OKP","crv":"X25519","x":"3p7bfXt9wbTTW2HC7OQ1Nz-DQ8hbeGdNrfx-FG-IK08"}"#
        )
        #expect(other.status == 0)
    }

    @Test("Describes a key without revealing secrets")
    func inspect() throws {
        let rsa = try SigningKey(pem: KeyFixtures.rsa, algorithm: .rs256).verificationKey.thumbprint
        let result = try shell("jwt key inspect rsa.pem")
        #expect(
            result
                == .success(
                    """
                    form:       PEM, PRIVATE KEY
                    part:       private
                    type:       RSA
                    bits:       2048
                    thumbprint: \(rsa)

                    """
                )
        )
        try folder.write(try SampleTokens.es256JWK(["kid": "k1", "use": "sig"], without: "d"), to: "public.jwk")
        let jwk = try JSONObject(parsing: shell("jwt key inspect public.jwk --json").output)
        #expect(jwk["part"] == "public" && jwk["form"] == "JWK" && jwk["algorithm"] == "ES256" && jwk["kid"] == "k1")
        let secret = try BuiltProgram.jwt.run(
            ["key", "inspect", "--key-env", "S", "--secret", "text"],
            environment: ["S": "0123456789abcdef0123456789abcdef"]
        )
        #expect(secret.output == "form: bare secret\npart: secret\ntype: oct\n")
        try folder.write(KeyFixtures.pkcs8, to: "open.pem", mode: 0o644)
        #expect(try shell("jwt key inspect open.pem").errors.contains("warning: open.pem: other users can access this"))
    }

    @Test("Replaces existing files only with --force")
    func existing() throws {
        let refused = try shell("jwt key convert key.pem --to jwk --out rsa.pem")
        let message = "jwt key convert: rsa.pem: already exists; use --force to replace it\n"
        #expect(refused == .failure(2, message))
        #expect(try shell("jwt key convert key.pem --to jwk --out rsa.pem --force").status == 0)
        #expect(try folder.text(of: "rsa.pem") == Self.inOtherForm + "\n")
    }

    @Test("Reports the reason if a key can't be converted or read")
    func refusals() throws {
        try folder.write(#"{"keys":[]}"#, to: "set")
        for (arguments, message) in [
            ("convert key.pem --to raw", "key.pem: only a secret has a raw form; use --to pem, der or jwk"),
            ("convert set", "set: contains a JWK Set, but a single key is needed; see jwt key jwks --help"),
            ("inspect missing", "missing: can't be read: No such file or directory"),
            ("convert rsa.pem --alg ES256", "rsa.pem: ES256 can't use a key of kty “RSA”"),
        ] {
            let result = try shell("jwt key \(arguments)")
            let command = arguments.prefix { $0 != " " }
            #expect(result == .failure(2, "jwt key \(command): \(message)\n"))
        }
        let edwards = try shell("jwt keygen --alg Ed25519 | jwt key convert - --to traditional")
        #expect(edwards.fails(2, containing: "have no format other than PKCS#8 and SPKI"), "\(edwards)")
    }

    @Test("Rejects binary forms on a terminal")
    func terminal() throws {
        let result = try shell("script -qec 'jwt key convert key.pem --to der' /dev/null")
        #expect(result.output.contains("--to der is binary, which a terminal can't show; use --out FILE"))
    }
}

@Suite("Key files of jwt sign and jwt verify", .limitedConcurrency)
struct KeyFileTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Expects that both commands reject the key file with exit code 2 and the message.
    private func expectRefusal(of name: String, _ message: String) throws {
        let path = folder.file(name)
        let token = try SampleTokens.es256Token()
        for (command, arguments) in [("sign", []), ("verify", [token])] {
            let result = try BuiltProgram.jwt.run([command, "--key", path] + arguments)
            #expect(result == .failure(2, "jwt \(command): \(path): \(message)\n"))
        }
    }

    @Test(
        "Names a file without a usable key, with the reason",
        arguments: [
            ("", "the key is empty"), (" \n", "the key is empty"),
            (
                "secret",
                "not a key in PEM, DER or JWK form; read a raw secret with --secret text|base64|base64url|hex"
            ),
            (
                "0123456789",
                "not a key in PEM, DER or JWK form; read a raw secret with --secret text|base64|base64url|hex"
            ),
            ("{\"kid\":\"secret\"}", "the JWK has no “kty”, the key type"),
            (String(repeating: " ", count: 1 << 20) + "{}", "larger than 1 MiB"),
            (
                KeyFixtures.rsa,
                "a key of kty “RSA” can be used with RS256, RS384, RS512, PS256, PS384, PS512; name the algorithm "
                    + "with --alg"
            ),
            (
                KeyFixtures.encrypted,
                "The private key in line 1 is encrypted: a password is needed; pass it with --password-file FILE or "
                    + "--password-env NAME"
            ),
        ]
    )
    func noKey(text: String, message: String) throws {
        try folder.write(text, to: "key")
        try expectRefusal(of: "key", message)
    }

    @Test("Names a missing file and a folder with the reason")
    func unreadable() throws {
        try expectRefusal(of: "missing", "can't be read: No such file or directory")
        try FileManager.default.createDirectory(atPath: folder.file("folder"), withIntermediateDirectories: false)
        try expectRefusal(of: "folder", "can't be read: Is a directory")
    }

    @Test("Signs and verifies with keys in DER, and rejects other binary files")
    func der() throws {
        let key = try SigningKey(pem: KeyFixtures.pkcs8)
        let (privatePath, publicPath) = (folder.file("key.der"), folder.file("public.der"))
        try key.der().write(to: URL(filePath: privatePath))
        try key.verificationKey.der().write(to: URL(filePath: publicPath))
        let signed = try BuiltProgram.jwt.run("sign", "-k", privatePath, "--expires-in", "1h")
        #expect(signed.status == 0)
        let token = signed.output.trimmingCharacters(in: .newlines)
        for path in [privatePath, publicPath] {
            #expect(try BuiltProgram.jwt.run("verify", "-k", path, token).status == 0)
        }
        let reversed = try BuiltProgram.jwt.run("sign", "-k", publicPath)
        #expect(reversed.fails(2, containing: "this is a public key"), "\(reversed)")
        try Data([0x30, 0x03, 0xFF, 0xFE, 0xFD]).write(to: URL(filePath: folder.file("broken.der")))
        let broken = try BuiltProgram.jwt.run("sign", "-k", folder.file("broken.der"))
        #expect(broken.fails(2, "jwt sign: \(folder.file("broken.der")): "), "\(broken)")
        try Data([0xFF, 0xFE]).write(to: URL(filePath: folder.file("binary")))
        try expectRefusal(
            of: "binary",
            "not a key in PEM, DER or JWK form; read a raw secret with --secret text|base64|base64url|hex"
        )
    }

    @Test(
        "Rejects malformed keys in one line that names the file",
        arguments: [
            "{", "{\"kty\":\"EC\"}", "{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}", "{\"keys\":5}",
            "-----BEGIN PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n",
            "-----BEGIN EC PRIVATE KEY-----\nc2VjcmV0\n-----END EC PRIVATE KEY-----\n",
            "-----BEGIN PUBLIC KEY-----\nc2VjcmV0\n-----END PUBLIC KEY-----\n", "-----BEGIN secret-----\n",
        ]
    )
    func broken(text: String) throws {
        let path = try folder.write(text, to: "key")
        for (command, arguments) in [("sign", []), ("verify", [try SampleTokens.es256Token()])] {
            let result = try BuiltProgram.jwt.run([command, "--key", path] + arguments)
            #expect(result.failsInOneLine(2, "jwt \(command): \(path): "), "\(result)")
            #expect(!result.errors.contains("c2VjcmV0"))
        }
    }

    @Test("Rejects mismatched private and public parts for signing, and ignores the private part for verifying")
    func mismatchedPair() throws {
        let scalar = String(repeating: "A", count: 42) + "E"
        try folder.write(try SampleTokens.es256JWK(["d": scalar]), to: "mixed.jwk")
        let path = folder.file("mixed.jwk")
        let signing = try BuiltProgram.jwt.run(["sign", "--key", path])
        #expect(signing.fails(2, "jwt sign: \(path): "), "\(signing)")
        let verifying = try BuiltProgram.jwt.run(["verify", "--key", path, try SampleTokens.es256Token()])
        // The signature is valid, but the token is old.
        #expect(verifying.fails(1, containing: "the token expired"), "\(verifying)")
        for result in [signing, verifying] { #expect(!result.errors.contains(scalar)) }
    }

    @Test("Rejects keys that can't sign")
    func publicKeys() throws {
        let script = "jwt keygen --alg ES256 --out key --public-out public && cat public"
        #expect(try BuiltProgram.shell(script, in: folder).status == 0)
        let publicJWK = try SampleTokens.es256JWK(without: "d")
        let cases = [
            (folder.file("public"), "this is a public key; use the private key that belongs to it"),
            (
                try folder.write(publicJWK, to: "public.jwk"),
                "the JWK is a public key; use the private key that belongs to it"
            ),
            (
                try folder.write("{\"keys\":[\(publicJWK)]}", to: "set.jwks"),
                "contains a JWK Set, but signing needs a single key"
            ),
        ]
        for (path, message) in cases {
            let result = try BuiltProgram.jwt.run("sign", "--key", path)
            #expect(result == .failure(2, "jwt sign: \(path): \(message)\n"))
        }
    }
}
