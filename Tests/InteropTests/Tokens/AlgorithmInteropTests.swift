import Foundation
import TestSupport
import Testing
import TokenGeneration

/// Exchanges every algorithm and key format with the libraries in
/// `Tests/Interop/algorithm_peer.py`.
@Suite("Interoperability: algorithms", .enabled(if: Interop.isPrepared, Interop.hint))
struct AlgorithmInteropTests {
    private static let claims: JSONObject = [
        "sub": "Ünï 😀", "exp": .number(JSONNumber(Int(Date().timeIntervalSince1970) + 3600)), "list": [1, nil, true],
    ]

    /// The algorithms that the pinned versions don't support: some names of RFC 9864, and ML-DSA,
    /// which only OpenSSL 3.5 and later offer.
    private static let unsupported: [Peer: Set<JWSAlgorithm>] = [
        .pyJWT: [.ed25519, .ed448, .mldsa44, .mldsa65, .mldsa87], .joserfc: [.mldsa44, .mldsa65, .mldsa87],
        .jwcrypto: [],
    ]

    /// The algorithms that each library supports.
    static var cases: [(Peer, JWSAlgorithm)] {
        Peer.libraries.flatMap { peer in
            JWSAlgorithm.implemented.filter { !(unsupported[peer]?.contains($0) ?? true) }.map { (peer, $0) }
        }
    }

    @Test("The libraries support exactly the tested algorithms", arguments: Peer.libraries)
    func supported(peer: Peer) async throws {
        let answers = try await ask(
            peer,
            JWSAlgorithm.implemented.map { ["do": "supports", "alg": .string($0.rawValue)] }
        )
        let missing = zip(JWSAlgorithm.implemented, answers).filter { $1["supported"] == false }.map(\.0)
        #expect(Set(missing) == Self.unsupported[peer]?.intersection(JWSAlgorithm.implemented))
    }

    @Test("Exchanges tokens and keys in both directions", .shows("J1", "RFC 8812"), arguments: cases)
    func ours(peer: Peer, algorithm: JWSAlgorithm) async throws {
        let key = try SigningKey.generate(algorithm)
        let token = try JWTGenerator(payload: Self.claims, signingService: key).token()
        var requests: [JSONObject] = []
        for form in try publicForms(of: key) {
            requests.append(["do": "check", "alg": .string(algorithm.rawValue), "token": .string(token), "key": form])
        }
        for answer in try await ask(peer, requests) {
            #expect(answer["accepted"] == true, "\(answer["reason"]?.string ?? "")")
            #expect(answer["claims"]?.object == Self.claims)
        }
        let made = try await ask(
            peer,
            privateForms(of: key).map {
                ["do": "make", "alg": .string(algorithm.rawValue), "key": $0, "claims": .object(Self.claims)]
            }
        )
        for answer in made {
            let text = try #require(answer["token"]?.string)
            #expect(try JWTVerifier(key: key.verificationKey).verify(text).claims == Self.claims)
        }
    }

    @Test(
        "Reads every key format of the peer, signs with it and verifies the peer's signatures",
        arguments: cases
    )
    func theirs(peer: Peer, algorithm: JWSAlgorithm) async throws {
        let name = JSONValue.string(algorithm.rawValue)
        let forms = try #require(await ask(peer, [["do": "forms", "alg": name]]).first)
        let privateForms = try #require(forms["private"]?.object)
        let publicForms = try #require(forms["public"]?.object)
        let keys = try privateForms.map { try signingKey($0.value, algorithm) }
        let publicKeys = try publicForms.map { try verificationKey($0.value, algorithm) }
        #expect(keys.count == (algorithm.isSymmetric ? 1 : algorithm.hasTraditionalFormat ? 7 : 5))
        #expect(Set(keys.map(\.verificationKey.thumbprint) + publicKeys.map(\.thumbprint)).count == 1)

        let publicForm = try #require(publicForms["jwk"])
        let tokens = try keys.map {
            try JWTGenerator(payload: Self.claims, signingService: $0).token()
        }
        let verdicts = try await ask(
            peer,
            tokens.map { ["do": "check", "alg": name, "token": .string($0), "key": publicForm] }
        )
        for verdict in verdicts { #expect(verdict["accepted"] == true, "\(verdict["reason"]?.string ?? "")") }
        let signed = try await ask(
            peer,
            [["do": "make", "alg": name, "key": #require(privateForms["jwk"]), "claims": .object(Self.claims)]]
        )
        let token = try #require(signed.first?["token"]?.string)
        for key in publicKeys { #expect(try JWTVerifier(key: key).verify(token).claims == Self.claims) }
    }

    private func publicForms(of key: SigningKey) throws -> [JSONValue] {
        guard !key.algorithm.isSymmetric else { return [.jwk(try key.privateJWK())] }
        let publicKey = key.verificationKey
        var forms: [JSONValue] = [.jwk(publicKey.jwk), .pem(try publicKey.pem()), .der(try publicKey.der())]
        if publicKey.jwk.keyType == "RSA" {
            forms += [.pem(try publicKey.pem(.traditional)), .der(try publicKey.der(.traditional))]
        }
        return forms
    }

    private func privateForms(of key: SigningKey) throws -> [JSONValue] {
        guard !key.algorithm.isSymmetric else { return [.jwk(try key.privateJWK())] }
        let encrypted = PrivateKeyFormat.encryptedPKCS8(password: "correct horse")
        var forms: [JSONValue] = [
            .jwk(try key.privateJWK()), .pem(try key.pem()), .der(try key.der()), .pem(try key.pem(encrypted)),
            .der(try key.der(encrypted)),
        ]
        if key.algorithm.hasTraditionalFormat {
            forms += [.pem(try key.pem(.traditional)), .der(try key.der(.traditional))]
        }
        return forms
    }

    private func signingKey(_ form: JSONValue, _ algorithm: JWSAlgorithm) throws -> SigningKey {
        let form = try #require(form.object)
        if let jwk = form["jwk"]?.object { return try SigningKey(jwk: JWK(jwk), algorithm: algorithm) }
        if let pem = form["pem"]?.string {
            return try SigningKey(pem: pem, password: "correct horse", algorithm: algorithm)
        }
        let der = try #require(form["der"]?.string.flatMap { Data(base64Encoded: $0) })
        return try SigningKey(der: der, password: "correct horse", algorithm: algorithm)
    }

    private func verificationKey(_ form: JSONValue, _ algorithm: JWSAlgorithm) throws -> VerificationKey {
        let form = try #require(form.object)
        if let jwk = form["jwk"]?.object { return try VerificationKey(jwk: JWK(jwk), algorithm: algorithm) }
        if let pem = form["pem"]?.string { return try VerificationKey(pem: pem, algorithm: algorithm) }
        let der = try #require(form["der"]?.string.flatMap { Data(base64Encoded: $0) })
        return try VerificationKey(der: der, algorithm: algorithm)
    }

    private func ask(_ peer: Peer, _ requests: [JSONObject]) async throws -> [JSONObject] {
        let process = try await ChildProcess.run(
            Interop.required("INTEROP_PYTHON"),
            [Interop.file("algorithm_peer.py"), peer.rawValue],
            input: requests.map { $0.serialized() + "\n" }.joined()
        )
        try #require(process.status == 0, "\(peer) failed: \(process.errors.suffix(2000))")
        let answers = try process.output.split(separator: "\n").map { try JSONObject(parsing: String($0)) }
        try #require(answers.count == requests.count)
        return answers
    }
}

extension JWSAlgorithm {
    /// A Boolean value that indicates whether keys have a format that is older than PKCS #8.
    var hasTraditionalFormat: Bool {
        !isSymmetric && !rawValue.hasPrefix("Ed") && !rawValue.hasPrefix("ML-DSA")
    }
}

extension JSONValue {
    /// Returns a key in a peer's format.
    fileprivate static func der(_ octets: Data) -> JSONValue { ["der": .string(octets.base64EncodedString())] }
}

@Suite("Interoperability: P-256 keys", .enabled(if: Interop.isPrepared, Interop.hint))
struct KeyInteropTests {
    private static let password = "correct horse"
    private static let claims: JSONObject = [
        "sub": "user", "exp": .number(JSONNumber(Int(Date().timeIntervalSince1970) + 3600)),
    ]

    @Test("Reads the peer's private key formats and signs tokens that it verifies", arguments: Peer.allCases)
    func theirPrivateKeys(peer: Peer) async throws {
        let made = try await peer.generate()
        let spki = try #require(made["spki"]?.string)
        var keys = [
            try SigningKey(pem: try #require(made["pkcs8"]?.string)),
            try SigningKey(pem: try #require(made["sec1"]?.string)),
            try SigningKey(pem: try #require(made["encryptedPKCS8"]?.string), password: Self.password),
        ]
        if let jwk = made["privateJWK"]?.object { keys.append(try SigningKey(jwk: JWK(jwk))) }
        #expect(keys.count == (peer == .openSSL ? 3 : 4))
        let tokens = try keys.map { key in
            try JWTGenerator(payload: Self.claims, signingService: ES256SigningService(key: key)).token()
        }
        let verdicts = try await peer.check(tokens, key: .pem(spki))
        #expect(verdicts.map(\.isAccepted) == keys.map { _ in true })
        for key in keys {
            #expect(try Self.lines(key.verificationKey.pem()) == Self.lines(spki))
        }
    }

    @Test("Reads the peer's public key formats and verifies its token", arguments: Peer.allCases)
    func theirPublicKeys(peer: Peer) async throws {
        let made = try await peer.generate()
        let token = try await peer.make(
            key: .pem(try #require(made["pkcs8"]?.string)),
            header: [:],
            claims: Self.claims
        )
        let publicJWK = try JWK(try #require(made["publicJWK"]?.object))
        for key in [try VerificationKey(pem: try #require(made["spki"]?.string)), try VerificationKey(jwk: publicJWK)] {
            #expect(try JWTVerifier(key: key).verify(token).claims == Self.claims)
            if let thumbprint = made["thumbprint"]?.string { #expect(key.thumbprint == thumbprint) }
        }
    }

    @Test("Throws an error for a wrong or missing password of the peer's encrypted key", arguments: Peer.allCases)
    func wrongPassword(peer: Peer) async throws {
        let pem = try #require(try await peer.generate()["encryptedPKCS8"]?.string)
        #expect(throws: TokenError(.incorrectPassword, "")) { try SigningKey(pem: pem, password: "wrong horse") }
        #expect(throws: TokenError(.passwordRequired, "")) { try SigningKey(pem: pem) }
    }

    @Test("Writes private keys with which the peer signs tokens", arguments: Peer.allCases)
    func ourPrivateKeys(peer: Peer) async throws {
        let key = try SigningKey.generate(.es256)
        var forms: [JSONValue] = [.pem(try key.pem())]
        if peer != .openSSL { forms.append(.jwk(try key.privateJWK())) }
        for form in forms {
            let token = try await peer.make(key: form, header: [:], claims: Self.claims)
            #expect(try JWTVerifier(key: key.verificationKey).verify(token).claims == Self.claims)
        }
    }

    @Test("Writes public keys that the peer reads", arguments: Peer.allCases)
    func ourPublicKeys(peer: Peer) async throws {
        let key = try SigningKey.generate(.es256).verificationKey
        var forms: [JSONValue] = [.pem(try key.pem())]
        if peer != .openSSL { forms.append(.jwk(key.jwk)) }
        for form in forms {
            let theirs = try await peer.describe(form)
            #expect(try Self.lines(#require(theirs["spki"]?.string)) == Self.lines(key.pem()))
            for name in ["kty", "crv", "x", "y"] {
                #expect(theirs["publicJWK"]?.object?[name] == key.jwk.members[name])
            }
            if let thumbprint = theirs["thumbprint"]?.string { #expect(thumbprint == key.thumbprint) }
        }
    }

    private static func lines(_ pem: String) -> [Substring] { pem.split(whereSeparator: \.isNewline) }
}

@Suite("Interoperability: ES256 tokens", .enabled(if: Interop.isPrepared, Interop.hint))
struct TokenInteropTests {
    private static let claims: JSONObject = [
        "iss": "https://issuer.example", "sub": "Ünï “quoted” \\ 😀", "aud": ["one", "two"],
        "exp": .number(JSONNumber(Int(Date().timeIntervalSince1970) + 3600)),
        "nested": ["list": [1, 2.5, nil, true], "path": "a/b"],
    ]

    @Test("The peer verifies a token of the library, with the same header and claims", arguments: Peer.allCases)
    func ours(peer: Peer) async throws {
        let service = try ES256SigningService.generate(keyID: "key-1")
        let token = try JWTGenerator(header: ["cty": "text"], payload: Self.claims, signingService: service).token()
        let verdict = try await peer.check(token, key: .pem(service.verificationKey.pem()))
        #expect(verdict.isAccepted, "\(verdict.reason)")
        #expect(verdict.header == ["alg": "ES256", "cty": "text", "kid": "key-1", "typ": "JWT"])
        #expect(verdict.claims == Self.claims)
    }

    @Test("The peer verifies a token created from dictionaries", arguments: Peer.allCases)
    func ourDictionaries(peer: Peer) async throws {
        let service = try ES256SigningService.generate()
        let content = JWTRepresentation(
            header: ["typ": "JWT"],
            payload: ["sub": "user", "admin": true, "exp": Date().timeIntervalSince1970.rounded() + 3600]
        )
        let token = try JWTGenerator(jwtRepresentation: content, signingService: service).token()
        let verdict = try await peer.check(token, key: .pem(service.verificationKey.pem()))
        #expect(verdict.isAccepted, "\(verdict.reason)")
        #expect(verdict.claims?["admin"] == true)
    }

    @Test("The library verifies a token of the peer, with the same header and claims", arguments: Peer.allCases)
    func theirs(peer: Peer) async throws {
        let key = try SigningKey.generate(.es256)
        let token = try await peer.make(
            key: .pem(try key.pem()),
            header: ["kid": "key-2", "typ": "JWT"],
            claims: Self.claims
        )
        let policy = ValidationPolicy(issuer: "https://issuer.example", audience: "two", type: "JWT")
        let verified = try JWTVerifier(key: key.verificationKey, policy: policy).verify(token)
        #expect(verified.header == ["alg": "ES256", "kid": "key-2", "typ": "JWT"])
        #expect(verified.claims == Self.claims)
    }

    @Test("Both sides reject a token signed with another key", arguments: Peer.allCases)
    func anotherKey(peer: Peer) async throws {
        let key = try SigningKey.generate(.es256)
        let other = try SigningKey.generate(.es256)
        let theirs = try await peer.make(key: .pem(try other.pem()), header: [:], claims: Self.claims)
        #expect(throws: TokenError(.signatureInvalid, "")) {
            try JWTVerifier(key: key.verificationKey).verify(theirs)
        }
        let ours = try JWTGenerator(payload: Self.claims, signingService: ES256SigningService(key: other)).token()
        #expect(try await !peer.check(ours, key: .pem(key.verificationKey.pem())).isAccepted)
    }

    @Test("Both sides reject an expired token", arguments: Peer.libraries)
    func expired(peer: Peer) async throws {
        let service = try ES256SigningService.generate()
        let claims: JSONObject = ["exp": .number(JSONNumber(Int(Date().timeIntervalSince1970) - 3600))]
        let token = try JWTGenerator(payload: claims, signingService: service).token()
        #expect(throws: TokenError(.expired, "")) {
            try JWTVerifier(key: service.verificationKey).verify(token)
        }
        #expect(try await !peer.check(token, key: .pem(service.verificationKey.pem())).isAccepted)
    }

    @Test(
        "The peer verifies 200 signatures, including some with leading zeros",
        arguments: Peer.libraries
    )
    func manySignatures(peer: Peer) async throws {
        let service = try ES256SigningService.generate()
        let generator = JWTGenerator(payload: Self.claims, signingService: service)
        let tokens = try (0..<200).map { _ in try generator.token() }
        let verdicts = try await peer.check(tokens, key: .jwk(service.verificationKey.jwk))
        #expect(verdicts.allSatisfy { $0.isAccepted })
    }
}
