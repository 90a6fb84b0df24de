import Foundation
import Networking
import TestSupport
import Testing
import TokenGeneration

@testable import HTTPSignatures

@Suite(.computing)
struct MessageSignerTests {
    private static var body: Data { SignatureFixture.body }

    @Test("returns the fields to set", .shows("RFC 9421 §3.1"))
    func fields() async throws {
        let fixture = try SignatureFixture()
        var signer = try fixture.signer()
        signer.makeNonce = { "n0nce" }
        let fields = try await signer.sign(fixture.message, body: .data(Self.body))
        #expect(fields.map(\.name) == ["Content-Length", "Content-Digest", "Signature-Input", "Signature"])
        #expect(fields["Content-Length"] == "18")
        #expect(fields["Content-Digest"] == "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:")
        let input =
            #"sig1=("@method" "@target-uri" "content-digest" "content-type" "content-length" "authorization" "dpop")"#
            + #";created=1700000000;keyid="k1";nonce="n0nce""#
        #expect(fields["Signature-Input"] == input)
        let signature = try #require(fields["Signature"])
        #expect(signature.hasPrefix("sig1=:") && signature.hasSuffix(":"))
    }

    @Test("nonces have at least 128 random bits and differ")
    func nonces() async throws {
        let signer = try SignatureFixture().signer()
        let nonces = try (0..<100).map { _ in try signer.makeNonce() }
        #expect(Set(nonces).count == 100)
        #expect(nonces.allSatisfy { $0.utf8.count == 32 })
    }

    @Test("sends the parameters of the profile")
    func parameters() async throws {
        var fixture = try SignatureFixture()
        fixture.profile.lifetime = .seconds(30)
        fixture.profile.nonce = .none
        fixture.profile.sendsAlgorithm = true
        fixture.profile.tag = "app"
        let input = try #require(try await fixture.signed().headers["Signature-Input"])
        #expect(input.hasSuffix(#");created=1700000000;expires=1700000030;keyid="k1";alg="ed25519";tag="app""#))
    }

    @Test("an end that a field can't represent is an error", arguments: [1_000_000_000_000_000, Int64.max])
    func distantEnd(seconds: Int64) async throws {
        var fixture = try SignatureFixture()
        fixture.profile.lifetime = .seconds(seconds)
        await #expect(throws: HTTPSignatureError(.invalidComponent, "")) { _ = try await fixture.signed() }
    }

    @Test("hashes data, files and streams that can be read twice")
    func bodies() async throws {
        let fixture = try SignatureFixture()
        let file = FileManager.default.temporaryDirectory.appending(path: "signer-\(UUID().uuidString)")
        try Self.body.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let parts = [Data(Self.body.prefix(3)), Data(Self.body.dropFirst(3))]
        let stream = HTTPBody.stream {
            AsyncStream {
                for part in parts { $0.yield(part) }; $0.finish()
            }
        }
        for body in [.data(Self.body), try .file(file), stream] {
            let signed = fixture.message.setting(try await fixture.signer().sign(fixture.message, body: body))
            #expect(try await fixture.error(signed) == nil)
        }
    }

    @Test("refuses a body that can be read once, unless the caller knows its digest")
    func bodyReadOnce() async throws {
        let fixture = try SignatureFixture()
        let once = HTTPBody.once(AsyncStream<Data> { $0.finish() })
        let error = try await #require(throws: HTTPSignatureError.self) {
            _ = try await fixture.signer().sign(fixture.message, body: once)
        }
        #expect(error.code == .bodyNotReadable)
        let digest = try HTTPDigest(of: Self.body).fieldValue
        let message = fixture.message.with("Content-Digest", digest)
        let signed = message.setting(try await fixture.signer().sign(message, body: once))
        #expect(try await fixture.error(signed) == nil)
        // Without a digest in the profile, the body isn't read.
        var open = fixture
        open.profile.components = [.required(.method)]
        _ = try await open.signer().sign(open.message, body: once)
    }

    @Test("the errors of reading a body are passed on")
    func bodyErrors() async throws {
        let fixture = try SignatureFixture()
        let failing = HTTPBody.stream {
            AsyncThrowingStream<Data, any Error> { $0.finish(throwing: NetworkError(.cannotUseFile, "gone")) }
        }
        await #expect(throws: NetworkError(.cannotUseFile, "")) {
            _ = try await fixture.signer().sign(fixture.message, body: failing)
        }
    }

    @Test("rejects a field that contradicts the body")
    func contradiction() async throws {
        let fixture = try SignatureFixture()
        let message = fixture.message.with("Content-Digest", try HTTPDigest(of: Data()).fieldValue)
        await #expect(throws: HTTPSignatureError(.digestMismatch, "")) {
            _ = try await fixture.signer().sign(message, body: .data(Self.body))
        }
    }

    @Test("refuses to sign values that aren't part of a base")
    func components() async throws {
        var fixture = try SignatureFixture()
        await #expect(throws: HTTPSignatureError(.malformedComponent, "")) {
            _ = try await fixture.signed(fixture.message.with("Authorization", "a\r\nb"))
        }
        fixture.profile.components.append(.required("x-missing"))
        await #expect(throws: HTTPSignatureError(.missingComponent, "")) { _ = try await fixture.signed() }
        fixture.profile.components = [.required("@nonsense")]
        await #expect(throws: HTTPSignatureError(.invalidComponent, "")) { _ = try await fixture.signed() }
    }

    @Test("keeps the signatures of others, and takes another label than theirs", .shows("RFC 9421 §4"))
    func otherSignatures() async throws {
        let fixture = try SignatureFixture()
        let first = try await fixture.signed()
        let second = try await fixture.signed(first, by: fixture.other)
        let third = try await fixture.signed(second)
        #expect(try SignatureFields(third.headers).labels(withTag: nil) == ["sig1", "sig1-2", "sig1-3"])
        #expect(try await fixture.error(third) == nil)
        for name in ["Signature", "Signature-Input"] {
            await #expect(throws: HTTPSignatureError(.signingFailed, "")) {
                _ = try await fixture.signed(fixture.message.with(name, "keyId=\"x\""))
            }
        }
    }

    @Test("needs a label that is a key", arguments: ["", "Sig", "1", "a b", "sig;x"])
    func labels(_ label: String) async throws {
        let fixture = try SignatureFixture()
        var signer = try fixture.signer()
        signer.label = label
        await #expect(throws: HTTPSignatureError(.signingFailed, "")) { _ = try await signer.sign(fixture.get) }
    }

    @Test("a key's ID that can't be sent is rejected")
    func keyIDs() async throws {
        let fixture = try SignatureFixture()
        let signer = try MessageSigner(key: fixture.key, keyID: "k\n", profile: .standard)
        await #expect(throws: HTTPSignatureError(.invalidComponent, "")) { _ = try await signer.sign(fixture.get) }
        #expect(throws: HTTPSignatureError(.invalidProfile, "")) {
            _ = try MessageSigner(key: fixture.key, keyID: String(repeating: "k", count: 257), profile: .standard)
        }
        #expect(throws: HTTPSignatureError(.invalidProfile, "")) {
            _ = try MessageSigner(key: SigningKey.generate(.es256), profile: .standard)
        }
        var profile = SignatureProfile.standard
        profile.requiredParameters = ["created"]
        let anonymous = try MessageSigner(key: try SigningKey.generate(.es256), profile: profile)
        let fields = try await anonymous.sign(fixture.get)
        #expect(fields["Signature-Input"]?.contains("keyid") == false)
    }

    @Test("a response covers its request", .shows("RFC 9421 §2.4"))
    func responses() async throws {
        var fixture = try SignatureFixture(.standardResponse)
        let request = try await SignatureFixture().signed()
        let response = HTTPMessage(
            status: 201,
            headers: ["Content-Type": "text/plain", "Location": "/1"],
            request: request
        )
        let signed = try await fixture.signed(response)
        #expect(try await fixture.error(signed) == nil)
        let verified = try await fixture.verifier().verify(signed, body: SignatureFixture.body)
        #expect(verified[.status] == "201")
        #expect(verified[.method.ofRequest] == "POST")
        #expect(verified["location"] == "/1")
        #expect(verified[ComponentIdentifier("content-digest").ofRequest] == request.headers["Content-Digest"])
        for other in [
            HTTPMessage(method: .post, url: "https://api.example/orders?open=2", headers: request.headers),
            HTTPMessage(method: .put, url: "https://api.example/orders?open=1", headers: request.headers),
            request.with("Content-Digest", "sha-256=:AAAA:"),
        ] {
            let moved = HTTPMessage(status: 201, headers: signed.headers, request: other)
            #expect(try await fixture.error(moved)?.code == .signatureInvalid)
        }
        let alone = HTTPMessage(status: 201, headers: signed.headers, request: nil)
        #expect(try await fixture.error(alone)?.code == .missingComponent)
        let status = HTTPMessage(status: 200, headers: signed.headers, request: request)
        #expect(try await fixture.error(status)?.code == .signatureInvalid)
        #expect(try await fixture.error(signed.with("Location", nil))?.code == .missingComponent)
        // A redirect to another target must be covered.
        fixture.profile.components.removeAll { $0 == .ifPresent("location") }
        let open = try await fixture.signed(response)
        #expect(try await SignatureFixture(.standardResponse).error(open)?.code == .insufficientCoverage)
    }

    @Test(
        "covers another signature only together with everything that it covers",
        .shows("FAPI 2.0 HTTP Signatures, draft 1")
    )
    func signaturesOfSignatures() async throws {
        let fixture = try SignatureFixture()
        let first = try await fixture.signed()
        var outer = fixture
        outer.profile.components = [.required(.method), .required(ComponentIdentifier("signature").member("sig1"))]
        let both = try await outer.signed(first, by: fixture.other)
        let fields = try SignatureFields(both.headers)
        let covered = try fields.signature("sig1-2").parameters.components
        let inner = try fields.signature("sig1").parameters.components
        #expect(Set(covered).isSuperset(of: inner))
        #expect(covered.contains(ComponentIdentifier("signature-input").member("sig1")))
        let response = HTTPMessage(status: 200, headers: [:], request: first)
        let fapi = try await SignatureFixture(.fapi2Response).signed(response, body: Data())
        let components = try SignatureFields(fapi.headers).signature("sig1").parameters.components
        #expect(Set(components).isSuperset(of: inner.map(\.ofRequest)))
        #expect(components.contains(ComponentIdentifier("signature-input").ofRequest))
        #expect(try await SignatureFixture(.fapi2Response).error(fapi, body: Data()) == nil)
    }

    @Test("stops at the first component too many that a request's signatures cover", .shows("M13"))
    func manyCoveredComponents() async throws {
        let labels = (0..<100).map { label in
            "s\(label)=(" + (0..<100).map { "\"x\";b\(label)-\($0)" }.joined(separator: " ") + ")"
        }
        let headers: HTTPHeaders = [
            "Signature-Input": labels.joined(separator: ", "),
            "Signature": (0..<100).map { "s\($0)=:AA==:" }.joined(separator: ", "),
        ]
        let request = HTTPMessage(method: .get, url: "https://api.example/", headers: headers)
        let response = HTTPMessage(status: 401, headers: [:], request: request)
        var components = [ComponentIdentifier("signature").ofRequest]
        #expect(throws: HTTPSignatureError(.tooLarge, "")) { try components.coverSignatures(of: response) }
        #expect(components.count == SignatureLimits.components)
        await #expect(throws: HTTPSignatureError(.tooLarge, "")) {
            _ = try await SignatureFixture(.fapi2Response).signed(response, body: Data())
        }
    }
}
