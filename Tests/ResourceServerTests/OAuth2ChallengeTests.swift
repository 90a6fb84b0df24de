import Foundation
import Networking
import OAuth2
import ResourceServer
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

@Suite("Resource server challenges", .computing)
struct OAuth2ChallengeTests {
    typealias Challenge = AuthenticationChallenge

    @Test(
        "Formats the examples of RFC 6750 §3, RFC 9449 §7.1, RFC 9470 §3 and RFC 9728 §5.1",
        .shows("RFC 6750 §3, §3.1 (sent)")
    )
    func examples() throws {
        let metadata = try #require(URL(string: "https://resource.example.com/.well-known/oauth-protected-resource"))
        let rows: [(Challenge, String)] = [
            (.bearer(realm: "example"), #"Bearer realm="example""#),
            (
                .bearer(realm: "example", error: .invalidToken, description: "The access token expired"),
                #"Bearer realm="example", error="invalid_token", error_description="The access token expired""#
            ),
            (.dpop(algorithms: [.ps256, .es256]), #"DPoP algs="ES256 PS256""#),
            (
                .dpop(algorithms: [.es256], error: .invalidToken, description: "Invalid DPoP key binding"),
                #"DPoP algs="ES256", error="invalid_token", error_description="Invalid DPoP key binding""#
            ),
            (
                .bearer(error: .insufficientUserAuthentication, acrValues: ["myACR"], maxAge: .seconds(5)),
                #"Bearer acr_values="myACR", error="insufficient_user_authentication", max_age="5""#
            ),
            (
                .bearer(resourceMetadata: metadata),
                #"Bearer resource_metadata="https://resource.example.com/.well-known/oauth-protected-resource""#
            ),
        ]
        for (challenge, text) in rows { #expect(Challenge.format([challenge]) == text) }
    }

    @Test("Keeps two schemes in one field separate")
    func twoSchemes() throws {
        let challenges: [Challenge] = [
            .dpop(algorithms: [.es256], realm: "orders", scope: ["read", "write"]), .bearer(realm: "orders"),
        ]
        let field = try #require(Challenge.format(challenges))
        #expect(field == #"DPoP realm="orders", algs="ES256", scope="read write", Bearer realm="orders""#)
        #expect(Challenge.parse(field) == challenges)
    }

    @Test("No text can break out of the field, or violate RFC 6750's rules for a description", .shows("F7"))
    func injection() throws {
        let evil = "a\"b\\c\r\nSet-Cookie: d=e\u{0}\u{7F}\u{85}é"
        let challenge = Challenge.bearer(
            realm: evil,
            error: .invalidToken,
            description: evil,
            scope: [evil, "x y"],
            acrValues: [evil],
            resourceMetadata: URL(string: "https://api.example/")
        )
        let field = try #require(Challenge.format([challenge]))
        #expect(field.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F })
        #expect(Challenge.parse(field) == [challenge])
        #expect(challenge.parameters["error_description"] == "a'b?c??Set-Cookie: d=e????")
        #expect(challenge.parameters["scope"] == "a?b?c??Set-Cookie:?d=e???? x?y")
        #expect(challenge.parameters["acr_values"] == "a?b?c??Set-Cookie:?d=e????")
        #expect(challenge.parameters["realm"] == "a\"b\\c??Set-Cookie: d=e???é")
    }

    @Test(
        "Writes max_age in whole seconds that are never negative",
        arguments: [(Duration.seconds(600), "600"), (.milliseconds(1_999), "1"), (.zero, "0"), (.seconds(-1), "0")]
    )
    func maxAge(age: Duration, text: String) {
        #expect(Challenge.bearer(maxAge: age).parameters["max_age"] == text)
    }

    @Test("A client reads the demand that the server wrote", .shows("RFC 6750 §3, §3.1 (sent)"))
    func demand() throws {
        let metadata = try #require(URL(string: "https://api.example/.well-known/oauth-protected-resource"))
        let challenge = Challenge.dpop(
            algorithms: [],
            error: .insufficientScope,
            scope: ["a", "b"],
            acrValues: ["urn:mfa"],
            maxAge: .seconds(300),
            resourceMetadata: metadata
        )
        let field = try #require(Challenge.format([challenge]))
        let read = try #require(Challenge.parse(field).first)
        #expect(
            read.parameters.filter { $0.key != "error" } == [
                "scope": "a b", "acr_values": "urn:mfa", "max_age": "300",
                "resource_metadata": metadata.absoluteString,
            ]
        )
    }
}
