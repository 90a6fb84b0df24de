import Foundation
import Networking
import Testing
import TokenGeneration

@testable import HTTPSignatures

@Suite(.serialized)
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

    @Test("the FAPI profile covers the authorization, and the DPoP proof if there is one")
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

    @Test("the GNAP profile sends its tag and a nonce, and never alg")
    func gnap() async throws {
        var fixture = try SignatureFixture(.gnap)
        let message = try await fixture.signed()
        let input = try #require(message.headers["Signature-Input"])
        #expect(input.hasSuffix(";tag=\"gnap\"") && input.contains(";nonce=\""))
        #expect(try await fixture.error(message) == nil)
        fixture.profile.sendsAlgorithm = true
        #expect(try await fixture.error(try await fixture.signed())?.code == .malformedSignature)
    }

    @Test("the profile of Open Payments accepts Ed25519 only")
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
