import Foundation
import Networking
import TestSupport
import Testing
import TokenGeneration

@testable import HTTPSignatures

@Suite(.computing)
struct ProfileTests {
    private static var body: Data { SignatureFixture.body }

    private func input(
        _ fixture: SignatureFixture,
        _ message: HTTPMessage? = nil,
        body: Data = body
    ) async throws -> String {
        try #require(try await fixture.signed(message, body: body).headers["Signature-Input"])
    }

    @Test("the proxied profile covers the parts of the URL, and not the length")
    func proxied() async throws {
        let fixture = try SignatureFixture(.proxied)
        let message = try await fixture.signed()
        let components =
            #""@method" "@authority" "@path" "@query" "content-digest" "content-type" "authorization" "dpop""#
        #expect(message.headers["Signature-Input"]?.hasPrefix("sig1=(\(components));created=") == true)
        #expect(message.headers["Content-Length"] == nil)
        let behindProxy = HTTPMessage(
            method: .post,
            target: "/orders?open=1",
            at: "http://api.example",
            headers: message.headers
        )
        #expect(try await fixture.error(behindProxy) == nil)
        let response = try await SignatureFixture(.proxiedResponse).signed(
            HTTPMessage(status: 200, headers: ["Content-Type": "text/plain"], request: message)
        )
        let signed = try #require(response.headers["Signature-Input"])
        #expect(signed.contains(#""@authority";req "@path";req "@query";req "content-digest";req"#))
        #expect(try await SignatureFixture(.proxiedResponse).error(response) == nil)
    }

    @Test(
        "the FAPI profile covers the authorization, and the DPoP proof if there is one",
        .shows("FAPI 2.0 HTTP Signatures, draft 1")
    )
    func fapi() async throws {
        let fixture = try SignatureFixture(.fapi2Request)
        let expected =
            #"sig1=("@method" "@target-uri" "authorization" "dpop" "content-digest");created=1700000000;keyid="k1""#
            + #";tag="fapi-2-request""#
        #expect(try await input(fixture) == expected)
        await #expect(throws: HTTPSignatureError(.missingComponent, "")) {
            _ = try await fixture.signed(fixture.message.with("Authorization", nil))
        }
        // A proof that was added on the way isn't covered.
        let plain = try await fixture.signed(fixture.message.with("DPoP", nil))
        #expect(try await fixture.error(plain) == nil)
        #expect(try await fixture.error(plain.with("DPoP", "proof"))?.code == .insufficientCoverage)
        let late = SignatureFixture.date.addingTimeInterval(121)
        #expect(try await fixture.error(plain, at: late)?.code == .tooOld)
    }

    @Test("the GNAP profile sends its tag and a nonce, and never alg", .shows("RFC 9635 §7.3.1"))
    func gnap() async throws {
        var fixture = try SignatureFixture(.gnap)
        let message = try await fixture.signed()
        let input = try #require(message.headers["Signature-Input"])
        #expect(input.hasSuffix(";tag=\"gnap\"") && input.contains(";nonce=\""))
        #expect(try await fixture.error(message) == nil)
        fixture.profile.sendsAlgorithm = true
        #expect(try await fixture.error(try await fixture.signed())?.code == .malformedSignature)
    }

    @Test("the profile of Open Payments accepts Ed25519 only", .shows("RFC 9635 §7.3.1"))
    func openPayments() async throws {
        let fixture = try SignatureFixture(.openPayments)
        let expected =
            #"sig1=("@method" "@target-uri" "authorization" "content-digest" "content-length" "content-type")"#
            + #";created=1700000000;keyid="k1""#
        #expect(try await input(fixture) == expected)
        #expect(throws: HTTPSignatureError(.algorithmMismatch, "")) { _ = try fixture.signer(fixture.other) }
    }

    @Test("the legacy profile of ActivityPub needs RSA, a digest and one signature")
    func activityPub() async throws {
        var fixture = try SignatureFixture(.legacyActivityPub)
        let key = try TestKey.signing("test-key-rsa")
        fixture.keys = SignatureKeys(key.verificationKey)
        let message = try await fixture.signed(fixture.get, body: Data(), by: key)
        let expected = #"sig1=("@method" "@target-uri" "content-digest");created=1700000000;keyid="test-key-rsa""#
        #expect(message.headers["Signature-Input"] == expected)
        #expect(try await fixture.error(message, body: Data()) == nil)
        let twice = try await fixture.signed(message, body: Data(), by: key)
        #expect(try await fixture.error(twice, body: Data())?.code == .tooManySignatures)
        #expect(throws: HTTPSignatureError(.algorithmMismatch, "")) { _ = try fixture.signer() }
    }

    @Test("rejects the components that a profile prohibits", .shows("M6"))
    func prohibitedComponents() async throws {
        var fixture = try SignatureFixture()
        let message = try await fixture.signed()
        fixture.profile.prohibitedComponents = ["x-extra"]
        #expect(try await fixture.error(message) == nil)
        fixture.profile.prohibitedComponents = ["content-digest"]
        #expect(throws: HTTPSignatureError(.invalidProfile, "")) { _ = try fixture.verifier() }
        #expect(throws: HTTPSignatureError(.invalidProfile, "")) { _ = try fixture.signer() }
        fixture.profile.components = [.required(.method), .required(.targetURI)]
        #expect(try await fixture.error(message)?.code == .invalidComponent)
        #expect(try await fixture.error(try await fixture.signed()) == nil)
    }

    @Test("rejects each form of a prohibited component", .shows("M6"))
    func prohibitedForms() async throws {
        let digest: ComponentIdentifier = "content-digest"
        for form in [digest, digest.structured, digest.binary, digest.member("sha-256")] {
            var fixture = try SignatureFixture(
                SignatureProfile(components: [.required(.method), .required(.targetURI), .required(form)])
            )
            let message = try await fixture.signed()
            #expect(try await fixture.error(message) == nil)
            fixture.profile.components = [.required(.method), .required(.targetURI)]
            fixture.profile.prohibitedComponents = [digest]
            #expect(try await fixture.error(message)?.code == .invalidComponent)
            fixture.profile.components.append(.optional(form))
            #expect(throws: HTTPSignatureError(.invalidProfile, "")) { _ = try fixture.signer() }
            fixture.profile.prohibitedComponents = [digest.ofRequest]
            #expect(try await fixture.error(message) == nil)
        }
    }

    @Test(
        "rejects a signature that is valid for too long",
        .shows("M5"),
        arguments: [(60, nil), (61, .malformedSignature)] as [(Int, HTTPSignatureError.Code?)]
    )
    func lifetime(_ seconds: Int, _ expected: HTTPSignatureError.Code?) async throws {
        var fixture = try SignatureFixture()
        fixture.profile.lifetime = .seconds(seconds)
        let message = try await fixture.signed()
        fixture.profile.maximumLifetime = .seconds(60)
        #expect(try await fixture.error(message)?.code == expected)
        // A signer with the maximum keeps it.
        #expect(try await fixture.error(try await fixture.signed()) == nil)
        // Without the time of creation, the lifetime begins at the latest time that clocks allow.
        fixture.profile.requiredParameters = ["expires"]
        fixture.profile.maximumLifetime = nil
        fixture.profile.lifetime = .seconds(seconds)
        let timeless = try await fixture.signedWithoutCreation()
        fixture.profile.maximumLifetime = .seconds(60)
        let early = SignatureFixture.date.addingTimeInterval(-60)
        #expect(try await fixture.error(timeless, at: early)?.code == expected)
    }

    @Test(
        "takes a member of Signature-Input without components for malformed, not for absent",
        arguments: [
            "this-is-not-a-list", "x=1", "x=(\"@method\");tag=\"a\", y=?0", "sig1=(\"@method\");tag=app",
            "sig1=(\"@method\");tag=:YXBw:", "sig2=(\"@method\");tag=\"a\"", "",
        ]
    )
    func malformedMember(_ input: String) async throws {
        var fixture = try SignatureFixture()
        fixture.profile.tag = "app"
        let message = fixture.message.with("Signature-Input", input).with("Signature", "sig1=:AAAA:")
        #expect(try await fixture.error(message)?.code == .malformedSignature)
        let tagged = fixture.message.with("Signature-Input", "x=(\"@method\");tag=\"a\"")
        #expect(try await fixture.error(tagged.with("Signature", "x=:AAAA:"))?.code == .noSignature)
    }

    @Test("profiles of both sides agree", arguments: 0..<7)
    func roundTrips(_ index: Int) async throws {
        let profiles: [SignatureProfile] = [
            .standard, .proxied, .fapi2Request, .openPayments, .gnap, .standardResponse, .fapi2Response,
        ]
        let fixture = try SignatureFixture(profiles[index])
        let isResponse = index > 4
        let request = try await SignatureFixture().signed()
        let response = HTTPMessage(status: 200, headers: ["Content-Type": "text/plain"], request: request)
        let signed = try await fixture.signed(isResponse ? response : fixture.message)
        #expect(try await fixture.error(signed) == nil)
        #expect(try await fixture.error(signed, body: Data("x".utf8))?.code == .digestMismatch)
    }
}

@Suite(.computing)
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
        .shows("RFC 9421 §5"),
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
        .shows("M16", "RFC 9421 §5"),
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
