import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@testable import HTTPSignatures

@Suite(.computing)
struct AlgorithmTests {
    @Test(
        "maps the registered names",
        .shows("RFC 9421 §3.3, §6.2"),
        arguments: [
            ("rsa-pss-sha512", "PS512"), ("rsa-v1_5-sha256", "RS256"), ("hmac-sha256", "HS256"),
            ("ecdsa-p256-sha256", "ES256"), ("ecdsa-p384-sha384", "ES384"), ("ed25519", "Ed25519"),
        ]
    )
    func names(_ name: String, _ algorithm: String) throws {
        let known = try #require(JWSAlgorithm(rawValue: algorithm))
        #expect(known.httpSignatureName == name)
        #expect(JWSAlgorithm(httpSignatureName: name) == known)
        #expect(JWSAlgorithm(httpSignatureName: algorithm) == nil)
        #expect(JWSAlgorithm(httpSignatureName: name.uppercased()) == nil)
    }

    @Test(
        "signs and verifies with every algorithm, and sends a registered name only",
        .shows("RFC 9421 §3.3, §6.2"),
        arguments: JWSAlgorithm.implemented
    )
    func roundTrip(_ algorithm: JWSAlgorithm) async throws {
        var fixture = try SignatureFixture()
        let key = try SigningKey.generate(algorithm).identified(by: "k1")
        fixture.keys = SignatureKeys(key.verificationKey)
        fixture.profile.sendsAlgorithm = true
        let message = try await fixture.signed(by: key)
        let verified = try await fixture.verifier().verify(message, body: SignatureFixture.body)
        let isEdwards = algorithm == .edDSA
        #expect(verified.signature.parameters.algorithm == (isEdwards ? "ed25519" : algorithm.httpSignatureName))
        #expect(verified.signature.key.thumbprint == key.verificationKey.thumbprint)
    }

    @Test(
        "rejects an alg that isn't the key's",
        .shows("M9", "RFC 9421 §3.3, §6.2"),
        arguments: ["ecdsa-p256-sha256", "hmac-sha256", "EdDSA", "Ed25519", "ed25519 "]
    )
    func wrongName(_ name: String) async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed().changing("Signature-Input") { "\($0);alg=\"\(name)\"" }
        #expect(try await fixture.error(message)?.code == .algorithmMismatch)
    }

    @Test(
        "rejects any alg with an algorithm that isn't registered",
        arguments: ["ES512", "ecdsa-p521-sha512", "ed25519"]
    )
    func unregistered(_ name: String) async throws {
        var fixture = try SignatureFixture()
        let key = try SigningKey.generate(.es512).identified(by: "k1")
        fixture.keys = SignatureKeys(key.verificationKey)
        let message = try await fixture.signed(by: key)
        #expect(!(message.headers["Signature-Input"] ?? "").contains("alg="))
        #expect(try await fixture.error(message) == nil)
        let named = message.changing("Signature-Input") { "\($0);alg=\"\(name)\"" }
        #expect(try await fixture.error(named)?.code == .algorithmMismatch)
    }

    @Test("a profile limits the algorithms of signers and verifiers")
    func profileAlgorithms() async throws {
        var fixture = try SignatureFixture()
        let message = try await fixture.signed()
        fixture.profile.algorithms = [.es256, .ps512]
        #expect(try await fixture.error(message)?.code == .algorithmMismatch)
        #expect(throws: HTTPSignatureError(.algorithmMismatch, "")) { _ = try fixture.signer() }
        fixture.profile.algorithms = [.ed25519]
        #expect(try await fixture.error(message) == nil)
        // A key that is named “EdDSA” makes the same signatures.
        let alias = try SigningKey.generate(.edDSA).identified(by: "k1")
        fixture.keys = SignatureKeys(alias.verificationKey)
        #expect(try await fixture.error(try await fixture.signed(by: alias)) == nil)
        #expect(throws: HTTPSignatureError(.algorithmMismatch, "")) {
            _ = try fixture.signer(try .generate(.ed448).identified(by: "k"))
        }
    }

    @Test("rejects secrets shorter than 32 bytes, also if zeros pad them", .shows("M10", "RFC 9421 §7.2, §7.3"))
    func shortSecrets() async throws {
        let padded = Array(repeating: UInt8(7), count: 8) + Array(repeating: 0, count: 24)
        for secret in [Array(repeating: UInt8(7), count: 31), padded] {
            var fixture = try SignatureFixture()
            let key = try SigningKey(unsafeShortSecret: secret, algorithm: .hs256).identified(by: "k1")
            #expect(throws: HTTPSignatureError(.weakKey, "")) { _ = try fixture.signer(key) }
            let message = try await fixture.signed()
            fixture.keys = SignatureKeys(key.verificationKey)
            #expect(try await fixture.error(message)?.code == .weakKey)
        }
        var fixture = try SignatureFixture()
        let key = try SigningKey(secret: Array(repeating: UInt8(7), count: 32), algorithm: .hs256).identified(by: "k1")
        fixture.keys = SignatureKeys(key.verificationKey)
        #expect(try await fixture.error(try await fixture.signed(by: key)) == nil)
    }

    @Test("a public key is never the secret of an HMAC", .shows("M9", "RFC 9421 §7.2, §7.3"))
    func confusion() async throws {
        var fixture = try SignatureFixture()
        let pair = try SigningKey.generate(.es256).identified(by: "k1")
        let thumbprint = Array(pair.verificationKey.thumbprint.utf8)
        let secret = try SigningKey(secret: thumbprint, algorithm: .hs256).identified(by: "k1")
        fixture.keys = SignatureKeys(pair.verificationKey)
        fixture.profile.sendsAlgorithm = true
        #expect(try await fixture.error(try await fixture.signed(by: secret))?.code == .algorithmMismatch)
        fixture.profile.sendsAlgorithm = false
        #expect(try await fixture.error(try await fixture.signed(by: secret))?.code == .signatureInvalid)
    }

    private struct RemoteKey: SigningService {
        let key: SigningKey
        var isDamaged = false
        var algorithm: JWSAlgorithm { key.algorithm }
        var keyID: String? { key.keyID }
        var publicKey: VerificationKey? { key.publicKey }

        func sign(data: Data) async throws -> Data {
            await Task.yield()
            var signature = try key.sign(data: data)
            if isDamaged { signature[0] ^= 1 }
            return signature
        }
    }

    private struct Device: SigningService {
        struct Locked: Error {}
        let algorithm = JWSAlgorithm.es256
        func sign(data: Data) throws -> Data { throw Locked() }
    }

    @Test("signs with a remote service, and rejects its damaged signatures")
    func remote() async throws {
        let fixture = try SignatureFixture()
        var signer = try MessageSigner(key: RemoteKey(key: fixture.other), profile: .standard)
        signer.currentDate = { SignatureFixture.date }
        let message = fixture.message
        let signed = message.setting(try await signer.sign(message, body: .data(SignatureFixture.body)))
        #expect(try await fixture.error(signed) == nil)
        let damaged = try MessageSigner(key: RemoteKey(key: fixture.other, isDamaged: true), profile: .standard)
        await #expect(throws: HTTPSignatureError(.signingFailed, "")) { _ = try await damaged.sign(message) }
    }

    @Test("a failing device's error is the cause")
    func device() async throws {
        let signer = try MessageSigner(key: Device(), keyID: "device", profile: .standard)
        let error = await #expect(throws: HTTPSignatureError.self) {
            _ = try await signer.sign(try SignatureFixture().get)
        }
        #expect(error?.code == .signingFailed)
        #expect(error?.cause is Device.Locked)
        #expect(throws: HTTPSignatureError(.invalidProfile, "")) {
            _ = try MessageSigner(key: Device(), profile: .standard)
        }
    }
}

@Suite(.limitedConcurrency)
struct SignatureKeysTests {
    private func query(_ keyID: String?) throws -> SignatureKeys.Query {
        let parameters = SignatureParameters(components: [])
        return SignatureKeys.Query(
            keyID: keyID,
            parameters: parameters,
            message: try SignatureFixture().message,
            agent: nil
        )
    }

    private func code(_ keys: SignatureKeys, _ keyID: String?) async throws -> HTTPSignatureError.Code? {
        let query = try query(keyID)
        do {
            _ = try await keys.key(for: query)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("selects among fixed keys by ID")
    func fixed() async throws {
        let first = try SigningKey.generate(.es256).identified(by: "a").verificationKey
        let second = try SigningKey.generate(.es256).identified(by: "b").verificationKey
        let both = SignatureKeys(first, second)
        #expect(try await both.key(for: query("b")).thumbprint == second.thumbprint)
        #expect(try await code(both, "c") == .unknownKey)
        #expect(try await code(both, nil) == .unknownKey)
        #expect(try await code(SignatureKeys(first), nil) == nil)
        #expect(try await code(SignatureKeys(first), "b") == .unknownKey)
        #expect(try await code(SignatureKeys(first, first), "a") == .unknownKey)
        let anonymous = try SigningKey.generate(.es256).verificationKey
        #expect(try await code(SignatureKeys(anonymous), "anything") == nil)
    }

    @Test("selects in a key set by kid, and uses only keys with one algorithm")
    func keySet() async throws {
        let pair = try SigningKey.generate(.es256).identified(by: "a")
        var rsa = try SigningKey.generate(.ps512).verificationKey.jwk
        rsa.keyID = "rsa"
        var members = rsa.members
        members["alg"] = nil
        let secret = try JWK([
            "kty": "oct", "kid": "s", "alg": "HS256", "k": .string(String(repeating: "A", count: 43)),
        ])
        let set = JWKSet(keys: [pair.verificationKey.jwk, try JWK(members), secret])
        #expect(try await code(SignatureKeys(set), "a") == nil)
        #expect(try await code(SignatureKeys(set), "b") == .unknownKey)
        #expect(try await code(SignatureKeys(set), nil) == .unknownKey)
        #expect(try await code(SignatureKeys(set), "s") == .unknownKey)
        #expect(try await code(SignatureKeys(set), "rsa") == .unknownKey)
        let selection = KeySelection(assumedAlgorithms: [.ps512])
        #expect(try await code(SignatureKeys(set, selection: selection), "rsa") == nil)
        var other = try SigningKey.generate(.es256).verificationKey.jwk
        other.keyID = "a"
        let ambiguous = JWKSet(keys: [pair.verificationKey.jwk, other])
        #expect(try await code(SignatureKeys(ambiguous), "a") == .unknownKey)
        let repeated = JWKSet(keys: [pair.verificationKey.jwk, pair.verificationKey.jwk])
        #expect(try await code(SignatureKeys(repeated), "a") == nil)
    }

    @Test("a closure can reject a key with its own code, and any other error is undecided")
    func closures() async throws {
        struct Outage: Error {}
        let forbidden = SignatureKeys { _ in throw HTTPSignatureError(.keyRefused, "revoked") }
        #expect(try await code(forbidden, "a") == .keyRefused)
        let failing = SignatureKeys { _ in throw Outage() }
        #expect(try await code(failing, "a") == .undecided)
        #expect(HTTPSignatureError(.keyRefused, "").status == 403)
        #expect(HTTPSignatureError(.undecided, "").status == 503)
    }

    @Test("fetches a published key set, and again for an unknown ID")
    func remote() async throws {
        let first = try SigningKey.generate(.es256).identified(by: "a")
        let second = try SigningKey.generate(.ed25519).identified(by: "b")
        let time = ManualTime()
        let sets = [[first], [first, second]].map { JWKSet(keys: $0.map(\.verificationKey.jwk)).serialized() }
        let transport = MockTransport(.json(sets[0]), .json(sets[1]), .status(500), time: time.timeSource)
        let client = NetworkClient(transport: transport, options: .init(timeSource: time.timeSource))
        let remote = RemoteKeySet(
            url: try #require(URL(string: "https://id.example/jwks")),
            client: client,
            options: .init(timeSource: time.timeSource)
        )
        let keys = SignatureKeys(remote)
        #expect(try await code(keys, "a") == nil)
        #expect(transport.requests.count == 1)
        time.advance(by: .seconds(31))
        #expect(try await code(keys, "b") == nil)
        #expect(transport.requests.count == 2)
        #expect(try await code(keys, "c") == .unknownKey)
        #expect(transport.requests.count == 2)
    }

    @Test("unreachable keys are undecided")
    func unreachable() async throws {
        let time = ManualTime()
        let client = NetworkClient(
            transport: MockTransport(.status(503), time: time.timeSource),
            options: .init(timeSource: time.timeSource)
        )
        let url = try #require(URL(string: "https://id.example/jwks"))
        let remote = RemoteKeySet(url: url, client: client, options: .init(timeSource: time.timeSource))
        #expect(try await code(SignatureKeys(remote), "a") == .undecided)
    }
}
