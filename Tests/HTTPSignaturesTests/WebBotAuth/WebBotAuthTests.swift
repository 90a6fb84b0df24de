import Foundation
import MockNetworking
import Networking
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@testable import HTTPSignatures

@Suite(.limitedConcurrency, .tags(.concurrency))
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

    @Test("accepts the draft's vectors", .shows("P41", "Web Bot Auth, draft 1"), arguments: DraftVector.all)
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

    @Test("needs a covered agent that is an https URL without parameters", .shows("Web Bot Auth, draft 1"))
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

    @Test("a signature isn't attributed to an agent that it doesn't cover", .shows("M19"))
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

@Suite(.limitedConcurrency, .tags(.concurrency))
struct SignatureAgentKeysTests {
    private struct Setting {
        let time = ManualTime(date: SignatureFixture.date)
        let transport: MockTransport
        let agents: SignatureAgentKeys

        init(
            limits: SignatureAgentKeys.Limits = .init(),
            allows: @escaping @Sendable (URL) -> Bool = { _ in true },
            handler: @escaping MockTransport.Handler
        ) {
            transport = MockTransport(time: time.timeSource, handler: handler)
            agents = SignatureAgentKeys(
                client: NetworkClient(transport: transport, options: .init(timeSource: time.timeSource)),
                limits: limits,
                timeSource: time.timeSource,
                allows: allows
            )
        }

        func code(_ url: String, _ keyID: String?) async throws -> HTTPSignatureError.Code? {
            let query = SignatureKeys.Query(
                keyID: keyID,
                parameters: SignatureParameters(components: []),
                message: HTTPMessage(method: .get, url: "https://a.example/", headers: [:]),
                agent: URL(string: url)
            )
            do {
                _ = try await agents.keys.key(for: query)
                return nil
            } catch {
                return error.code
            }
        }
    }

    private static func directory(
        _ keys: [SigningKey],
        change: (inout JSONObject) -> Void = { _ in }
    ) -> HTTPTransportResponse {
        let jwks = keys.map { key -> JSONValue in
            var members = key.verificationKey.jwk.publicPart.members
            members["alg"] = nil
            change(&members)
            return .object(members)
        }
        let body: JSONObject = ["keys": .array(jwks)]
        return HTTPTransportResponse(
            status: 200,
            headers: ["Content-Type": SignatureKeyDirectory.mediaType],
            body: body.serializedData()
        )
    }

    @Test(
        "publishes the keys with one signature per key, and fetches them again",
        .shows("P41", "Web Bot Auth, draft 1")
    )
    func publishing() async throws {
        let keys = try [SigningKey.generate(.ed25519), SigningKey.generate(.es256), SigningKey.generate(.ps512)]
        let signers = try keys.map { key in
            var signer = try MessageSigner(key: key, profile: .keyDirectory)
            signer.currentDate = { SignatureFixture.date }
            return signer
        }
        let directory = try SignatureKeyDirectory(signers: signers)
        let request = HTTPMessage(
            method: .get,
            target: SignatureKeyDirectory.path,
            at: "https://agent.example",
            headers: [:]
        )
        let (headers, body) = try await directory.response(to: request)
        #expect(headers["Content-Type"] == "application/http-message-signatures-directory+json")
        #expect(headers["Cache-Control"] == "max-age=86400")
        #expect(try SignatureFields(headers).count == 3)
        // Every signature proves the possession of its key, for this authority.
        for key in keys {
            let thumbprint = key.verificationKey.thumbprint
            var verifier = try MessageVerifier(
                profile: .keyDirectory,
                keys: SignatureKeys { $0.keyID == thumbprint ? key.verificationKey : nil },
                replayCache: nil
            )
            verifier.currentDate = { SignatureFixture.date }
            let response = HTTPMessage(status: 200, headers: headers, request: request)
            _ = try await verifier.verify(response, body: body)
            let other = HTTPMessage(method: .get, url: "https://evil.example/", headers: [:])
            await #expect(throws: HTTPSignatureError(.signatureInvalid, "")) {
                _ = try await verifier.verify(HTTPMessage(status: 200, headers: headers, request: other), body: body)
            }
            await #expect(throws: HTTPSignatureError(.digestMismatch, "")) {
                _ = try await verifier.verify(response, body: body + [0x20])
            }
        }
        let setting = Setting { _ in HTTPTransportResponse(status: 200, headers: headers, body: body) }
        for key in keys {
            #expect(try await setting.code("https://agent.example", key.verificationKey.thumbprint) == nil)
        }
        #expect(
            setting.transport.requests.map(\.url.absoluteString) == [
                "https://agent.example\(SignatureKeyDirectory.path)"
            ]
        )
        #expect(setting.transport.requests[0].headers["Accept"]?.hasPrefix(SignatureKeyDirectory.mediaType) == true)
        let text = String(decoding: body, as: UTF8.self)
        #expect(text.contains(#""alg":"rsa-pss-sha512""#))
        #expect(!text.contains("\"d\"") && !text.contains("EdDSA") && !text.contains("ES256"))
    }

    @Test("a directory needs the public keys of signers with its profile")
    func invalidDirectories() throws {
        let key = try SigningKey.generate(.ed25519).identified(by: "k")
        #expect(throws: HTTPSignatureError(.invalidProfile, "")) {
            _ = try SignatureKeyDirectory(signers: [MessageSigner(key: key, profile: .standard)])
        }
        let secret = try MessageSigner(key: SigningKey.generate(.hs256), keyID: "k", profile: .keyDirectory)
        #expect(throws: HTTPSignatureError(.invalidProfile, "")) { _ = try SignatureKeyDirectory(signers: [secret]) }
    }

    @Test(
        "doesn't fetch from a URL that could reach inside the network",
        .shows("M18", "Z4"),
        arguments: [
            "http://agent.example/", "https://agent.example:8443/", "https://127.0.0.1/", "https://2130706433/",
            "https://0x7f.1/", "https://0x7f000001/", "https://[::1]/", "https://localhost/", "https://metadata/",
            "https://db.internal/", "https://printer.local/", "https://169.254.169.254/latest/meta-data",
            "https://a.example./",
            "https://agent.localhost/", "https://1.1.1.0x1/", "https://user@agent.example/", "https://10.in-addr.arpa/",
        ]
    )
    func serverSideRequestForgery(_ url: String) async throws {
        let setting = Setting { _ in HTTPTransportResponse(status: 200) }
        #expect(try await setting.code(url, "k") == .directoryRejected)
        #expect(setting.transport.requests.isEmpty)
        #expect(HTTPSignatureError(.directoryRejected, "").status == 503)
    }

    @Test("asks the application before it fetches, and never for a test key", .shows("M18"))
    func permission() async throws {
        let key = try SigningKey.generate(.ed25519)
        let thumbprint = key.verificationKey.thumbprint
        let response = Self.directory([key, try TestKey.signing("test-key-ed25519")])
        let setting = Setting(allows: { $0.host() == "good.example" }, handler: { _ in response })
        #expect(try await setting.code("https://evil.example/", thumbprint) == .directoryRejected)
        #expect(setting.transport.requests.isEmpty)
        #expect(try await setting.code("https://good.example/", thumbprint) == nil)
        for name in TestKey.names.dropLast() {
            let known = try TestKey.verification(name).thumbprint
            #expect(try await setting.code("https://good.example/", known) == .unknownKey)
        }
        #expect(try await setting.code("https://good.example/", nil) == .unknownKey)
    }

    @Test("a key of one agent isn't a key of another", .shows("M19"))
    func pairs() async throws {
        let (first, second) = (try SigningKey.generate(.ed25519), try SigningKey.generate(.ed25519))
        let setting = Setting { request in
            Self.directory(request.url.host() == "one.example" ? [first] : [second])
        }
        #expect(try await setting.code("https://one.example/keys", first.verificationKey.thumbprint) == nil)
        #expect(try await setting.code("https://two.example/keys", first.verificationKey.thumbprint) == .unknownKey)
        #expect(try await setting.code("https://two.example/keys", second.verificationKey.thumbprint) == nil)
        #expect(setting.transport.requests.map(\.url.path) == ["/keys", "/keys"])
    }

    @Test("rejects redirects, errors, other types, too many keys and too many bytes", .shows("M18"), arguments: 0..<6)
    func badResponses(_ index: Int) async throws {
        let key = try SigningKey.generate(.ed25519)
        var good = Self.directory([key])
        switch index {
        case 0: good.status = 404
        case 1: (good.status, good.headers["Location"]) = (302, "https://evil.example/")
        case 2: good.headers["Content-Type"] = "application/json"
        case 3: good.body = Data("{}".utf8)
        case 4: good = Self.directory(Array(repeating: key, count: 33))
        default: good.body += Data(repeating: 0x20, count: 64 << 10)
        }
        let response = good
        let setting = Setting { _ in response }
        #expect(try await setting.code("https://agent.example/", key.verificationKey.thumbprint) == .directoryRejected)
        #expect(setting.transport.requests.count == 1)
        // The failure is remembered for a while.
        #expect(try await setting.code("https://agent.example/", key.verificationKey.thumbprint) == .directoryRejected)
        #expect(setting.transport.requests.count == 1)
    }

    @Test("respects the times of a key")
    func times() async throws {
        let key = try SigningKey.generate(.ed25519)
        let now = SignatureFixture.date.timeIntervalSince1970
        for (name, offset, expected) in [
            ("nbf", -1.0, nil), ("nbf", 60, .unknownKey), ("exp", 60, nil), ("exp", 0, .unknownKey),
        ] as [(String, Double, HTTPSignatureError.Code?)] {
            let response = Self.directory([key]) { $0[name] = .number(JSONNumber(Int(now + offset))) }
            let setting = Setting { _ in response }
            #expect(try await setting.code("https://agent.example/", key.verificationKey.thumbprint) == expected)
        }
    }

    @Test("fetches a directory once for concurrent requests, and limits the number of directories")
    func concurrency() async throws {
        let key = try SigningKey.generate(.ed25519)
        let thumbprint = key.verificationKey.thumbprint
        var limits = SignatureAgentKeys.Limits()
        (limits.agents, limits.concurrentFetches) = (2, 1)
        let gate = ResponseGate()
        let setting = Setting(limits: limits) { _ in
            try await gate.wait()
            return Self.directory([key])
        }
        async let first = setting.code("https://one.example/", thumbprint)
        async let second = setting.code("https://one.example/", thumbprint)
        try await setting.transport.waitForRequests(count: 1)
        #expect(try await setting.code("https://two.example/", thumbprint) == .directoryRejected)
        gate.open()
        #expect(try await [first, second] == [nil, nil])
        #expect(setting.transport.requests.count == 1)
        for host in ["two", "three", "one"] {
            #expect(try await setting.code("https://\(host).example/", thumbprint) == nil)
        }
        #expect(setting.agents.count == 2)
        #expect(
            setting.transport.requests.map { $0.url.host() } == [
                "one.example", "two.example", "three.example", "one.example",
            ]
        )
    }
}
