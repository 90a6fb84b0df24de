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
                == ProcessResult(
                    status: 0,
                    output: """
                        \(Self.inOtherForm)
                        -----BEGIN EC PRIVATE KEY-----
                        -----BEGIN ENCRYPTED PRIVATE KEY-----
                        600
                        600
                        600

                        """,
                    errors: ""
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
            "key",
            "thumbprint",
            "-",
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
                == ProcessResult(
                    status: 0,
                    output: """
                        form:       PEM, PRIVATE KEY
                        part:       private
                        type:       RSA
                        bits:       2048
                        thumbprint: \(rsa)

                        """,
                    errors: ""
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
        #expect(refused == ProcessResult(status: 2, output: "", errors: message))
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
            #expect(result == ProcessResult(status: 2, output: "", errors: "jwt key \(command): \(message)\n"))
        }
        let edwards = try shell("jwt keygen --alg Ed25519 | jwt key convert - --to traditional")
        #expect(edwards.status == 2)
        #expect(edwards.errors.contains("have no format other than PKCS#8 and SPKI"))
    }

    @Test(
        "Exits with 64 and one line for an invalid command line",
        arguments: [
            ("convert", "missing key; pass its file, - for standard input, or --key-env NAME"),
            ("convert a --key-env B", "KEY and --key-env can't be combined"),
            ("convert a --kid b", "--kid requires --to jwk"),
            (
                "convert a --to jwk --new-password-env A",
                "only PKCS #8 can be encrypted; use --to pem or --to der"
            ),
            ("convert a --public --new-password-env A", "public keys are never encrypted"),
            ("convert - --new-password-file -", "the key and the new password can't both come from standard input"),
            ("convert a --to ssh", "--to must be one of pem, der, jwk, traditional, traditional-der, raw"),
            ("convert a b", "unexpected argument: expected only KEY"),
            ("thumbprint a --hash md5", "--hash must be one of sha256, sha384, sha512"),
            ("jwks add - a", "SET must be a file, not standard input"),
            ("jwks add a", "missing key; pass its file, - for standard input, or --key-env NAME"),
            ("jwks remove a", "KID is missing"),
        ]
    )
    func usageErrors(arguments: String, message: String) throws {
        let result = try shell("jwt key \(arguments)")
        let words = arguments.split(separator: " ")
        let command = "jwt key " + (words[0] == "jwks" ? "jwks \(words[1])" : words[0])
        #expect(
            result == ProcessResult(status: 64, output: "", errors: "\(command): \(message) (see \(command) --help)\n")
        )
    }

    @Test("Rejects binary forms on a terminal")
    func terminal() throws {
        let result = try shell("script -qec 'jwt key convert key.pem --to der' /dev/null")
        #expect(result.output.contains("--to der is binary, which a terminal can't show; use --out FILE"))
    }
}
