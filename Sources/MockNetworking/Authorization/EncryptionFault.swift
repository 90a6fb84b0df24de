import Foundation
import TokenGeneration

extension MockAuthorizationServer {
    /// A fault in the encryption of an ID token, a UserInfo response, an authorization response or
    /// an introspection response, which a client must reject.
    ///
    /// ```swift
    /// authorization.misbehave(.encryption(.wrongKey))
    /// ```
    @nonexhaustive
    public enum EncryptionFault: Sendable, Hashable {
        /// A token that's signed only, although the client registered encryption.
        case unencrypted
        /// An encrypted token, although the client didn't register encryption.
        case unexpected
        /// Encryption for another key with the same ID.
        case wrongKey
        /// Another `alg` than the registered one.
        case wrongAlgorithm
        /// Another `enc` than the registered one.
        case wrongEncryption
        /// Claims that are encrypted but not signed.
        case unsigned
        /// A `cty` other than `JWT`.
        case wrongContentType
        /// An encrypted token inside another one.
        case nestedTwice
        /// A token of 300,000 bytes or more.
        case oversized
        /// A token whose authentication tag was changed.
        case altered
    }
}

extension MockAuthorizationServer.EncryptionFault {
    /// Returns a signed token with the fault; the recipient is `nil` if the client registered no
    /// encryption.
    func token(of token: String, for recipient: MessageRecipient?) throws -> String {
        let recipient = try recipient ?? .stranger()
        switch self {
        case .unencrypted: return token
        case .unexpected: return try recipient.nested(token)
        case .wrongKey: return try recipient.withOtherKey(for: recipient.key.algorithm).nested(token)
        case .wrongAlgorithm:
            let other: JWEAlgorithm = recipient.key.algorithm == .ecdhESA256KW ? .a256KW : .ecdhESA256KW
            return try recipient.withOtherKey(for: other).nested(token)
        case .wrongEncryption:
            var other = recipient
            other.encryption = recipient.encryption == .a256GCM ? .a128GCM : .a256GCM
            // A key for `dir` is for one encryption.
            if other.key.encryption != nil { other = try other.withOtherKey(for: .dir) }
            return try other.nested(token)
        case .unsigned: return try recipient.encrypted(UnverifiedToken(token).unverifiedClaims.serialized(), [:])
        case .wrongContentType: return try recipient.encrypted(token, ["cty": "example"])
        case .nestedTwice: return try recipient.nested(recipient.nested(token))
        case .oversized: return try recipient.nested(token + String(repeating: "A", count: 300_000))
        case .altered:
            let text = try recipient.nested(token)
            let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            let tag = parts[4].first == "A" ? "B" : "A"
            return parts.dropLast().joined(separator: ".") + "." + tag + parts[4].dropFirst()
        }
    }
}
