import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("jwt sd show", .limitedConcurrency)
struct SDShowCommandTests {
    private static let warning = "UNVERIFIED: no signature was checked; anyone can have written this\n"

    /// `["salt-1","given_name","Al\u202eice"]`
    private static let name = "WyJzYWx0LTEiLCJnaXZlbl9uYW1lIiwiQWxcdTIwMmVpY2UiXQ"
    /// `["salt-2","address",…]` with the digest of the locality
    private static let address =
        "WyJzYWx0LTIiLCJhZGRyZXNzIix7Il9zZCI6WyJFcFB3eFJMUU5FRU5NLWVJN2VnMXdRVWRXSXNjSEZLd2p1S2lSaE9WT19nIl0sImNvdW50cnkiOiJERSJ9XQ"
    /// `["salt-3","locality","K\u00f6ln"]`
    private static let locality = "WyJzYWx0LTMiLCJsb2NhbGl0eSIsIktcdTAwZjZsbiJd"
    /// `["salt-4","FR"]`
    private static let element = "WyJzYWx0LTQiLCJGUiJd"
    /// `["salt-5","a.b",1]`
    private static let dotted = "WyJzYWx0LTUiLCJhLmIiLDFd"
    /// `["salt-6","admin",true]`
    private static let extra = "WyJzYWx0LTYiLCJhZG1pbiIsdHJ1ZV0"

    private static let payload = """
        {"_sd":["s9m2ZhfAHweGjmH5ZjsG1EL4EsMFgRdGGU-xAISC2ns","4bdTf0EZ9lEnZM-YiC147hn-eelTj9DjF_MfEh8HNh0",\
        "Cp_Kmn08cMMlivYo9ExAXmzo-y3K5vmDF_ZuRdRqxfQ"],"exp":4102444800,\
        "nationalities":["DE",{"...":"decoy"},{"...":"GvRmKTDAyn_FJIC4Gxs9ebX_5j3h7EYW_2v5aDBklpM"}]}
        """

    private static func token(_ disclosures: [String], binding: String = "") -> String {
        let jwt = SampleTokens.unsigned(header: #"{"alg":"ES256","typ":"sd-jwt"}"#, claims: payload) + "c2ln"
        return ([jwt] + disclosures).map { $0 + "~" }.joined() + binding
    }

    private static func show(_ arguments: String...) throws -> ProcessResult {
        try BuiltProgram.jwt.run(["sd", "show", "--at", "4102441200"] + arguments)
    }

    @Test("Prints the header, the payload and the disclosures, marked as unverified for people and programs")
    func contents() throws {
        let result = try Self.show(Self.token([Self.name, Self.locality, Self.address, Self.element]))
        let output = """
            {
              "header": {
                "alg": "ES256",
                "typ": "sd-jwt"
              },
              "payload": {
                "_sd": [
                  "s9m2ZhfAHweGjmH5ZjsG1EL4EsMFgRdGGU-xAISC2ns",
                  "4bdTf0EZ9lEnZM-YiC147hn-eelTj9DjF_MfEh8HNh0",
                  "Cp_Kmn08cMMlivYo9ExAXmzo-y3K5vmDF_ZuRdRqxfQ"
                ],
                "exp": 4102444800,
                "nationalities": [
                  "DE",
                  {
                    "...": "decoy"
                  },
                  {
                    "...": "GvRmKTDAyn_FJIC4Gxs9ebX_5j3h7EYW_2v5aDBklpM"
                  }
                ]
              },
              "disclosures": [
                {
                  "digest": "s9m2ZhfAHweGjmH5ZjsG1EL4EsMFgRdGGU-xAISC2ns",
                  "path": "given_name",
                  "value": "Al\\u202eice"
                },
                {
                  "digest": "EpPwxRLQNEENM-eI7eg1wQUdWIscHFKwjuKiRhOVO_g",
                  "path": "address.locality",
                  "value": "Köln"
                },
                {
                  "digest": "4bdTf0EZ9lEnZM-YiC147hn-eelTj9DjF_MfEh8HNh0",
                  "path": "address",
                  "value": {
                    "_sd": [
                      "EpPwxRLQNEENM-eI7eg1wQUdWIscHFKwjuKiRhOVO_g"
                    ],
                    "country": "DE"
                  }
                },
                {
                  "digest": "GvRmKTDAyn_FJIC4Gxs9ebX_5j3h7EYW_2v5aDBklpM",
                  "path": "nationalities[1]",
                  "value": "FR"
                }
              ],
              "undisclosedDigests": 2,
              "verified": false
            }

            """
        let errors =
            Self.warning + """
                exp: 2100-01-01T00:00:00Z (expires in 1 hour)
                2 digests without a disclosure: hidden claims or decoys

                """
        #expect(result == ProcessResult(status: 0, output: output, errors: errors))
    }

    @Test("Prints paths that jwt sd present accepts")
    func paths() throws {
        let result = try Self.show("--json", Self.token([Self.dotted]))
        #expect(result.status == 0 && result.errors == "")
        let path = try JSONObject(parsing: result.output)["disclosures"]?.array?.first?.object?["path"]
        #expect(path == #"["a.b"]"#)
        let presented = try BuiltProgram.jwt.run(
            "sd",
            "present",
            "--unverified",
            "-d",
            try #require(path?.string),
            Self.token([Self.name, Self.dotted])
        )
        #expect(presented == ProcessResult(status: 0, output: Self.token([Self.dotted]) + "\n", errors: ""))
    }

    @Test("Names disclosures that are unreferenced or malformed, and why verifiers reject them")
    func problems() throws {
        let result = try Self.show(Self.token([Self.name, Self.extra, Self.locality, "!"]))
        #expect(result.status == 0)
        let errors =
            Self.warning + """
                exp: 2100-01-01T00:00:00Z (expires in 1 hour)
                4 digests without a disclosure: hidden claims or decoys
                disclosure 1 is unreferenced
                disclosure 2 is unreferenced
                disclosure 3 is malformed
                verifiers reject this: 3 disclosures don't belong to the SD-JWT: nothing refers to them

                """
        #expect(result.errors == errors)
        let report = try JSONObject(parsing: result.output)
        let disclosures = try #require(report["disclosures"]?.array).compactMap(\.object)
        #expect(disclosures[1]["path"] == .null && disclosures[1]["name"] == "admin" && disclosures[1]["value"] == true)
        #expect(disclosures.map { $0["problem"] } == [nil, "unreferenced", "unreferenced", "malformed"])
        #expect(report["problems"]?.array?.first?.object?["code"] == "disclosureMismatch")
    }

    @Test("Prints a key binding, also a malformed one")
    func keyBinding() throws {
        let scene = try SDScene()
        try scene.issue()
        try scene.present("-d name -k holder.jwk \(SDScene.binding)")
        let result = try scene.shell("jwt sd show < presentation")
        #expect(result.status == 0 && result.errors.contains("\nkey binding: iat: "))
        let report = try JSONObject(parsing: result.output)
        #expect(report["keyBinding"]?.object?["header"] == ["alg": "ES256", "typ": "kb+jwt"])
        #expect(report["keyBinding"]?.object?["payload"]?.object?["aud"] == "https://shop.example")
        let malformed = try Self.show(Self.token([], binding: "a.b.c"))
        #expect(malformed.status == 0)
        #expect(malformed.errors.contains("verifiers reject this: "))
        #expect(try JSONObject(parsing: malformed.output)["keyBinding"] == nil)
    }

    @Test("Prints the headers of JSON serializations")
    func json() throws {
        let scene = try SDScene()
        try scene.issue("-d name --format json")
        let flattened = try scene.shell("jwt sd show --json < token")
        #expect(try JSONObject(parsing: flattened.output)["disclosures"]?.array?.count == 1)
        var first = try JSONObject(parsing: scene.folder.text(of: "token"))
        let payload = try #require(first["payload"])
        first["payload"] = nil
        var header = try #require(first["header"]?.object)
        header["kid"] = "k1"
        first["header"] = .object(header)
        var second = first
        second["header"] = ["kid": "k2"]
        let general: JSONObject = ["payload": payload, "signatures": .array([.object(first), .object(second)])]
        try scene.folder.write(general.serialized(), to: "token")
        let report = try JSONObject(parsing: try scene.shell("jwt sd show --json < token").output)
        #expect(report["unprotectedHeader"] == ["kid": "k1"])
        let other = report["otherSignatures"]?.array?.first?.object
        #expect(other == ["header": ["alg": "ES256", "typ": "sd-jwt"], "unprotectedHeader": ["kid": "k2"]])
    }

    @Test(
        "Rejects other input",
        arguments: [
            (
                "a.b.c",
                "this is a plain signed token, not an SD-JWT, which has a “~” after the signature; use jwt decode"
            ),
            ("a.b.c.d.e", "the token is encrypted, a JWE; decrypt it with jwt decrypt"),
            ("e30.e30.c2ln~~", "disclosure 0 is empty"),
        ]
    )
    func otherInput(text: String, message: String) throws {
        let result = try Self.show(text)
        #expect(result == ProcessResult(status: 1, output: "", errors: "jwt sd show: \(message)\n"))
    }

    @Test("Other commands point to the commands for SD-JWTs")
    func pointers() throws {
        let scene = try SDScene()
        try scene.issue()
        try scene.present("-d name -k holder.jwk \(SDScene.binding)")
        let json = try scene.shell("jwt sd present --unverified -d name --format json < token > json")
        #expect(json.status == 0)
        for file in ["token", "presentation", "json"] {
            for (command, advice) in [
                ("decode", "print it with jwt sd show"), ("verify -k issuer.pub", "verify it with jwt sd verify"),
                ("decrypt -k holder.jwk", "verify it with jwt sd verify"),
                ("jws verify -k issuer.pub", "verify it with jwt sd verify"),
            ] where file != "json" || command.hasPrefix("decode") || command.hasPrefix("verify") {
                let result = try scene.shell("jwt \(command) < \(file)")
                let name = command.split(separator: " -k")[0]
                let message = "jwt \(name): the token is an SD-JWT; \(advice)\n"
                #expect(result == ProcessResult(status: 1, output: "", errors: message), "\(file)")
            }
        }
        for (command, code) in [("decode", "print it with jwt sd show"), ("verify -k issuer.pub", "jwt sd verify")] {
            let batch = try scene.shell("jwt \(command) --batch < presentation")
            #expect(batch.status == 1)
            #expect(batch.output.contains(#""code":"malformedToken""#) && batch.output.contains(code))
        }
    }
}
