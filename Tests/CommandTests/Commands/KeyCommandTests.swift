import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("jwt key", .serialized, .limitedConcurrency)
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

    @Test("a key comes back the same from every form it can have")
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

    @Test("the public part has nothing private, in any form; a certificate has one, too")
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

    @Test("a JWK keeps what it says of its use, and states no algorithm that nobody named")
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

    @Test("a bare secret becomes a JWK and comes back")
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

    @Test("thumbprints are those of RFC 7638, as text and as URI")
    func thumbprints() throws {
        let jwk = try JWK(parsing: Self.inOtherForm)
        let result = try shell(
            "jwt key thumbprint key.pem; jwt key thumbprint key.pem --hash sha512; jwt key thumbprint key.pem --uri --json"
        )
        #expect(
            result.output == """
                \(try jwk.thumbprint)
                \(try jwk.thumbprint(.sha512))
                {"thumbprint":"\(try jwk.thumbprintURI)"}

                """
        )
        // A kind that signs nothing has one, too.
        let other = try BuiltProgram.jwt.run(
            "key",
            "thumbprint",
            "-",
            input: #"{"kty":"OKP","crv":"X25519","x":"3p7bfXt9wbTTW2HC7OQ1Nz-DQ8hbeGdNrfx-FG-IK08"}"#
        )
        #expect(other.status == 0)
    }

    @Test("a key is described without anything secret")
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
        #expect(try shell("jwt key inspect open.pem").errors.contains("warning: open.pem: other users may use this"))
    }

    @Test("files that exist are left alone unless asked")
    func existing() throws {
        let refused = try shell("jwt key convert key.pem --to jwk --out rsa.pem")
        let message = "jwt key convert: rsa.pem: exists already; --force replaces it\n"
        #expect(refused == ProcessResult(status: 2, output: "", errors: message))
        #expect(try shell("jwt key convert key.pem --to jwk --out rsa.pem --force").status == 0)
        #expect(try folder.text(of: "rsa.pem") == Self.inOtherForm + "\n")
    }

    @Test("what cannot be written or read is refused with the reason")
    func refusals() throws {
        try folder.write(#"{"keys":[]}"#, to: "set")
        for (arguments, message) in [
            ("convert key.pem --to raw", "key.pem: only a secret can be written bare; use --to pem, der or jwk"),
            ("convert set", "set: a JWK Set, where a single key is needed; see jwt key jwks --help"),
            ("inspect missing", "missing: cannot be read: No such file or directory"),
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
        "a wrong command line exits with 64 and one line",
        arguments: [
            ("convert", "a key is needed: its file, - for standard input, or --key-env NAME"),
            ("convert a --key-env B", "KEY and --key-env exclude each other"),
            ("convert a --kid b", "--kid is for --to jwk"),
            (
                "convert a --to jwk --new-password-env A",
                "only PKCS #8 can be encrypted: use --to pem or der with a new password"
            ),
            ("convert a --public --new-password-env A", "a public key needs no password: it is public"),
            ("convert - --new-password-file -", "the key and the new password cannot both come from standard input"),
            ("convert a --to ssh", "--to must be pem or der or jwk or traditional or traditional-der or raw"),
            ("convert a b", "unexpected argument: only KEY is taken"),
            ("thumbprint a --hash md5", "--hash must be sha256 or sha384 or sha512"),
            ("jwks add - a", "SET must be a file: it is written"),
            ("jwks add a", "a key is needed: its file, - for standard input, or --key-env NAME"),
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

    @Test("binary forms do not go to a terminal")
    func terminal() throws {
        let result = try shell("script -qec 'jwt key convert key.pem --to der' /dev/null")
        #expect(result.output.contains("--to der is binary, not for a terminal: use --out FILE"))
    }
}
