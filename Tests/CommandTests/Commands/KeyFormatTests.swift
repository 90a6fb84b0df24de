import Foundation
import TestSupport
import Testing

@testable import jwt

@Suite("Key files of other tools", .limitedConcurrency)
struct KeyFormatTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func shell(_ script: String) throws -> ProcessResult { try BuiltProgram.shell(script, in: folder) }

    @Test("Reads Ed25519 keys of OpenSSH, and rejects damaged and encrypted ones")
    func ed25519() throws {
        try folder.write(OpenSSHFixtures.privateKey, to: "id")
        try folder.write(OpenSSHFixtures.publicKey, to: "id.pub", mode: 0o644)
        let signed = try shell("jwt sign -k id --sub ada --expires-in 1h | jwt verify -k id.pub | grep sub")
        #expect(signed == .success("  \"sub\": \"ada\"\n"))
        let same = try shell(
            "jwt key public id > a; jwt key public id.pub > b; cmp a b; jwt key public - < id | cmp - a"
        )
        #expect(same == .success())
        for (script, message) in [
            ("sed 3d id > bad", "the key of OpenSSH is damaged"),
            ("sed 's/AAAAC3/AAAAD3/' id.pub > bad", "the key of OpenSSH is damaged"),
            ("echo ssh-ed25519 > bad", "the key of OpenSSH is damaged"),
            (
                "echo 'ssh-rsa AAAA' > bad",
                "this is a public key of OpenSSH; convert it with “ssh-keygen -e -m PKCS8 -f KEY”"
            ),
        ] {
            let result = try shell("\(script); chmod 600 bad; jwt key inspect bad")
            #expect(result == .failure(2, "jwt key inspect: bad: \(message)\n"), "\(script)")
        }
        try folder.write(OpenSSHFixtures.encryptedKey, to: "locked")
        let locked = try shell("jwt sign -k locked --sub a")
        #expect(locked.fails(2, "jwt sign: locked: encrypted Ed25519 keys of OpenSSH aren't supported; "), "\(locked)")
    }

    @Test("Reads a JWK and a PEM file that begin with a byte order mark")
    func byteOrderMark() throws {
        let result = try shell(
            """
            for form in pem jwk; do
              jwt keygen --alg ES256 --format $form > plain 2> /dev/null; (printf '\\357\\273\\277'; cat plain) > key
              chmod 600 *; jwt sign -k key --sub ada --expires-in 1h | jwt verify -k plain | grep sub
            done
            """
        )
        #expect(result == .success("  \"sub\": \"ada\"\n  \"sub\": \"ada\"\n"))
    }

    @Test("Reads tokens, claims, key sets and passwords that begin with a byte order mark")
    func markedText() throws {
        let result = try shell(
            """
            mark() { (printf '\\357\\273\\277'; cat) > $1; chmod 600 $1; }
            jwt keygen --alg ES256 --out key.pem
            printf 'open sesame' > plain; chmod 600 plain; printf 'open sesame\\r\\n' | mark password
            jwt key convert key.pem --new-password-file password --out locked.pem
            jwt key jwks add keys.jwks key.pem > kid; mark marked.jwks < keys.jwks
            jwt key jwks list marked.jwks | cut -f1 | cmp - kid
            echo '{"sub":"ada"}' | mark claims
            jwt sign -k locked.pem --password-file plain --kid auto --claims claims --expires-in 1h | mark token
            jwt verify --jwks marked.jwks < token | grep sub
            """
        )
        #expect(result == .success("  \"sub\": \"ada\"\n"))
    }

    @Test("Names the commands that convert PKCS #12 and RSA-PSS keys, which work")
    func conversions() throws {
        let setup = """
            openssl req -x509 -newkey rsa:2048 -nodes -keyout r.pem -out c.pem -days 2 -subj /CN=x 2>/dev/null
            openssl pkcs12 -export -inkey r.pem -in c.pem -out 'my key.p12' -passout pass:
            openssl genpkey -algorithm RSA-PSS -out pss.pem 2>/dev/null
            openssl pkey -in pss.pem -pubout -out psspub.pem; chmod 600 *
            """
        try #require(try shell(setup).status == 0)
        let store = try shell("jwt sign -k 'my key.p12' --sub a")
        let command = "openssl pkcs12 -in 'my key.p12' -noenc -nocerts -out key.pem"
        #expect(
            store == .failure(2, "jwt sign: my key.p12: PKCS #12 isn't supported; extract the key with “\(command)”\n")
        )
        let extracted = try shell(
            "\(command) -passin pass: && chmod 600 key.pem && jwt key inspect key.pem | grep bits"
        )
        #expect(extracted.output == "bits:       2048\n", "\(extracted)")
        let pss = try shell("jwt sign -k pss.pem --sub a --alg PS256")
        let (first, second) = (
            "openssl rsa -in KEY -traditional | sed s/RSA-PSS/RSA/",
            "openssl rsa -pubin -in KEY -RSAPublicKey_out | sed s/RSA-PSS/RSA/"
        )
        #expect(pss.fails(2, containing: "“\(first)”") && pss.errors.contains("“\(second)”"), "\(pss)")
        let converted = try shell(
            """
            \(first.replacing("KEY", with: "pss.pem")) > a.pem; \(second.replacing("KEY", with: "psspub.pem")) > b.pem
            chmod 600 a.pem; jwt sign -k a.pem --alg PS256 --sub ada --expires-in 1h | jwt verify -k b.pem --alg PS256 | grep sub
            """
        )
        #expect(converted.output == "  \"sub\": \"ada\"\n", "\(converted)")
    }

    @Test(
        "Names the first fault of a damaged JWK",
        arguments: [
            (#"{"kty":"EC","crv":"P-256"}"#, "the JWK must have “x” as a base64url string"),
            (#"{"kty":"RSA","e":"AQAB"}"#, "the JWK must have “n” as a base64url string"),
            (#"{"kty":"oct"}"#, "the JWK must have “k” as a base64url string"),
            (#"{"kty":"OKP","crv":"Ed25519","x":5}"#, "the JWK must have “x” as a base64url string"),
            (
                #"{"kty":"EC","crv":"P-256","x":"AA","y":"AA","d":"AA"}"#,
                "“x” of the JWK must have exactly 32 bytes, including leading zeros, as 43 characters; it has 2"
            ),
        ]
    )
    func damaged(jwk: String, message: String) throws {
        try folder.write(jwk, to: "bad.jwk")
        for command in [
            "sign -k bad.jwk --sub a", "verify -k bad.jwk x", "key inspect bad.jwk", "jws sign -k bad.jwk x",
        ] {
            let result = try shell("echo > x; jwt \(command)")
            #expect(result.status == 2 && result.errors.hasSuffix(": bad.jwk: \(message)\n"), "\(command): \(result)")
        }
        for command in ["encrypt -k bad.jwk x", "decrypt -k bad.jwk e30..AAAAAAAAAAAAAAAA..AAAAAAAAAAAAAAAAAAAAAA"]
        where jwk.contains("EC") || jwk.contains("RSA") {
            let result = try shell("echo > x; jwt \(command)")
            #expect(result.status == 2 && result.errors.hasSuffix(": bad.jwk: \(message)\n"), "\(command): \(result)")
        }
    }
}

/// Keys that `ssh-keygen` of OpenSSH 9.2 made.
private enum OpenSSHFixtures {
    static let privateKey = """
        -----BEGIN OPENSSH PRIVATE KEY-----
        b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW
        QyNTUxOQAAACCsw70U5HY5zPLp5P4fs0n4fG22/cnXSt25QFR9XS2ToQAAAIirYZ9Uq2Gf
        VAAAAAtzc2gtZWQyNTUxOQAAACCsw70U5HY5zPLp5P4fs0n4fG22/cnXSt25QFR9XS2ToQ
        AAAEAbOnLGh8H5EVClplL865GCTNNIYLZLSarXlQYgVAfKsKzDvRTkdjnM8unk/h+zSfh8
        bbb9yddK3blAVH1dLZOhAAAABHRlc3QB
        -----END OPENSSH PRIVATE KEY-----

        """

    static let publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKzDvRTkdjnM8unk/h+zSfh8bbb9yddK3blAVH1dLZOh test\n"

    static let encryptedKey = """
        -----BEGIN OPENSSH PRIVATE KEY-----
        b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABDKmhMtCv
        KRRuMG59nuNPhmAAAAEAAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIJNkvlkMc5FIQZDK
        pPj78R04oFYKLOSssGVLEm/Zh16ZAAAAkI46DPt7V64uQQsNkHYxZBwuH2DEgbD72BbTuE
        S5dZI0WszC3/tpeBB0lx5iTHA35f/Jf7reLrdkSyNUgQG6KESkRyM4Y4RN1WtFZJvrhFrc
        ymOn1UoMYbS9JhgzrHCN408xzdICNRhqtDY6qxPLJbg+5jdRguZNtflZ/s7snmv0Cbb/tr
        UOv5P+GgQcAnyqYA==
        -----END OPENSSH PRIVATE KEY-----

        """
}
