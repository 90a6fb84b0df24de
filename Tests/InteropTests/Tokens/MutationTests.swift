import Foundation
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

    @Test("Agrees with the peers on malleated, DER-encoded, shortened and lengthened signatures")
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
