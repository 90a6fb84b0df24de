import Foundation
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@testable import HTTPSignatures

@Suite(.computing)
struct MessageVerifierTests {
    private static var body: Data { SignatureFixture.body }

    // MARK: Acceptance

    @Test("returns the covered values, the key and the parameters", .shows("Y6", "RFC 9421 §3.2"))
    func result() async throws {
        let fixture = try SignatureFixture()
        let verified = try await fixture.verifier().verify(try await fixture.signed(), body: Self.body)
        #expect(verified.keyID == "k1")
        #expect(verified.signature.key.thumbprint == fixture.key.verificationKey.thumbprint)
        #expect(verified.signature.parameters.created == SignatureFixture.date)
        #expect(verified.signature.parameters.tag == nil)
        #expect(verified.signature.agent == nil)
        #expect(verified[.method] == "POST")
        #expect(verified[.targetURI] == "https://api.example/orders?open=1")
        #expect(verified["authorization"] == "Bearer abc")
        #expect(verified["content-length"] == "\(Self.body.count)")
        #expect(verified["x-extra"] == nil)
        let expected: [ComponentIdentifier] = [
            .method, .targetURI, "content-digest", "content-type", "content-length", "authorization", "dpop",
        ]
        #expect(verified.signature.parameters.components == expected)
        #expect(verified.signatures.count == 1)
        let shown = "\(verified.signature)" + String(reflecting: verified.signature)
        #expect(shown.contains("k1"))
        #expect(!shown.contains("Bearer"))
    }

    @Test("accepts a request without content, which has no digest")
    func withoutContent() async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed(fixture.get, body: Data())
        #expect(message.headers["Content-Digest"] == nil)
        #expect(try await fixture.error(message, body: Data()) == nil)
    }

    @Test("accepts more components and unknown parameters than required")
    func more() async throws {
        var fixture = try SignatureFixture()
        let required = fixture.profile
        fixture.profile.components += [.required("x-extra"), .required("host")]
        var message = try await fixture.signed()
        fixture.profile = required
        #expect(try await fixture.error(message) == nil)
        message.headers.append(name: "Unrelated", value: "1")
        #expect(try await fixture.error(message) == nil)
    }

    @Test("a renamed label doesn't matter", .shows("M6"))
    func renamedLabel() async throws {
        let fixture = try SignatureFixture()
        var message = try await fixture.signed()
        for name in ["Signature-Input", "Signature"] {
            message = message.changing(name) { "renamed-by.proxy*" + $0.dropFirst("sig1".count) }
        }
        #expect(try await fixture.error(message) == nil)
    }

    @Test("a valid signature with a foreign key is ignored next to the expected one, and rejected alone", .shows("M6"))
    func foreignSignature() async throws {
        var fixture = try SignatureFixture()
        let foreign = try SigningKey.generate(.es256).identified(by: "foreign")
        let message = try await fixture.signed(by: foreign)
        #expect(try await fixture.error(message)?.code == .unknownKey)
        let both = try await fixture.signed(message)
        #expect(try SignatureFields(both.headers).count == 2)
        let verified = try await fixture.verifier().verify(both, body: Self.body)
        #expect(verified.keyID == "k1")
        fixture.profile.signatureCount = .all
        #expect(try await fixture.error(both)?.code == .unknownKey)
        fixture.profile.signatureCount = .one
        #expect(try await fixture.error(both)?.code == .tooManySignatures)
        #expect(try await fixture.error(try await fixture.signed()) == nil)
    }

    @Test("an injected invalid or malformed signature doesn't deny service", .shows("M7"))
    func injectedSignature() async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed()
        for (input, value) in [
            ("x=()", ":AAAA:"), ("x=(\"@method\" \"@method\");created=1", ":AAAA:"), ("x=1", "1"), ("x=(1)", ":AA==:"),
            ("x=(\"a\");created=\"now\"", ":AA==:"),
        ] {
            let injected = message.changing("Signature-Input") { "\(input), \($0)" }
                .changing("Signature") { "x=\(value), \($0)" }
            #expect(try await fixture.error(injected) == nil, "\(input)")
        }
        // Labels that are in one of the fields only.
        #expect(try await fixture.error(message.changing("Signature") { "y=:AA==:, \($0)" }) == nil)
        #expect(try await fixture.error(message.changing("Signature-Input") { "y=(), \($0)" }) == nil)
    }

    @Test("with “all”, every signature with the tag must meet the profile")
    func allSignatures() async throws {
        var fixture = try SignatureFixture()
        fixture.profile.tag = "app"
        fixture.profile.signatureCount = .all
        let twice = try await fixture.signed(try await fixture.signed(), by: fixture.other)
        let verified = try await fixture.verifier().verify(twice, body: Self.body)
        #expect(verified.signatures.map(\.parameters.keyID) == ["k1", "other"])
        let damaged = twice.changing("Signature") { $0.replacingOccurrences(of: "sig1-2=:", with: "sig1-2=:AA") }
        #expect(try await fixture.error(damaged) != nil)
        // A signature with another tag isn't selected.
        var other = try SignatureFixture()
        other.profile.components = [.required(.method)]
        other.profile.tag = "other"
        let third = try await other.signed(twice)
        #expect(try await fixture.verifier().verify(third, body: Self.body).signatures.count == 2)
    }

    // MARK: Rejection

    @Test("rejects a message without a signature, or without the profile's tag, and asks for one")
    func noSignature() async throws {
        var fixture = try SignatureFixture()
        let unsigned = try #require(try await fixture.error(fixture.message))
        #expect(unsigned.code == .noSignature)
        #expect(unsigned.status == 401)
        #expect(
            unsigned.headers["Accept-Signature"]
                == #"sig1=("@method" "@target-uri" "content-digest" "content-type" "authorization" "dpop");created"#
        )
        #expect(unsigned.headers["Cache-Control"] == "no-store")
        let untagged = try await fixture.signed()
        fixture.profile.tag = "app"
        let error = try #require(try await fixture.error(untagged))
        #expect(error.code == .noSignature)
        #expect(error.headers["Accept-Signature"]?.hasSuffix(";created;tag=\"app\"") == true)
        for tag in ["APP", "app ", "ap", "apq"] {
            var other = fixture
            other.profile.tag = tag
            #expect(try await fixture.error(try await other.signed())?.code == .noSignature)
        }
        #expect(try await fixture.error(try await fixture.signed()) == nil)
    }

    @Test("a label doesn't select a signature without the tag", .shows("M6"))
    func labelWithoutTag() async throws {
        var fixture = try SignatureFixture()
        fixture.profile.tag = "app"
        var other = try SignatureFixture()
        var signer = try other.signer()
        signer.label = "app"
        let message = fixture.message.setting(try await signer.sign(fixture.message, body: .data(Self.body)))
        #expect(try await fixture.error(message)?.code == .noSignature)
        other.profile.tag = "app"
        #expect(try await fixture.error(try await other.signed()) == nil)
    }

    @Test(
        "rejects malformed fields",
        .shows("RFC 9421 §4"),
        arguments: [
            ("Signature", nil), ("Signature-Input", nil), ("Signature", ""), ("Signature", "sig1"),
            ("Signature", "sig1=()"),
            ("Signature", "sig1=AAAA"), ("Signature", "sig1=:AA"), ("Signature-Input", "sig1=:AA==:"),
            ("Signature-Input", "sig1=(\"@method\""), ("Signature-Input", "sig1=(\"@method)\";created=1"),
            ("Signature-Input", "sig2=(\"@method\")"), ("Signature-Input", "SIG=()"),
            // The expired Cavage draft.
            ("Signature", #"keyId="k1",algorithm="hs2019",headers="(request-target) date",signature="AA==""#),
        ] as [(String, String?)]
    )
    func malformedFields(_ name: String, _ value: String?) async throws {
        let fixture = try SignatureFixture()
        let error = try #require(try await fixture.error(try await fixture.signed().with(name, value)))
        #expect(error.code == .malformedSignature)
        #expect(error.status == 400)
        #expect(error.headers["Accept-Signature"] == nil)
    }

    @Test("names the Cavage draft if Signature comes without Signature-Input")
    func cavage() async throws {
        let fixture = try SignatureFixture()
        let message = fixture.message.with(
            "Signature",
            #"keyId="k1",algorithm="rsa-sha256",headers="date",signature="AA==""#
        )
        let error = try #require(try await fixture.error(message))
        #expect(error.code == .malformedSignature)
        #expect(error.message.contains("Cavage"))
    }

    @Test("rejects a repeated label in either field, on one line or two", .shows("M8", "RFC 9421 §4"))
    func repeatedLabels() async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed()
        for name in ["Signature-Input", "Signature"] {
            let value = try #require(message.headers[name])
            #expect(try await fixture.error(message.with(name, "\(value), \(value)"))?.code == .malformedSignature)
            var lines = message
            lines.headers.append(name: name, value: value)
            #expect(try await fixture.error(lines)?.code == .malformedSignature)
        }
    }

    @Test(
        "rejects known parameters of the wrong type or size",
        .shows("RFC 9421 §2.3"),
        arguments: [
            "created=\"1\"", "created=?1", "created", "created=1.5", "created=@1700000000", "expires=\"x\"", "nonce=1",
            "nonce=token", "keyid=k1", "keyid=:AA==:", "alg=ed25519", "alg=1", "tag=1", "tag", "expires=1600000000",
        ]
    )
    func parameterTypes(_ parameter: String) async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed().changing("Signature-Input") { "\($0);\(parameter)" }
        #expect(try await fixture.error(message)?.code == .malformedSignature)
    }

    @Test("limits the fields, the signatures, the components and the parameters", .shows("M7", "M13"))
    func limits() async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed()
        func code(_ message: HTTPMessage) async throws -> HTTPSignatureError.Code? {
            try await fixture.error(message)?.code
        }
        let padding = String(repeating: " ", count: 1 << 20)
        #expect(try await code(message.changing("Signature-Input") { $0 + padding }) == .tooLarge)
        #expect(try await code(message.changing("Signature") { $0 + padding }) == .tooLarge)
        let labels = (0..<8).map { "x\($0)" }
        let many = message.changing("Signature-Input") { labels.map { "\($0)=()" }.joined(separator: ",") + ",\($0)" }
        #expect(try await code(many) == .tooLarge)
        let seven = message.changing("Signature-Input") {
            labels.dropLast().map { "\($0)=()" }.joined(separator: ",") + ",\($0)"
        }
        #expect(try await code(seven) == nil)
        let names = (0..<65).map { "\"x\($0)\"" }.joined(separator: " ")
        #expect(try await code(message.with("Signature-Input", "sig1=(\(names));created=1")) == .tooLarge)
        for name in ["nonce", "keyid", "alg", "tag"] {
            let long = message.changing("Signature-Input") { "\($0);\(name)=\"\(String(repeating: "a", count: 257))\"" }
            #expect(try await code(long) == .tooLarge)
        }
        #expect(HTTPSignatureError(.tooLarge, "").status == 400)
    }

    @Test("rejects a covered field of a megabyte, and signs none", .shows("M13"))
    func largeField() async throws {
        var fixture = try SignatureFixture()
        fixture.profile.components.append(.ifPresent("x-large"))
        let large = fixture.message.with("X-Large", String(repeating: "a", count: 1 << 20))
        await #expect(throws: HTTPSignatureError(.tooLarge, "")) { _ = try await fixture.signed(large) }
        let message = try await fixture.signed(fixture.message.with("X-Large", "a"))
        let grown = message.with("X-Large", String(repeating: "a", count: 1 << 20))
        #expect(try await fixture.error(grown)?.code == .tooLarge)
    }

    @Test("requires the profile's parameters", arguments: ["created", "keyid", "nonce", "expires", "tag"])
    func missingParameters(_ name: String) async throws {
        var fixture = try SignatureFixture()
        fixture.profile.requiredParameters = ["created", "keyid", "expires"]
        fixture.profile.lifetime = .seconds(60)
        if name == "tag" { fixture.profile.requiredParameters.insert("tag") }
        let message = try await fixture.signed()
        if name != "tag" { #expect(try await fixture.error(message) == nil) }
        let without = message.changing("Signature-Input") { value in
            value.split(separator: ";").filter { !$0.hasPrefix("\(name)=") }.joined(separator: ";")
        }
        #expect(try await fixture.error(without)?.code == .missingParameter)
    }

    @Test("rejects the parameters that a profile prohibits")
    func prohibitedParameters() async throws {
        var fixture = try SignatureFixture()
        fixture.profile.sendsAlgorithm = true
        let message = try await fixture.signed()
        #expect(try await fixture.error(message) == nil)
        fixture.profile.prohibitedParameters = ["alg"]
        #expect(try await fixture.error(message)?.code == .malformedSignature)
    }

    @Test(
        "accepts a signature from its creation to its maximum age, with the skew of clocks",
        .shows("M5"),
        arguments: [
            (-61, .createdInFuture), (-60, nil), (0, nil), (299, nil), (360, nil), (361, .tooOld),
        ] as [(Double, HTTPSignatureError.Code?)]
    )
    func age(_ seconds: Double, _ expected: HTTPSignatureError.Code?) async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed()
        let error = try await fixture.error(message, at: SignatureFixture.date.addingTimeInterval(seconds))
        #expect(error?.code == expected)
    }

    @Test(
        "rejects an expired signature",
        .shows("M5"),
        arguments: [(30, nil), (31, .expired)] as [(Double, HTTPSignatureError.Code?)]
    )
    func expiration(_ seconds: Double, _ expected: HTTPSignatureError.Code?) async throws {
        var fixture = try SignatureFixture()
        fixture.profile.lifetime = .seconds(20)
        fixture.profile.clockSkew = .seconds(10)
        let message = try await fixture.signed()
        #expect(message.headers["Signature-Input"]?.contains(";expires=1700000020;") == true)
        let error = try await fixture.error(message, at: SignatureFixture.date.addingTimeInterval(seconds))
        #expect(error?.code == expected)
        #expect(error?.headers["Accept-Signature"] != nil || expected == nil)
    }

    @Test("rejects a signature that lacks any required component", .shows("M1", "RFC 9421 §3.2"), arguments: 0..<7)
    func coverage(_ index: Int) async throws {
        let complete = try SignatureFixture()
        var reduced = complete
        reduced.profile.components.remove(at: index)
        let length = "\(Self.body.count)"
        let message = try await reduced.signed(reduced.message.with("Content-Length", length))
        #expect(try await complete.error(message)?.code == .insufficientCoverage)
    }

    @Test("an empty list of components is never enough", .shows("M1", "RFC 9421 §7.2, §7.3"))
    func emptyCoverage() async throws {
        let fixture = try SignatureFixture()
        let base = try SignatureBase(
            of: fixture.message,
            parameters: SignatureParameters(
                StructuredField.InnerList(parsing: ["();created=1700000000;keyid=\"k1\";nonce=\"n\""])
            )
        )
        let signature = try await fixture.key.signature(for: base)
        let message = fixture.message
            .with("Signature-Input", "sig1=" + (try base.parameters.serialized()))
            .with("Signature", "sig1=:\(signature.base64EncodedString()):")
        #expect(try await fixture.error(message)?.code == .insufficientCoverage)
        let profiles: [SignatureProfile] = [
            SignatureProfile(components: []),
            SignatureProfile(components: [.ifContent("content-digest"), .ifPresent("a")]),
            SignatureProfile(components: [.optional(.method)]),
        ]
        for profile in profiles {
            #expect(throws: HTTPSignatureError(.invalidProfile, "")) {
                _ = try MessageVerifier(profile: profile, keys: fixture.keys, replayCache: InMemoryReplayCache())
            }
        }
    }

    @Test("a component with other parameters isn't the required one", .shows("M1"))
    func similarComponents() async throws {
        var fixture = try SignatureFixture(SignatureProfile(components: [.required(.method), .required("priority")]))
        let message = fixture.message.with("Priority", "u=1")
        let required = fixture.profile
        for other in [
            ComponentIdentifier("priority").structured, .init("priority").binary, .init("priority").member("u"),
        ] {
            fixture.profile.components[1] = .required(other)
            let signed = try await fixture.signed(message)
            #expect(try await fixture.error(signed) == nil)
            var strict = fixture
            strict.profile = required
            #expect(try await strict.error(signed)?.code == .insufficientCoverage)
        }
    }

    @Test("a profile can accept one of several components")
    func alternatives() async throws {
        var fixture = try SignatureFixture()
        fixture.profile.components = [.oneOf(.authority, or: [.targetURI])]
        let verifier = fixture
        #expect(try await fixture.signed().headers["Signature-Input"]?.hasPrefix("sig1=(\"@authority\")") == true)
        for component in [ComponentIdentifier.authority, .targetURI, .path] {
            fixture.profile.components = [.required(component)]
            let error = try await verifier.error(try await fixture.signed())
            #expect(error?.code == (component == .path ? .insufficientCoverage : nil))
        }
    }

    @Test(
        "rejects a message whose covered values changed",
        .shows("M2"),
        arguments: ["Authorization", "DPoP", "Content-Type", "Content-Digest", "Content-Length"]
    )
    func changedFields(_ name: String) async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed()
        let expected: HTTPSignatureError.Code = .signatureInvalid
        #expect(try await fixture.error(message.changing(name) { $0 + "x" })?.code == expected)
        var twice = message
        twice.headers.append(name: name, value: "x")
        #expect(try await fixture.error(twice)?.code == expected)
        #expect(try await fixture.error(message.with(name, nil))?.code == .missingComponent)
    }

    @Test("rejects another method, target or order of lines", .shows("M2"))
    func changedTarget() async throws {
        var fixture = try SignatureFixture()
        fixture.profile.components.append(.ifPresent("x-list"))
        var message = fixture.message
        message.headers.append(name: "X-List", value: "a")
        message.headers.append(name: "X-List", value: "b")
        let signed = try await fixture.signed(message)
        #expect(try await fixture.error(signed) == nil)
        let others = [
            HTTPMessage(method: .put, url: "https://api.example/orders?open=1", headers: signed.headers),
            HTTPMessage(method: .post, url: "https://api.example/orders?open=2", headers: signed.headers),
            HTTPMessage(method: .post, url: "https://api.example/Orders?open=1", headers: signed.headers),
            HTTPMessage(method: .post, url: "https://api.example/orders/?open=1", headers: signed.headers),
            HTTPMessage(method: .post, url: "http://api.example/orders?open=1", headers: signed.headers),
            HTTPMessage(method: .post, url: "https://api.example:8443/orders?open=1", headers: signed.headers),
            HTTPMessage(method: .post, url: "https://evil.example/orders?open=1", headers: signed.headers),
        ]
        for other in others { #expect(try await fixture.error(other)?.code == .signatureInvalid) }
        let same = HTTPMessage(method: .post, url: "HTTPS://API.example:443/orders?open=1", headers: signed.headers)
        #expect(try await fixture.error(same) == nil)
        let swapped = HTTPHeaders(signed.headers.filter { $0.name != "X-List" })
        var lines = HTTPMessage(method: .post, url: "https://api.example/orders?open=1", headers: swapped)
        lines.headers.append(name: "X-List", value: "b")
        lines.headers.append(name: "X-List", value: "a")
        #expect(try await fixture.error(lines)?.code == .signatureInvalid)
    }

    @Test("a changed byte anywhere in the parameters is rejected", .shows("M2"))
    func flippedParameters() async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed()
        let input = Array(try #require(message.headers["Signature-Input"]).utf8)
        // The label isn't signed, so the flips begin after it.
        for index in input.indices.dropFirst("sig1".utf8.count) {
            for bit in [0, 1, 5] {
                var changed = input
                changed[index] ^= 1 << UInt8(bit)
                let text = String(decoding: changed, as: UTF8.self)
                #expect(try await fixture.error(message.with("Signature-Input", text)) != nil, "\(index): \(text)")
            }
        }
    }

    @Test(
        "a changed byte anywhere in the signature is rejected, in any algorithm",
        .shows("M2"),
        arguments: ["Ed25519", "ES256", "HS256"]
    )
    func flippedSignature(_ name: String) async throws {
        var fixture = try SignatureFixture()
        let key = try SigningKey.generate(try #require(JWSAlgorithm(rawValue: name))).identified(by: "k1")
        fixture.keys = SignatureKeys(key.verificationKey)
        let message = try await fixture.signed(by: key)
        let value = try #require(message.headers["Signature"])
        var signature = Array(try #require(Data(base64Encoded: String(value.dropFirst("sig1=:".count).dropLast()))))
        for index in signature.indices {
            signature[index] ^= 1 << UInt8(index % 8)
            let changed = message.with("Signature", "sig1=:\(Data(signature).base64EncodedString()):")
            #expect(try await fixture.error(changed)?.code == .signatureInvalid, "byte \(index)")
            signature[index] ^= 1 << UInt8(index % 8)
        }
        for other in [Data(signature.dropLast()), Data(signature + [0]), Data(), Data([0] + signature)] {
            let changed = message.with("Signature", "sig1=:\(other.base64EncodedString()):")
            #expect(try await fixture.error(changed)?.code == .signatureInvalid)
        }
    }

    @Test("checks content against a covered digest in the trailer", .shows("M3", "RFC 9421 §2.1"))
    func trailerDigest() async throws {
        var fixture = try SignatureFixture()
        fixture.profile.components = [.required(.method), .ifContent(ComponentIdentifier("content-digest").trailer)]
        var message = fixture.message
        message.trailers["Content-Digest"] = try HTTPDigest(of: SignatureFixture.body).fieldValue
        let signed = try await fixture.signed(message)
        #expect(try await fixture.error(signed) == nil)
        #expect(try await fixture.error(signed, body: Data("other".utf8))?.code == .digestMismatch)
        message.trailers["Content-Digest"] = "md5=:AAAA:"
        #expect(try await fixture.error(fixture.signed(message))?.code == .unsupportedDigest)
    }

    @Test("the error of several signatures is that of the one that got furthest")
    func furthestError() async throws {
        var fixture = try SignatureFixture()
        fixture.profile.components = [.required(.method)]
        let weak = try await fixture.signed()
        let complete = try SignatureFixture()
        let both = try await complete.signed(weak).with("Authorization", "Bearer other")
        #expect(try await complete.error(both)?.code == .signatureInvalid)
    }

    @Test("error texts contain no values of the message", .shows("M20"))
    func errorTexts() async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed()
        for changed in [
            message.with("Authorization", "s3cret"), message.with("Authorization", "s3cret\n"),
            message.changing("Signature-Input") { $0 + ";alg=\"s3cret\"" },
            message.changing("Signature-Input") { $0 + ";keyid=\"s3cret\"" },
            message.with("Content-Digest", "s3cret=1"),
        ] {
            let error = try #require(try await fixture.error(changed))
            #expect(!"\(error)".contains("s3cret"))
            #expect(error.errorDescription == error.description)
        }
    }
}
