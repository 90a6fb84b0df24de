import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("jwt key jwks", .limitedConcurrency)
struct KeySetCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(KeyFixtures.pkcs8, to: "key.pem")
        try folder.write(KeyFixtures.rsa, to: "rsa.pem")
    }

    private func shell(_ script: String) throws -> ProcessResult {
        try BuiltProgram.shell(script, in: folder)
    }

    @Test("Adds, lists, verifies with and removes keys, and preserves unknown entries")
    func life() throws {
        try folder.write(#"{"keys":[{"kty":"new","kid":"n"},5],"note":"mine"}"#, to: "keys.jwks", mode: 0o640)
        let thumbprint = try SigningKey(pem: KeyFixtures.pkcs8).verificationKey.thumbprint
        let rsa = try SigningKey(pem: KeyFixtures.rsa, algorithm: .rs256).verificationKey.thumbprint
        let result = try shell(
            """
            jwt key jwks add keys.jwks key.pem && jwt key jwks add keys.jwks rsa.pem --alg RS256 --kid r --json
            jwt key jwks list keys.jwks 2>/dev/null
            jwt sign -k key.pem --kid auto --expires-in 1h | jwt verify --jwks keys.jwks > /dev/null && echo good
            jwt key jwks remove keys.jwks \(thumbprint)
            jwt sign -k key.pem --kid auto --expires-in 1h | jwt verify --jwks keys.jwks; echo $?
            jwt key jwks list keys.jwks | cut -f1; stat -c %a keys.jwks
            """
        )
        #expect(
            result.output == """
                \(thumbprint)
                {"kid":"r"}
                n\tnew\t-\t-\t-\tnot usable: kty “new” isn't a supported key type
                \(thumbprint)\tEC P-256\tES256\tsig\t\(thumbprint)
                r\tRSA\tRS256\tsig\t\(rsa)
                good
                1
                n
                r
                640

                """
        )
        #expect(result.errors.contains("jwt key jwks list: warning: keys.jwks: entry 1 isn't a key: "))
        let set = try JSONObject(parsing: folder.text(of: "keys.jwks"))
        #expect(set["note"] == "mine")
        #expect(set["keys"]?.array?.prefix(2) == [["kty": "new", "kid": "n"], 5])
        #expect(try !folder.text(of: "keys.jwks").contains("\"d\""))
        #expect(try folder.names() == ["key.pem", "keys.jwks", "rsa.pem"])
    }

    @Test("Creates a missing set, and keeps each kid unique")
    func newSet() throws {
        #expect(try shell("jwt key jwks add new.jwks key.pem --kid a").output == "a\n")
        #expect(try folder.mode(of: "new.jwks") == 0o644)
        let again = try shell("jwt key jwks add new.jwks rsa.pem --alg PS256 --kid a")
        let message = "new.jwks: already has a key with this kid; use --force to replace it, or --kid to choose another"
        #expect(again == .failure(1, "jwt key jwks add: \(message)\n"))
        #expect(try shell("jwt key jwks add new.jwks rsa.pem --alg PS256 --kid a --force").status == 0)
        let keys = try JSONObject(parsing: shell("jwt key jwks list new.jwks --json").output)["keys"]?.array
        #expect(keys?.count == 1)
        #expect(keys?.first?.object?["alg"] == "PS256")
        let unknown = try shell("jwt key jwks remove new.jwks b --json")
        #expect(unknown.status == 1)
        #expect(
            unknown.errors.hasPrefix(#"{"error":{"code":"unknownKey","message":"new.jwks: has no key with this kid; "#)
        )
    }

    @Test("Keeps the permissions of a set, regardless of the umask")
    func published() throws {
        let result = try shell(
            """
            umask 077
            jwt key jwks add keys.jwks key.pem --kid a; stat -c %a keys.jwks
            chmod 664 keys.jwks
            jwt key jwks add keys.jwks rsa.pem --alg RS256 --kid b; stat -c %a keys.jwks
            jwt key jwks remove keys.jwks a; stat -c %a keys.jwks
            jwt key jwks add keys.jwks key.pem --private --kid c; stat -c %a keys.jwks
            """
        )
        #expect(result == .success("a\n600\nb\n664\n664\nc\n600\n"))
    }

    @Test("Keeps all keys during concurrent changes")
    func together() throws {
        let result = try shell(
            """
            for kid in 1 2 3 4 5 6; do jwt key jwks add keys.jwks key.pem --kid $kid > /dev/null; done
            for kid in 1 2 3 4 5 6; do
                jwt key jwks remove keys.jwks $kid &
                jwt key jwks add keys.jwks key.pem --kid new$kid > /dev/null &
                jwt key jwks add ./keys.jwks rsa.pem --alg RS256 --kid other$kid > /dev/null &
            done
            wait
            jwt key jwks list keys.jwks | cut -f1 | sort | tr '\\n' ' '
            """
        )
        let names = ["new", "other"].flatMap { name in (1...6).map { "\(name)\($0)" } }
        #expect(result == .success(names.joined(separator: " ") + " "))
        #expect(try folder.names() == ["key.pem", "keys.jwks", "rsa.pem"])
        let nowhere = try shell("jwt key jwks add missing/keys.jwks key.pem")
        let reason = "jwt key jwks add: missing/keys.jwks: its folder can't be locked: No such file or directory\n"
        #expect(nowhere == .failure(2, reason))
    }

    @Test("Adds secrets and private keys only with --private, and then makes the file private")
    func privateKeys() throws {
        let refused = try shell("jwt keygen --alg HS256 | jwt key jwks add s.jwks -")
        let message = "standard input: a secret has no public part to publish; use --private to add the secret itself"
        #expect(refused == .failure(2, "jwt key jwks add: \(message)\n"))
        #expect(try shell("jwt key jwks add s.jwks key.pem --private --kid p").status == 0)
        #expect(try folder.mode(of: "s.jwks") == 0o600)
        #expect(try folder.text(of: "s.jwks").contains("\"d\""))
        let unnamed = try shell("jwt key jwks add s.jwks rsa.pem")
        #expect(
            unnamed.errors
                == "jwt key jwks add: rsa.pem: the key doesn't state its algorithm; pass it with --alg\n"
        )
        #expect(unnamed.status == 2)
    }

    @Test("Leaves a file that isn't a set unchanged", arguments: ["{}", "[]", "", "{\"keys\":{}}", "text"])
    func noSet(text: String) throws {
        try folder.write(text, to: "set")
        for command in ["add set key.pem", "remove set a", "list set"] {
            let result = try shell("jwt key jwks \(command)")
            #expect(result.failsInOneLine(2, "jwt key jwks \(command.prefix { $0 != " " }): set: "), "\(result)")
        }
        #expect(try folder.text(of: "set") == text)
    }
}
