import Foundation
import Synchronization
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@Suite("DPoPVerifier", .computing)
struct DPoPVerifierTests {
    private static let url = "https://api.example/orders"
    private static let token = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"
    private static let date = Date(timeIntervalSince1970: Double(Fixture.now))

    private static func verifier(_ algorithms: Set<JWSAlgorithm>? = nil, at offset: Double = 0) -> DPoPVerifier {
        DPoPVerifier(
            replayCache: InMemoryReplayCache(),
            algorithms: algorithms,
            currentDate: { date.addingTimeInterval(offset) }
        )
    }

    private static func check(
        _ proof: String,
        method: String = "GET",
        url: String = url,
        accessToken: DPoPAccessToken? = nil,
        nonce: DPoPVerifier.NonceRule = .notRequired,
        by verifier: DPoPVerifier = verifier()
    ) throws -> DPoPProof {
        try verifier.verifySkippingReplayCheck(
            proof,
            method: method,
            url: url,
            for: accessToken.map { .resource(accessToken: $0) } ?? .tokenEndpoint,
            nonce: nonce
        )
    }

    /// Verifies a proof for the token endpoint, with the check for replays.
    private static func use(_ proof: String, method: String = "GET", by verifier: DPoPVerifier) async throws {
        _ = try await verifier.verify(proof, method: method, url: url, for: .tokenEndpoint, nonce: .notRequired)
    }

    private static func verifier(
        reading readings: Readings,
        _ cache: any ReplayCache = InMemoryReplayCache()
    ) -> DPoPVerifier {
        DPoPVerifier(replayCache: cache, currentDate: { date + readings.next() })
    }

    /// Creates a proof with changes to the header and claims of a valid one; `nil` removes a
    /// member.
    private static func proof(
        header: [String: JSONValue?] = [:],
        claims: [String: JSONValue?] = [:]
    ) throws -> String {
        var head: JSONObject = ["typ": "dpop+jwt", "alg": "ES256"]
        head["jwk"] = .object(try Fixture.signingKey().verificationKey.jwk.members)
        var body: JSONObject = ["jti": "1", "htm": "GET", "htu": .string(url), "iat": .number(JSONNumber(Fixture.now))]
        for (name, value) in header { head[name] = value }
        for (name, value) in claims { body[name] = value }
        return try Fixture.token(header: head.serialized(), payload: body.serialized())
    }

    @Test(
        "Limits a proof's RSA key to 4096 bits",
        .shows("K1"),
        arguments: [(512, TokenError.Code.signatureInvalid), (513, .tooLarge)]
    )
    func largeKey(size: Int, expected: TokenError.Code) throws {
        // 2^4095 + 3 and 2^4103 + 3.
        let modulus = JSONValue.string(Base64URL.encode([0x80] + [UInt8](repeating: 0, count: size - 2) + [3]))
        let proof = try Self.proof(header: [
            "alg": "RS256", "jwk": .object(["kty": "RSA", "n": modulus, "e": "AQAB"]),
        ])
        #expect(code { try Self.check(proof) } == expected)
    }

    @Test(
        "Accepts the proofs of RFC 9449 at their time, for their request",
        .shows("RFC 9449 §4.3"),
        arguments: [0, 1, 2]
    )
    func vectors(index: Int) throws {
        let json = try JSONObject(parsing: Vector.data("rfc9449-dpop"))
        let vector = try #require(json["proofs"]?.array?[index].object)
        let claims = try #require(vector["claims"]?.object)
        let issued = try #require(claims["iat"]?.number?.double)
        let proof = try #require(vector["proof"]?.string)
        let method = try #require(claims["htm"]?.string)
        let url = try #require(claims["htu"]?.string)
        let thumbprint = try #require(json["jkt"]?.string)
        let accessToken = try vector["access_token"]?.string.map { try DPoPAccessToken($0, thumbprint: thumbprint) }
        let verifier = DPoPVerifier(
            replayCache: InMemoryReplayCache(),
            currentDate: { Date(timeIntervalSince1970: issued + 1) }
        )
        let found = try Self.check(proof, method: method, url: url, accessToken: accessToken, by: verifier)
        #expect(found.claims == claims)
        #expect(found.thumbprint == thumbprint)
        #expect(found.jwtID == claims["jti"]?.string)
        #expect(code { try Self.check(proof, method: method, url: url) } == .tooOld)
        #expect(code { try Self.check(proof, method: "PUT", url: url, by: verifier) } == .methodMismatch)
        if accessToken == nil {
            let other = try DPoPAccessToken("other", thumbprint: thumbprint)
            let found = code { try Self.check(proof, method: method, url: url, accessToken: other, by: verifier) }
            #expect(found == .missingClaim)
        }
    }

    @Test(
        "Accepts generated proofs for every asymmetric algorithm",
        .shows("J23", "RFC 9449 §4.2"),
        arguments: JWSAlgorithm.implemented
    )
    func roundTrip(algorithm: JWSAlgorithm) async throws {
        let key = try Fixture.key(for: algorithm)
        guard !algorithm.isSymmetric else {
            #expect(code { try DPoPProofGenerator(key: key) } == .unsupportedAlgorithm)
            return
        }
        let generator = try DPoPProofGenerator(key: key)
        let proof = try generator.proof(
            method: "POST",
            url: Self.url + "?page=2#top",
            accessToken: Self.token,
            nonce: "n",
            date: Self.date
        )
        let accessToken = try DPoPAccessToken(Self.token, thumbprint: generator.thumbprint)
        var verifier = Self.verifier()
        verifier.limits.size = 16_384
        let found = try await verifier.verify(
            proof,
            method: "POST",
            url: "HTTPS://API.example:443/orders?page=3",
            for: .resource(accessToken: accessToken),
            nonce: .oneOf(["m", "n"])
        )
        #expect(found.url == Self.url)
        #expect(found.nonce == "n")
        #expect(found.issuedAt == Self.date)
        #expect(found.thumbprint == key.verificationKey.thumbprint)
        let header = try UnverifiedToken(proof).unverifiedHeader
        #expect(header["typ"] == "dpop+jwt")
        let members = Set(try #require(header["jwk"]?.object).map(\.name))
        #expect(members.isSubset(of: ["kty", "alg", "pub", "crv", "x", "y", "n", "e"]))
        #expect(header["kid"] == nil)
    }

    @Test(
        "Rejects a proof with a wrong header",
        .shows("RFC 9449 §4.3"),
        arguments: [
            ("typ", nil, .typeMismatch), ("typ", "JWT", .typeMismatch), ("typ", "at+jwt", .typeMismatch),
            ("typ", "application/DPoP+JWT", nil), ("jwk", nil, .malformedToken), ("jwk", "key", .malformedToken),
            ("jwk", [:], .malformedKey), ("alg", "none", .unsupportedAlgorithm),
            ("alg", "HS256", .unsupportedAlgorithm), ("alg", "XX999", .unsupportedAlgorithm),
            ("alg", "ES384", .algorithmMismatch), ("jwk", ["kty": "oct", "k": "AAAA"], .publicKeyRequired),
            ("jwk", ["kty": "oct"], .publicKeyRequired), ("crit", ["x"], .malformedToken),
            ("jwk", ["kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"], .malformedKey),
        ] as [(String, JSONValue?, TokenError.Code?)]
    )
    func header(name: String, value: JSONValue?, expected: TokenError.Code?) throws {
        let proof = try Self.proof(header: [name: value])
        #expect(code { try Self.check(proof) } == expected)
    }

    @Test("Rejects a private key, and a key for encryption or for another algorithm", .shows("F3"))
    func keyUse() throws {
        let privateKey = JSONValue.object(try Fixture.signingKey().privateJWK().members)
        #expect(code { try Self.check(Self.proof(header: ["jwk": privateKey])) } == .publicKeyRequired)
        let members = try Fixture.signingKey().verificationKey.jwk.members
        for (name, value, expected) in [
            ("use", "enc", .keyMismatch), ("key_ops", ["sign"], .keyMismatch), ("alg", "ES384", nil),
        ] as [(String, JSONValue, TokenError.Code?)] {
            var jwk = members
            jwk[name] = value
            let found = code { try Self.check(Self.proof(header: ["jwk": .object(jwk)])) }
            if let expected { #expect(found == expected) } else { #expect(found != nil) }
        }
    }

    @Test("Rejects the signature for another key in the header or after any bit flip")
    func signature() throws {
        let other = try SigningKey.generate(.es256).verificationKey.jwk.members
        #expect(code { try Self.check(Self.proof(header: ["jwk": .object(other)])) } == .signatureInvalid)
        let proof = try Self.proof()
        let parts = proof.split(separator: ".").map(String.init)
        for bit in [0, 7, 255, 256, 511] {
            var signature = try Base64URL.decode(parts[2])
            signature[bit / 8] ^= 1 << UInt8(bit % 8)
            let changed = "\(parts[0]).\(parts[1]).\(Base64URL.encode(signature))"
            #expect(code { try Self.check(changed) } == .signatureInvalid)
        }
    }

    @Test("Rejects algorithms that aren't allowed, and symmetric ones even if they are", .shows("F3"))
    func algorithms() throws {
        let proof = try Self.proof()
        #expect(code { try Self.check(proof, by: Self.verifier([.es256])) } == nil)
        #expect(code { try Self.check(proof, by: Self.verifier([.es384])) } == .unsupportedAlgorithm)
        #expect(code { try Self.check(proof, by: Self.verifier([])) } == .unsupportedAlgorithm)
        let symmetric = try Self.proof(header: ["alg": "HS256"])
        #expect(code { try Self.check(symmetric, by: Self.verifier([.hs256])) } == .unsupportedAlgorithm)
    }

    @Test(
        "Rejects a proof with a wrong or missing claim",
        .shows("F1", "RFC 9449 §4.3"),
        arguments: [
            ("jti", nil, .missingClaim), ("htm", nil, .missingClaim), ("htu", nil, .missingClaim),
            ("iat", nil, .missingClaim), ("jti", "", .missingClaim), ("jti", nil as JSONValue?, .missingClaim),
            ("jti", 1, .malformedClaim), ("htm", ["GET"], .malformedClaim), ("htu", 1, .malformedClaim),
            ("iat", "1700000000", .malformedClaim), ("nonce", 1, .malformedClaim), ("ath", [], .malformedClaim),
            ("htm", "get", .methodMismatch), ("htm", "GET ", .methodMismatch), ("htu", "orders", .targetMismatch),
            ("htu", "https://api.example/orders/", .targetMismatch),
            ("htu", "http://api.example/orders", .targetMismatch),
            ("htu", "https://api.example/orders?x", nil), ("htu", "https://user@api.example/orders", .targetMismatch),
            ("exp", 1_600_000_000, .expired), ("nbf", 1_800_000_000, .notYetValid), ("aud", "x", nil),
        ] as [(String, JSONValue?, TokenError.Code?)]
    )
    func claims(name: String, value: JSONValue?, expected: TokenError.Code?) throws {
        let proof = try Self.proof(claims: [name: value])
        #expect(code { try Self.check(proof) } == expected)
    }

    @Test(
        "Accepts iat within the window plus the leeway on both sides",
        .shows("F1", "RFC 9449 §4.3"),
        arguments: [(0.0, nil), (120, nil), (121, .tooOld), (-60, nil), (-61, .issuedInFuture), (1e9, .tooOld)]
            as [(Double, TokenError.Code?)]
    )
    func window(offset: Double, expected: TokenError.Code?) throws {
        let proof = try Self.proof()
        #expect(code { try Self.check(proof, by: Self.verifier(at: offset)) } == expected)
    }

    @Test("Compares a required nonce, and accepts no proof for an empty list of nonces", .shows("K12"))
    func nonces() throws {
        let with = try Self.proof(claims: ["nonce": "a"])
        let without = try Self.proof()
        #expect(code { try Self.check(with) } == nil)
        #expect(code { try Self.check(with, nonce: .oneOf(["b", "a"])) } == nil)
        #expect(code { try Self.check(with, nonce: .oneOf(["b"])) } == .nonceMismatch)
        #expect(code { try Self.check(with, nonce: .oneOf(["A"])) } == .nonceMismatch)
        #expect(code { try Self.check(without, nonce: .oneOf(["a"])) } == .nonceMismatch)
        for proof in [with, without] {
            #expect(code { try Self.check(proof, nonce: .oneOf([])) } == .nonceMismatch)
        }
    }

    @Test("Requires the access token of ath, bound to the proof's key", .shows("F1", "F4", "RFC 9449 §7.1"))
    func accessToken() throws {
        let thumbprint = try Fixture.signingKey().verificationKey.thumbprint
        let token = try DPoPAccessToken(Self.token, thumbprint: thumbprint)
        let proof = try Self.proof(claims: ["ath": "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"])
        #expect(code { try Self.check(proof, accessToken: token) } == nil)
        let other = try DPoPAccessToken("other", thumbprint: thumbprint)
        #expect(code { try Self.check(proof, accessToken: other) } == .accessTokenMismatch)
        let bound = try DPoPAccessToken(Self.token, thumbprint: SigningKey.generate(.es256).verificationKey.thumbprint)
        #expect(code { try Self.check(proof, accessToken: bound) } == .confirmationMismatch)
        #expect(code { try Self.check(Self.proof(), accessToken: token) } == .missingClaim)
        #expect(code { try Self.check(Self.proof(claims: ["ath": ""]), accessToken: token) } == .accessTokenMismatch)
    }

    @Test(
        "Rejects a proof for an access token that isn't bound to a key",
        .shows("F4", "RFC 9449 §6.1"),
        arguments: [
            ("{}", .confirmationMismatch), (#"{"cnf":{}}"#, .confirmationMismatch), (#"{"cnf":null}"#, .malformedClaim),
            (#"{"cnf":"x"}"#, .malformedClaim), (#"{"cnf":{"jkt":1}}"#, .malformedClaim),
            (#"{"cnf":{"jkt":"x"}}"#, nil), (#"{"cnf":{"x5t#S256":"x"}}"#, .confirmationMismatch),
        ] as [(String, TokenError.Code?)]
    )
    func confirmation(claims: String, expected: TokenError.Code?) throws {
        let verified = try Fixture.verifier(ValidationPolicy(expiration: .optional)).verify(
            Fixture.token(payload: claims)
        )
        #expect(code { try DPoPAccessToken("token", verified: verified) } == expected)
    }

    @Test("Accepts a proof once, and the same jti again with another key", .shows("F2", "RFC 9449 §11.1"))
    func replay() async throws {
        let verifier = Self.verifier()
        let proof = try Self.proof()
        try await Self.use(proof, by: verifier)
        #expect(await asyncCode { try await Self.use(proof, by: verifier) } == .replayed)
        // Signs again, which gives other bytes for the same proof.
        #expect(await asyncCode { try await Self.use(Self.proof(), by: verifier) } == .replayed)
        try await Self.use(Self.proof(claims: ["jti": "2"]), by: verifier)
        let other = try SigningKey.generate(.es256)
        let header: JSONObject = [
            "typ": "dpop+jwt", "alg": "ES256", "jwk": .object(other.verificationKey.jwk.members),
        ]
        let claims: JSONObject = ["jti": "1", "htm": "GET", "htu": .string(Self.url), "iat": 1_700_000_000]
        let theirs = try Fixture.token(header: header.serialized(), payload: claims.serialized(), key: other)
        try await Self.use(theirs, by: verifier)
    }

    @Test("Verifies a proof with a single reading of the clock", .shows("F2"))
    func oneReading() async throws {
        let readings = Readings([120, 121, 122])
        let cache = RecordingReplayCache()
        let verifier = Self.verifier(reading: readings, cache)
        let proof = try Self.proof()
        // The first reading is the last time at which the proof is valid. By a second reading, a
        // cache could have forgotten it.
        try await Self.use(proof, by: verifier)
        #expect(readings.count == 1)
        let call = try #require(cache.calls.first)
        #expect(call.now == Self.date + 120)
        #expect(call.thumbprint == (try Fixture.signingKey().verificationKey.thumbprint))
        // The cache remembers a proof for longer than any reading accepts it.
        #expect(call.expiration == Self.date + 180)
    }

    @Test("Accepts a proof once, regardless of when the clock is read", arguments: 0..<200)
    func replayAtTheEdge(seed: Int) async throws {
        var numbers = Fixture.SeededNumbers(state: UInt64(seed))
        let times = (0..<12).map { _ in Double.random(in: 119.9...120.1, using: &numbers) }
        let readings = Readings(times)
        let verifier = Self.verifier(reading: readings)
        let proof = try Self.proof()
        var accepted = 0
        for _ in 0..<6 {
            do {
                try await Self.use(proof, by: verifier)
                accepted += 1
            } catch let error as TokenError { #expect([.replayed, .tooOld].contains(error.code)) }
        }
        #expect(accepted <= 1)
    }

    @Test("Rejects used proofs after the clock is set back, and accepts proofs made later", .shows("F2"))
    func clockSetBack() async throws {
        let readings = Readings([0, 400, 10, 10, 500, 20])
        let verifier = Self.verifier(reading: readings)
        func use(_ name: String, issued: Int) async throws {
            let proof = try Self.proof(claims: ["jti": .string(name), "iat": .number(JSONNumber(Fixture.now + issued))])
            try await Self.use(proof, by: verifier)
        }
        try await use("a", issued: 0)
        try await use("b", issued: 400)
        // Both were used. The cache has forgotten the first, and the clock is back at a time when
        // it's valid.
        await #expect(throws: TokenError(.replayed, "")) { try await use("a", issued: 0) }
        try await use("c", issued: 10)
        try await use("d", issued: 500)
        await #expect(throws: TokenError(.replayed, "")) { try await use("c", issued: 10) }
    }

    @Test("Rejects a key that floods the cache with proofs, and accepts another key", .shows("K11"))
    func flood() async throws {
        let verifier = DPoPVerifier(replayCache: InMemoryReplayCache(capacity: 20), currentDate: { Self.date })
        let flooder = try DPoPProofGenerator(key: .generate(.es256))
        func use(_ generator: DPoPProofGenerator) async throws {
            let proof = try generator.proof(method: "GET", url: Self.url, date: Self.date)
            try await Self.use(proof, by: verifier)
        }
        for _ in 0..<2 { try await use(flooder) }
        for _ in 0..<30 {
            await #expect(throws: TokenError(.replayCacheFull, "")) { try await use(flooder) }
        }
        try await use(DPoPProofGenerator(key: .generate(.es256)))
    }

    @Test("Doesn't remember a rejected proof, and rejects proofs if the cache can't answer")
    func cacheFailures() async throws {
        let proof = try Self.proof()
        let verifier = DPoPVerifier(replayCache: InMemoryReplayCache(capacity: 0), currentDate: { Self.date })
        #expect(await asyncCode { try await Self.use(proof, method: "PUT", by: verifier) } == .methodMismatch)
        #expect(await asyncCode { try await Self.use(proof, by: verifier) } == .replayCacheFull)
    }

    @Test("Rejects malformed proofs, and generates none for invalid requests")
    func malformed() throws {
        for text in ["", ".", "..", "a.b.c", "a.b.c.d.e", "{}", try Self.proof() + "," + Self.proof()] {
            #expect(code { try Self.check(text) } == .malformedToken)
        }
        #expect(code { try Self.check(String(repeating: "a", count: 8_193)) } == .tooLarge)
        #expect(code { try Self.check(Self.proof(), url: "/orders") } == .targetMismatch)
        let generator = try DPoPProofGenerator(key: Fixture.signingKey())
        #expect(code { try generator.proof(method: "", url: Self.url) } == .methodMismatch)
        #expect(code { try generator.proof(method: "GET", url: "/orders") } == .targetMismatch)
        #expect(try generator.proof(method: "GET", url: Self.url) != generator.proof(method: "GET", url: Self.url))
    }
}

/// A clock that returns given times in order, then repeats the last one.
private final class Readings: Sendable {
    private let state: Mutex<(seconds: [Double], count: Int)>

    init(_ seconds: [Double]) { state = Mutex((seconds, 0)) }

    var count: Int { state.withLock { $0.count } }

    func next() -> Double {
        state.withLock { state in
            state.count += 1
            return state.seconds[min(state.count, state.seconds.count) - 1]
        }
    }
}

/// A cache that records its calls and considers every identifier new.
private final class RecordingReplayCache: ReplayCache {
    struct Call {
        let thumbprint: String
        let expiration: Date
        let now: Date
    }

    private let state = Mutex<[Call]>([])

    var calls: [Call] { state.withLock { $0 } }

    func remember(_ identifier: String, signedBy thumbprint: String, until expiration: Date, at now: Date) -> Bool {
        state.withLock { $0.append(Call(thumbprint: thumbprint, expiration: expiration, now: now)) }
        return true
    }
}
