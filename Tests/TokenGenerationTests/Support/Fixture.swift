import Foundation
import OpenSSLCrypto
import TestVectors
import TokenGeneration

/// Keys and handmade tokens for several suites.
enum Fixture {
    /// The time at which these tests verify tokens, in seconds since 1970.
    static let now = 1_700_000_000

    /// The private JWK of RFC 7515 A.3.
    static let privateJWK = {
        let vector = try? Vector.object("rfc7515-a3-es256")
        let json = try? JSONSerialization.data(withJSONObject: vector?["key"] as Any)
        return json.flatMap { try? JWK(parsing: $0) }
    }()

    static func jwk(_ changes: [String: JSONValue?] = [:], isPrivate: Bool = false) throws -> JWK {
        guard let privateJWK else { throw CocoaError(.fileReadCorruptFile) }
        var members = (isPrivate ? privateJWK : privateJWK.publicPart).members
        for (name, value) in changes { members[name] = value }
        return try JWK(members)
    }

    static func signingKey() throws -> SigningKey {
        try SigningKey(jwk: jwk(isPrivate: true))
    }

    /// Returns the key for an algorithm, generated once because some take a while.
    static func key(for algorithm: JWSAlgorithm) throws -> SigningKey {
        guard let jwk = keys[algorithm] else { return try SigningKey.generate(algorithm) }
        return try SigningKey(jwk: JWK(parsing: Data(jwk)), algorithm: algorithm)
    }

    /// The keys as private JWKs in JSON. LeakSanitizer doesn't see what a global of type
    /// `SigningKey` refers to: an enum keeps its case in spare bits of the reference.
    private static let keys: [JWSAlgorithm: [UInt8]] = {
        var keys: [JWSAlgorithm: [UInt8]] = [:]
        for algorithm in JWSAlgorithm.implemented {
            keys[algorithm] = try? [UInt8](SigningKey.generate(algorithm).privateJWK().members.serializedData())
        }
        return keys
    }()

    /// Returns the JWK in a vector.
    static func jwk(vector name: String, member: String = "key") throws -> JWK {
        guard let key = try Vector.object(name)[member] else { throw CocoaError(.fileReadCorruptFile) }
        return try JWK(parsing: JSONSerialization.data(withJSONObject: key))
    }

    /// Signs any JSON, well formed or not.
    static func token(
        header: String = #"{"alg":"ES256"}"#,
        payload: String = #"{"exp":1700000100}"#,
        key: SigningKey? = nil
    ) throws -> String {
        try token(headerBytes: Array(header.utf8), payloadBytes: Array(payload.utf8), key: key)
    }

    static func token(headerBytes: [UInt8], payloadBytes: [UInt8], key: SigningKey? = nil) throws -> String {
        try signed(Base64URL.encode(headerBytes) + "." + Base64URL.encode(payloadBytes), key: key)
    }

    /// Appends a valid signature to any signing input.
    static func signed(_ input: String, key: SigningKey? = nil) throws -> String {
        let key = try key ?? signingKey()
        return try input + "." + Base64URL.encode(key.signature(over: Array(input.utf8)))
    }

    static func verifier(_ policy: ValidationPolicy = ValidationPolicy()) throws -> JWTVerifier {
        var policy = policy
        policy.currentDate = { Date(timeIntervalSince1970: Double(now)) }
        return try JWTVerifier(key: signingKey().verificationKey, policy: policy)
    }

    /// A generator of the same numbers in each run (SplitMix64).
    struct SeededNumbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }
    }
}

extension SigningKey {
    /// Signs bytes.
    func signature(over octets: [UInt8]) throws -> [UInt8] {
        try octets.withBytes { try signature(for: $0) }
    }
}

/// Runs a closure and returns the code of the token error that it throws.
func code(of body: () throws -> some Any) -> TokenError.Code? {
    error(of: body)?.code
}

/// Runs a closure and returns the token error that it throws.
func error(of body: () throws -> some Any) -> TokenError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? TokenError
    }
}

/// Awaits a closure and returns the code of the token error that it throws.
func asyncCode(of body: () async throws -> some Any) async -> TokenError.Code? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? TokenError)?.code
    }
}

extension [UInt8] {
    /// Creates bytes from hexadecimal digits.
    init(hex: String) {
        let digits = Array(hex.utf8)
        self = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
    }
}

extension JWSVerifier {
    /// Verifies the text of a JSON serialization.
    func verify(
        json: JSONObject,
        detachedPayload: Data? = nil,
        requiring policy: JWSSignaturePolicy
    ) throws(TokenError) -> VerifiedJWS {
        try verify(json: json.serialized(), detachedPayload: detachedPayload, requiring: policy)
    }
}

extension JWEDecrypter {
    /// Decrypts the text of a JSON serialization.
    func decrypt(json: JSONObject) throws(TokenError) -> DecryptedJWE { try decrypt(json: json.serialized()) }
}

extension JWSLimits {
    /// Creates limits that differ from the defaults.
    init(
        size: Int = 65_536,
        headerSize: Int = 8_192,
        signatureCount: Int = 100,
        depth: Int = 64,
        memberCount: Int = 1_000
    ) {
        self.init(size: size)
        self.headerSize = headerSize
        self.signatureCount = signatureCount
        self.depth = depth
        self.memberCount = memberCount
    }
}

extension String {
    /// Returns the PEM block, as OpenSSL writes it, of contents in base64 with lines of any length.
    func pem(_ label: String) -> String {
        let digits = Array(split(separator: "\n").joined())
        let lines = stride(from: 0, to: digits.count, by: 64).map { String(digits[$0..<min($0 + 64, digits.count)]) }
        return "-----BEGIN \(label)-----\n\(lines.joined(separator: "\n"))\n-----END \(label)-----\n"
    }
}
