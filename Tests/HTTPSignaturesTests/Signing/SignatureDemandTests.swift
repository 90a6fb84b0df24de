import Foundation
import Networking
import Testing
import TokenGeneration

@testable import HTTPSignatures

@Suite(.serialized)
struct SignatureDemandTests {
    private func isAcceptable(
        _ demand: String,
        _ profile: SignatureProfile = .standard,
        of message: HTTPMessage? = nil,
        hasContent: Bool = true
    ) throws -> Bool {
        let fixture = try SignatureFixture(profile)
        let demands = SignatureDemand.acceptable(
            in: ["Accept-Signature": demand],
            for: try fixture.signer(),
            message ?? fixture.message,
            hasContent: hasContent
        )
        return !demands.isEmpty
    }

    private static let complete =
        #""@target-uri" "@method" "content-digest" "content-type" "authorization" "dpop""#

    @Test(
        "accepts what the profile allows",
        arguments: [
            "sig1=(\(complete))", "x=(\(complete) \"content-length\");created;expires;nonce=\"abc\"",
            "x=(\(complete));keyid=\"k1\";alg=\"ed25519\"",
        ]
    )
    func acceptable(_ demand: String) throws {
        #expect(try isAcceptable(demand))
    }

    @Test(
        "refuses to sign more, less or as another",
        arguments: [
            // Fields that the profile doesn't have.
            "x=(\(complete) \"cookie\")", "x=(\(complete) \"@query-param\";name=\"a\")",
            "x=(\(complete) \"authorization\";bs)",
            // Less than the profile requires.
            "x=()", "x=(\"@method\")", "x=(\"@target-uri\" \"@method\" \"content-type\" \"authorization\" \"dpop\")",
            "x=(\(complete) \"@method\")",
            // Another key, algorithm or tag.
            "x=(\(complete));keyid=\"k2\"", "x=(\(complete));alg=\"hmac-sha256\"",
            "x=(\(complete));tag=\"web-bot-auth\"",
            // Values that the client chooses, or that no one knows.
            "x=(\(complete));created=1", "x=(\(complete));expires=1", "x=(\(complete));nonce=\"\"",
            "x=(\(complete));nonce",
            "x=(\(complete));zzz", "x=(\(complete));created=?0",
            // Malformed.
            "x=1", "x=(\(complete)", "x=(\(complete)), x=(\(complete))", "(\(complete))", "",
        ]
    )
    func unacceptable(_ demand: String) throws {
        #expect(try !isAcceptable(demand))
    }

    @Test("limits the size of the nonce and of the field")
    func limits() throws {
        let nonce = String(repeating: "n", count: 257)
        #expect(try !isAcceptable("x=(\(Self.complete));nonce=\"\(nonce)\""))
        #expect(try isAcceptable("x=(\(Self.complete));nonce=\"\(nonce.dropLast())\""))
        #expect(try !isAcceptable("x=(\(Self.complete))" + String(repeating: " ", count: 16 << 10)))
    }

    @Test("a component that the message doesn't have isn't acceptable")
    func missingComponents() throws {
        let get = try SignatureFixture().get
        let demand = #"x=("@method" "@target-uri" "authorization" "content-type")"#
        #expect(try !isAcceptable(demand, of: get, hasContent: false))
        let digest = #"x=("@method" "@target-uri" "authorization" "content-digest")"#
        #expect(try isAcceptable(digest, of: get, hasContent: false))
    }

    @Test("the profile's own tag may be asked for")
    func tag() throws {
        var profile = SignatureProfile.standard
        profile.tag = "app"
        #expect(try isAcceptable("x=(\(Self.complete));tag=\"app\"", profile))
        #expect(try isAcceptable("x=(\(Self.complete))", profile))
        #expect(try !isAcceptable("x=(\(Self.complete));tag=\"apq\"", profile))
    }

    @Test("answers with the same label, components in the same order and the requested parameters")
    func answer() async throws {
        let fixture = try SignatureFixture()
        let demand: HTTPHeaders = [
            "Accept-Signature": "pet=(\(Self.complete));created;expires;nonce=\"server\";alg=\"ed25519\";keyid=\"k1\""
        ]
        let fields = try await fixture.signer().sign(
            fixture.message,
            body: .data(SignatureFixture.body),
            answering: demand
        )
        let expected =
            "pet=(\(Self.complete));created=1700000000;expires=1700000300;keyid=\"k1\";alg=\"ed25519\";nonce=\"server\""
        #expect(fields["Signature-Input"] == expected)
        #expect(try await fixture.error(fixture.message.setting(fields)) == nil)
        // Otherwise, the message is signed as usual.
        let usual = try await fixture.signer().sign(
            fixture.message,
            body: .data(SignatureFixture.body),
            answering: ["Accept-Signature": "x=(\"cookie\")"]
        )
        #expect(usual["Signature-Input"]?.hasPrefix("sig1=(\"@method\"") == true)
    }

    @Test("a verifier's challenge is acceptable to a signer with the same profile")
    func challenge() async throws {
        let agent = SignatureAgent(url: try #require(URL(string: "https://agent.example/keys")))
        let profiles: [SignatureProfile] = [
            .standard, .proxied, .fapi2Request, .openPayments, .gnap, .webBotAuth(agent: agent),
        ]
        for profile in profiles {
            var fixture = try SignatureFixture(profile)
            let key = fixture.key.verificationKey
            fixture.keys = SignatureKeys { _ in key }
            let error = try #require(try await fixture.error(fixture.message))
            #expect(error.code == .noSignature)
            let challenge = try #require(error.headers["Accept-Signature"])
            #expect(try isAcceptable(challenge, profile), "\(challenge)")
            let fields = try await fixture.signer().sign(
                fixture.message,
                body: .data(SignatureFixture.body),
                answering: error.headers
            )
            #expect(try await fixture.error(fixture.message.setting(fields)) == nil, "\(challenge)")
        }
    }
}
