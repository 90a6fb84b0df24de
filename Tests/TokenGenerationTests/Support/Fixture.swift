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
