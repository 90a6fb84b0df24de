import Foundation
import MockNetworking
import Networking
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@testable import HTTPSignatures

@Suite(.limitedConcurrency)
struct WebBotAuthTests {
    struct DraftVector: Decodable, Sendable, CustomTestStringConvertible {
        let id: String
        let keyid: String
        let message: MessageVector
        let request: MessageVector?
        let base: String
        let agent: String?

        enum CodingKeys: String, CodingKey {
            case id, keyid, message, request, agent
            case base = "signature_base"
        }

        var testDescription: String { id }
        private struct File: Decodable { let cases: [DraftVector] }
        static let all = (try? Vector.decode("webbotauth-signatures", as: File.self))?.cases ?? []
    }

    private static let agentURL = "https://agent.example/keys.json"

    private func agent(_ url: String = agentURL) throws -> SignatureAgent {
        SignatureAgent(url: try #require(URL(string: url)))
    }

    private func fixture(_ agent: SignatureAgent?) throws -> SignatureFixture {
        var fixture = try SignatureFixture(.webBotAuth(agent: agent))
        let key = fixture.key.verificationKey
        fixture.keys = SignatureKeys { query in query.keyID == key.thumbprint ? key : nil }
        return fixture
    }

    @Test("accepts the draft's vectors", arguments: DraftVector.all)
    func vectors(_ vector: DraftVector) async throws {
        #expect(DraftVector.all.count == 5)
        let isDirectory = vector.request != nil
        let key = try TestKey.verification(vector.keyid)
        var verifier = try MessageVerifier(
            profile: isDirectory ? .keyDirectory : .webBotAuth(),
            keys: SignatureKeys { query in query.keyID == key.thumbprint ? key : nil },
            replayCache: nil
        )
        verifier.currentDate = { Date(timeIntervalSince1970: 1_735_689_600) }
        let message = try vector.message.message(request: vector.request)
        let verified = try await verifier.verify(message, body: vector.message.body)
        let base = try SignatureBase(of: message, parameters: verified.signature.parameters)
        #expect(base.text == vector.base)
        #expect(verified.signature.agent?.absoluteString == vector.agent)
        verifier.currentDate = { Date(timeIntervalSince1970: 4_889_289_661) }
        await #expect(throws: HTTPSignatureError.self) {
            _ = try await verifier.verify(message, body: vector.message.body)
        }
    }

    @Test("sends the agent under the signature's label, and covers it")
    func signing() async throws {
        let fixture = try fixture(try agent())
        let message = try await fixture.signed(fixture.get, body: Data())
        #expect(message.headers["Signature-Agent"] == "sig1=\"\(Self.agentURL)\"")
        let thumbprint = fixture.key.verificationKey.thumbprint
        let input = try #require(message.headers["Signature-Input"])
        #expect(
            input.hasPrefix(
                #"sig1=("@authority" "@method" "@path" "signature-agent";key="sig1");created=1700000000"#
                    + ";expires=1700000300;keyid=\"\(thumbprint)\";nonce=\""
            )
        )
        #expect(input.hasSuffix(";tag=\"web-bot-auth\""))
        let verified = try await fixture.verifier().verify(message, body: Data())
        #expect(verified.signature.agent?.absoluteString == Self.agentURL)
        // Two agents on one message.
        var other = try self.fixture(try agent("https://other.example/keys"))
        let key = other.other.verificationKey
        other.keys = SignatureKeys { query in query.keyID == key.thumbprint ? key : nil }
        let both = try await other.signed(message, body: Data(), by: other.other)
        #expect(both.headers["Signature-Agent"] == "sig1=\"\(Self.agentURL)\", sig1-2=\"https://other.example/keys\"")
        #expect(try await other.verifier().verify(both, body: Data()).signature.agent?.host() == "other.example")
        #expect(try await fixture.verifier().verify(both, body: Data()).signature.agent?.host() == "agent.example")
    }

    @Test("sends the legacy form only on request, and accepts it")
    func legacy() async throws {
        let url = try #require(URL(string: "https://agent.example"))
        let fixture = try fixture(SignatureAgent(url: url, isLegacy: true))
        let message = try await fixture.signed(fixture.get, body: Data())
        #expect(message.headers["Signature-Agent"] == "\"https://agent.example\"")
        #expect(message.headers["Signature-Input"]?.contains("\"signature-agent\");created") == true)
        #expect(try await fixture.error(message, body: Data()) == nil)
        await #expect(throws: HTTPSignatureError(.signingFailed, "")) {
            _ = try await fixture.signed(fixture.get.with("Signature-Agent", "a=\"https://b.example\""), body: Data())
        }
    }

    @Test("needs a covered agent that is an https URL without parameters")
    func agentRule() async throws {
        var fixture = try fixture(try agent())
        let signed = try await fixture.signed(fixture.get, body: Data())
        #expect(try await fixture.error(signed.with("Signature-Agent", nil), body: Data())?.code == .missingComponent)
        fixture.profile.signatureAgent = nil
        let without = try await fixture.signed(fixture.get, body: Data())
        #expect(try await fixture.error(without, body: Data())?.code == .insufficientCoverage)
        let uncovered = without.with("Signature-Agent", "sig1=\"\(Self.agentURL)\"")
        #expect(try await fixture.error(uncovered, body: Data())?.code == .insufficientCoverage)
        for value in [
            "sig1=\"http://agent.example/\"", "sig1=\"ftp://agent.example\"", "sig1=\"agent\"", "sig1=agent", "sig1=1",
            "sig1=\"\(Self.agentURL)\";type=jwks_uri", "sig1=(\"https://agent.example\")",
            "sig1=\"https://u@agent.example\"",
        ] {
            fixture.profile.components = [
                .required(.authority), .required(ComponentIdentifier("signature-agent").member("sig1")),
            ]
            let message = try await fixture.signed(fixture.get.with("Signature-Agent", value), body: Data())
            #expect(try await fixture.error(message, body: Data())?.code == .malformedComponent, "\(value)")
        }
    }

    @Test("a signature isn't attributed to an agent that it doesn't cover")
    func attribution() async throws {
        var fixture = try fixture(nil)
        let agent = ComponentIdentifier("signature-agent")
        fixture.profile.components = [
            .required(.authority), .required(agent.member("a")), .required(agent.member("b")),
        ]
        let message = fixture.get.with(
            "Signature-Agent",
            "a=\"https://a.example/\", b=\"https://b.example/\", sig1=\"https://c.example/\""
        )
        let both = try await fixture.signed(message, body: Data())
        #expect(try await fixture.error(both, body: Data())?.code == .insufficientCoverage)
        fixture.profile.components.removeLast()
        let one = try await fixture.signed(message, body: Data())
        #expect(try await fixture.verifier().verify(one, body: Data()).signature.agent?.host() == "a.example")
    }

    @Test("never uses a shared secret")
    func sharedSecrets() throws {
        let fixture = try fixture(try agent())
        #expect(throws: HTTPSignatureError(.algorithmMismatch, "")) { _ = try fixture.signer(.generate(.hs256)) }
    }
}
