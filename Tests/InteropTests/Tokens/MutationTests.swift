import Foundation
import TestSupport
import Testing
import TokenGeneration

/// A change to a valid token, with the resulting token.
struct Mutation: Sendable {
    let name: String
    let token: String
}

@Suite("Interoperability: changed tokens", .enabled(if: Interop.isPrepared, Interop.hint))
struct MutationTests {
    private let service: ES256SigningService
    private let token: String

    init() throws {
        service = try ES256SigningService.generate()
        let claims: JSONObject = [
            "sub": "user", "exp": .number(JSONNumber(Int(Date().timeIntervalSince1970) + 3600)),
        ]
        token = try JWTGenerator(payload: claims, signingService: service).token()
    }

    @Test("Rejects each changed character; peers accept it only if the decoded bytes are the same")
    func characters() async throws {
        let mutations = Self.characterMutations(of: token)
        let verifier = JWTVerifier(key: service.verificationKey)
        let accepted = mutations.filter { (try? verifier.verify($0.token)) != nil }
        #expect(accepted.map(\.name) == [])

        let octets = Self.octets(of: token)
        for peer in Peer.allCases {
            // Use a sample, because openssl needs a process for each token.
            let sample =
                peer == .openSSL ? mutations.enumerated().filter { $0.offset % 20 == 0 }.map(\.element) : mutations
            let verdicts = try await peer.check(sample.map(\.token), key: .pem(service.verificationKey.pem()))
            for (mutation, verdict) in zip(sample, verdicts) where verdict.isAccepted {
                #expect(Self.octets(of: mutation.token) == octets, "\(peer.rawValue) accepts: \(mutation.name)")
            }
        }
    }

    @Test("Agrees with the peers on malleated, DER-encoded, shortened and lengthened signatures", .shows("C2"))
    func signatures() async throws {
        let parts = token.split(separator: ".")
        let input = parts[0] + "." + parts[1]
        let raw = [UInt8](try #require(SignedText.octets(parts[2])))
        let (r, s) = (Array(raw.prefix(32)), Array(raw.suffix(32)))
        let zero = [UInt8](repeating: 0, count: 32)
        let signatures: [(String, [UInt8], isGood: Bool)] = [
            ("n − s, also valid", r + Self.negated(s), true),
            ("empty", [], false), ("r only", r, false), ("both zero", zero + zero, false), ("r zero", zero + s, false),
            ("s zero", r + zero, false), ("swapped", s + r, false), ("a zero byte before", [0] + raw, false),
            ("a zero byte after", raw + [0], false), ("a zero byte before each", [0] + r + [0] + s, false),
            ("both equal to the order", Self.order + Self.order, false), ("all ones", zero.map { _ in 255 } + s, false),
            ("DER", [0x30, 68, 2, 32] + r + [2, 32] + s, false),
        ]
        let mutations = signatures.map { signature in
            Mutation(name: signature.0, token: "\(input).\(SignedText.base64URL(Data(signature.1)))")
        }
        let verifier = JWTVerifier(key: service.verificationKey)
        for (signature, mutation) in zip(signatures, mutations) {
            if signature.isGood {
                #expect(throws: Never.self, "\(mutation.name)") { try verifier.verify(mutation.token) }
            } else {
                #expect(throws: TokenError(.signatureInvalid, ""), "\(mutation.name)") {
                    try verifier.verify(mutation.token)
                }
            }
        }
        for peer in Peer.allCases {
            let verdicts = try await peer.check(mutations.map(\.token), key: .pem(service.verificationKey.pem()))
            for (index, verdict) in verdicts.enumerated() {
                // jwcrypto accepts r and s of any length.
                let isLax = peer == .jwcrypto && signatures[index].0 == "a zero byte before each"
                #expect(
                    verdict.isAccepted == (signatures[index].isGood || isLax),
                    "\(peer.rawValue): \(signatures[index].0)"
                )
            }
        }
    }

    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6, 0xFA, 0xAD,
        0xA7,
        0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]

    /// Returns the group's order minus a smaller number.
    private static func negated(_ number: [UInt8]) -> [UInt8] {
        var difference = order
        var borrow = 0
        for index in order.indices.reversed() {
            let digit = Int(order[index]) - Int(number[index]) - borrow
            difference[index] = UInt8(digit & 0xFF)
            borrow = digit < 0 ? 1 : 0
        }
        return difference
    }

    private static func octets(of token: String) -> [Data?] {
        token.split(separator: ".", omittingEmptySubsequences: false).map { SignedText.octets($0) }
    }

    private static func characterMutations(of token: String) -> [Mutation] {
        let characters = Array(token)
        var mutations: [Mutation] = []
        for index in characters.indices {
            let character = characters[index]
            for other in ["A", "B", "=", ".", " "] where other != String(character) {
                let changed = characters[..<index] + Array(other) + characters[(index + 1)...]
                mutations.append(Mutation(name: "\(index): \(character) → \(other)", token: String(changed)))
            }
            if let next = Self.neighbor(of: character) {
                let changed = characters[..<index] + [next] + characters[(index + 1)...]
                mutations.append(Mutation(name: "\(index): \(character) → \(next)", token: String(changed)))
            }
            let removed = characters[..<index] + characters[(index + 1)...]
            mutations.append(Mutation(name: "\(index): \(character) removed", token: String(removed)))
            let doubled = characters[...index] + characters[index...]
            mutations.append(Mutation(name: "\(index): \(character) doubled", token: String(doubled)))
        }
        for addition in ["=", "==", ".", " ", "\n", "A", "AAAA"] {
            mutations.append(Mutation(name: "\(addition.debugDescription) after", token: token + addition))
            mutations.append(Mutation(name: "\(addition.debugDescription) before", token: addition + token))
        }
        return mutations
    }

    /// Returns the character that differs only in the lowest bit, which decoders may ignore at a
    /// segment's end.
    private static func neighbor(of character: Character) -> Character? {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        return alphabet.firstIndex(of: character).map { alphabet[$0 ^ 1] }
    }
}

/// A header and a payload that are signed unchanged, with the expected result.
struct SignedCase: Sendable, CustomTestStringConvertible {
    let name: String
    let header: String
    let payload: String
    /// The expected error, or `nil` if the token is valid.
    let error: TokenError.Code?

    var testDescription: String { name }

    init(_ name: String, header: String = #"{"alg":"ES256"}"#, payload: String = good, error: TokenError.Code?) {
        self.name = name
        self.header = header
        self.payload = payload
        self.error = error
    }

    private static let good = #"{"sub":"user","exp":4102444800}"#

    static let all: [SignedCase] = [
        SignedCase("as usual", error: nil),
        SignedCase("white space in JSON", header: "{ \"alg\" :\n\"ES256\" }\t", error: nil),
        SignedCase("an escaped name", header: #"{"\u0061lg":"ES256"}"#, error: nil),
        SignedCase("a time with a fraction", payload: #"{"exp":4102444800.5}"#, error: nil),
        SignedCase("a time with an exponent", payload: #"{"exp":4.1024448e9}"#, error: nil),
        SignedCase("other languages", payload: #"{"exp":4102444800,"имя":"名前 😀 \ud83d\ude00"}"#, error: nil),
        SignedCase("an unknown header member", header: #"{"alg":"ES256","x":[1,{"y":null}]}"#, error: nil),
        SignedCase("alg none", header: #"{"alg":"none"}"#, error: .algorithmMismatch),
        SignedCase("alg in lower case", header: #"{"alg":"es256"}"#, error: .algorithmMismatch),
        SignedCase("alg of another curve", header: #"{"alg":"ES384"}"#, error: .algorithmMismatch),
        SignedCase("alg HS256", header: #"{"alg":"HS256"}"#, error: .algorithmMismatch),
        SignedCase("no alg", header: #"{"typ":"JWT"}"#, error: .malformedToken),
        SignedCase("alg not a string", header: #"{"alg":["ES256"]}"#, error: .malformedToken),
        SignedCase("alg twice", header: #"{"alg":"none","alg":"ES256"}"#, error: .malformedToken),
        SignedCase("kid not a string", header: #"{"alg":"ES256","kid":1}"#, error: .malformedToken),
        SignedCase("crit unknown", header: #"{"alg":"ES256","crit":["x"],"x":1}"#, error: .criticalHeaderUnsupported),
        SignedCase("crit empty", header: #"{"alg":"ES256","crit":[]}"#, error: .malformedToken),
        SignedCase("crit names alg", header: #"{"alg":"ES256","crit":["alg"]}"#, error: .malformedToken),
        SignedCase("header an array", header: #"["ES256"]"#, error: .malformedToken),
        SignedCase("header empty", header: "", error: .malformedToken),
        SignedCase("header with a byte order mark", header: "\u{FEFF}{\"alg\":\"ES256\"}", error: .malformedToken),
        SignedCase("header followed by more", header: #"{"alg":"ES256"}x"#, error: .malformedToken),
        SignedCase("payload an array", payload: "[1]", error: .malformedToken),
        SignedCase("payload empty", payload: "", error: .malformedToken),
        SignedCase("payload no JSON", payload: "{'sub':'user'}", error: .malformedToken),
        SignedCase("claim twice", payload: #"{"exp":4102444800,"sub":"a","sub":"b"}"#, error: .malformedToken),
        SignedCase("half a surrogate pair", payload: #"{"exp":4102444800,"a":"\ud83d"}"#, error: .malformedToken),
        SignedCase("NaN", payload: #"{"exp":NaN}"#, error: .malformedToken),
        SignedCase("a leading zero", payload: #"{"exp":04102444800}"#, error: .malformedToken),
        SignedCase("exp a string", payload: #"{"exp":"4102444800"}"#, error: .malformedClaim),
        SignedCase("exp true", payload: #"{"exp":true}"#, error: .malformedClaim),
        SignedCase("exp beyond numbers", payload: #"{"exp":1e999}"#, error: .malformedClaim),
        SignedCase("aud a number", payload: #"{"exp":4102444800,"aud":1}"#, error: .malformedClaim),
        SignedCase("sub a number", payload: #"{"exp":4102444800,"sub":1}"#, error: .malformedClaim),
        SignedCase("no exp", payload: #"{"sub":"user"}"#, error: .missingClaim),
        SignedCase("expired", payload: #"{"exp":1000000000}"#, error: .expired),
        SignedCase("not yet valid", payload: #"{"exp":4102444800,"nbf":4102444700}"#, error: .notYetValid),
        SignedCase("issued in the future", payload: #"{"exp":4102444800,"iat":4102444700}"#, error: .issuedInFuture),
    ]
}

@Suite("Interoperability: unusual tokens with a valid signature", .enabled(if: Interop.isPrepared, Interop.hint))
struct StrictnessTests {
    @Test("Accepts each unusual token, or rejects it with its code", arguments: SignedCase.all)
    func here(signed: SignedCase) throws {
        let service = try ES256SigningService.generate()
        let token = try SignedText.token(header: signed.header, payload: signed.payload, service: service)
        let verifier = JWTVerifier(key: service.verificationKey)
        if let error = signed.error {
            #expect(throws: TokenError(error, "")) { try verifier.verify(token) }
        } else {
            #expect(throws: Never.self) { try verifier.verify(token) }
        }
    }

    @Test("The peer accepts every token that the library accepts, with the same claims", arguments: Peer.allCases)
    func there(peer: Peer) async throws {
        let service = try ES256SigningService.generate()
        let verifier = JWTVerifier(key: service.verificationKey)
        var names: [String] = []
        var accepted: [(token: String, claims: JSONObject)] = []
        for signed in SignedCase.all {
            let token = try SignedText.token(header: signed.header, payload: signed.payload, service: service)
            guard let verified = try? verifier.verify(token) else { continue }
            names.append(signed.name)
            accepted.append((token, verified.claims))
        }
        #expect(names == SignedCase.all.filter { $0.error == nil }.map(\.name))
        let verdicts = try await peer.check(accepted.map(\.token), key: .pem(service.verificationKey.pem()))
        for (index, verdict) in verdicts.enumerated() {
            #expect(verdict.isAccepted, "\(names[index]): \(verdict.reason)")
            #expect(verdict.claims.map(Self.comparable) == Self.comparable(accepted[index].claims), "\(names[index])")
        }
    }

    /// Returns claims with `exp` as a number, which the peers print in another notation.
    private static func comparable(_ claims: JSONObject) -> [String: String] {
        var members: [String: String] = [:]
        for member in claims {
            members[member.name] = member.value.number?.double.map { "\($0)" } ?? "\(member.value)"
        }
        return members
    }
}

/// Exchanges encrypted tokens of every algorithm with the libraries in `Tests/Interop/jwe_peer.py`.
@Suite("Interoperability: encryption", .enabled(if: Interop.isPrepared, Interop.hint))
struct EncryptionInteropTests {
    private static let content = "Ünï 😀"
    private static let password = "correct horse"

    /// The algorithms that the pinned versions don't support.
    private static let unsupported: Set<JWEAlgorithm> = [.rsaOAEP384, .rsaOAEP512]

    private static var cases: [(Peer, JWEAlgorithm)] {
        [Peer.joserfc, .jwcrypto].flatMap { peer in
            JWEAlgorithm.implemented.filter { !unsupported.contains($0) }.map { (peer, $0) }
        }
    }

    @Test("Exchanges tokens in both directions, with every content encryption and curve", arguments: cases)
    func exchange(peer: Peer, algorithm: JWEAlgorithm) async throws {
        var keys: [(DecryptionKey, JWEEncryption)] = []
        var requests: [JSONObject] = []
        for encryption in JWEEncryption.implemented {
            for key in try self.keys(algorithm, encryption) {
                let recipient = try encryptionKey(key)
                let generator = JWEGenerator(
                    plaintext: Data(Self.content.utf8),
                    encryption: encryption,
                    additionalData: Data("additional".utf8),
                    recipients: [JWERecipient(key: recipient)]
                )
                let request: JSONObject = [
                    "alg": .string(algorithm.rawValue), "enc": .string(encryption.rawValue), "key": try form(of: key),
                ]
                var decryptions = [request, request]
                let compact = try recipient.encrypt(Data(Self.content.utf8), encryption: encryption)
                decryptions[0]["token"] = .string(compact)
                decryptions[1]["token"] = .object(try generator.generalJSON())
                for index in decryptions.indices { decryptions[index]["do"] = "decrypt" }
                var encryptionRequest = request
                encryptionRequest["do"] = "encrypt"
                encryptionRequest["content"] = .string(Self.content)
                requests += decryptions + [encryptionRequest]
                keys.append((key, encryption))
            }
        }
        let answers = try await ask(peer, requests)
        for (index, (key, encryption)) in keys.enumerated() {
            #expect(answers[3 * index]["content"]?.string == Self.content)
            #expect(answers[3 * index + 1]["content"]?.string == Self.content)
            let token = try #require(answers[3 * index + 2]["token"]?.string)
            let policy = DecryptionPolicy(
                algorithms: [algorithm],
                encryptions: [encryption],
                maximumPasswordIterations: 1_200_000
            )
            let jwe = try JWEDecrypter(key: key, policy: policy).decrypt(compact: token)
            #expect(jwe.plaintext == Data(Self.content.utf8))
        }
    }

    private func keys(_ algorithm: JWEAlgorithm, _ encryption: JWEEncryption) throws -> [DecryptionKey] {
        if algorithm.rawValue.hasPrefix("PBES2") {
            return [try DecryptionKey(password: EncryptionPassword(Self.password), algorithm: algorithm)]
        }
        let curves: [KeyAgreementCurve] =
            algorithm.rawValue.hasPrefix("ECDH") ? [.p256, .p384, .p521, .x25519, .x448] : [.p256]
        return try curves.map { try DecryptionKey.generate(algorithm, on: $0, encryption: encryption) }
    }

    private func encryptionKey(_ key: DecryptionKey) throws -> EncryptionKey {
        guard key.algorithm.rawValue.hasPrefix("PBES2") else { return key.encryptionKey }
        // The peers reject the recommended number of iterations.
        return try EncryptionKey(
            password: EncryptionPassword(Self.password),
            algorithm: key.algorithm,
            iterations: 2_048
        )
    }

    private func form(of key: DecryptionKey) throws -> JSONValue {
        if key.algorithm.rawValue.hasPrefix("PBES2") { return ["password": .string(Self.password)] }
        return ["jwk": .object(try key.privateJWK().members)]
    }

    private func ask(_ peer: Peer, _ requests: [JSONObject]) async throws -> [JSONObject] {
        let process = try await ChildProcess.run(
            Interop.required("INTEROP_PYTHON"),
            [Interop.file("jwe_peer.py"), peer.rawValue],
            input: requests.map { $0.serialized() + "\n" }.joined()
        )
        try #require(process.status == 0, "\(peer) failed: \(process.errors.suffix(2000))")
        let answers = try process.output.split(separator: "\n").map { try JSONObject(parsing: String($0)) }
        try #require(answers.count == requests.count)
        return answers
    }
}
