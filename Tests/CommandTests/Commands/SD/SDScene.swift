import Foundation
import Testing
import TokenGeneration

/// A folder with the keys and the claims of an issuer and a holder.
final class SDScene: Sendable {
    /// The holder's key in RFC 9901 A.5.
    static let holderKey = """
        {"kty":"EC","crv":"P-256","x":"TCAER19Zvu3OHF4j4W4vfSVoHIP1ILilDls7vCeGemc",\
        "y":"ZxjiWWbZMQGHVWKVQ4hbSIirsVfuecCE6t4jT9F2HZQ","d":"5K5SCos8zf9zRemGGUl6yfok-_NiiryNZsvANWMhF-I"}
        """
    static let claims = """
        {"iss":"https://id.example","exp":4102444800,"name":"Alice","address":{"country":"DE","locality":"Köln"},\
        "nationalities":["DE","FR"],"a.b":1}
        """
    /// The options that make most of the claims disclosable.
    static let disclosable = "-d name -d address -d address.locality -d 'nationalities[*]' -d '[\"a.b\"]'"
    /// The options of a holder and a verifier for a key binding.
    static let binding = "--nonce n-1 --kb-aud https://shop.example"

    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(KeyFixtures.pkcs8, to: "issuer.pem")
        try folder.write(KeyFixtures.publicKey, to: "issuer.pub", mode: 0o644)
        let holder = try SigningKey(jwk: JWK(JSONObject(parsing: Self.holderKey)))
        try folder.write(Self.holderKey, to: "holder.jwk")
        try folder.write(holder.verificationKey.jwk.members.serialized(), to: "holder.pub", mode: 0o644)
        try folder.write(Self.claims, to: "claims")
    }

    func shell(_ script: String, input: String = "") throws -> ProcessResult {
        try BuiltProgram.shell(script, input: input, in: folder)
    }

    /// Issues an SD-JWT into the file `token`.
    func issue(_ options: String = SDScene.disclosable + " --holder-key holder.pub") throws {
        let result = try shell("jwt sd issue -k issuer.pem --claims claims \(options) > token")
        try #require(result == ProcessResult(status: 0, output: "", errors: ""))
    }

    /// Writes the presentation of the file `token` into the file `presentation`.
    func present(_ options: String) throws {
        let result = try shell("jwt sd present --verify-key issuer.pub \(options) < token > presentation")
        try #require(result == ProcessResult(status: 0, output: "", errors: ""))
    }

    /// Returns the claims of the file `presentation`, without the holder's key.
    func verified(_ options: String) throws -> JSONObject {
        let result = try shell("jwt sd verify -k issuer.pub \(options) < presentation")
        try #require(result.status == 0 && result.errors == "", "\(result)")
        var claims = try JSONObject(parsing: result.output)
        claims["cnf"] = nil
        return claims
    }

    /// Checks that a command line is invalid, and its only line of output.
    func checkUsage(_ command: String, _ arguments: String, _ message: String) throws {
        let result = try shell("jwt sd \(command) \(arguments)")
        let expected = "jwt sd \(command): \(message) (see jwt sd \(command) --help)\n"
        #expect(result == ProcessResult(status: 64, output: "", errors: expected))
    }
}
