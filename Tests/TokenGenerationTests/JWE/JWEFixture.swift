import Foundation
import OpenSSLCrypto
import TokenGeneration

/// Keys, policies and altered tokens for the suites about encryption.
enum JWEFixture {
    static var plaintext: Data { Data("You can trust us to stick with you through thick and thin".utf8) }

    /// A policy that allows everything.
    static var anyPolicy: DecryptionPolicy {
        DecryptionPolicy(
            algorithms: Set(JWEAlgorithm.implemented),
            encryptions: Set(JWEEncryption.implemented),
            maximumPasswordIterations: 10_000
        )
    }

    /// Returns a key for an algorithm, from the same JWK each time because RSA keys take a while.
    static func key(
        _ algorithm: JWEAlgorithm,
        on curve: KeyAgreementCurve = .p256,
        encryption: JWEEncryption = .a256GCM
    ) throws -> DecryptionKey {
        if algorithm.rawValue.hasPrefix("RSA") {
            return try DecryptionKey(jwk: JWK(parsing: Data(rsaJWK)), algorithm: algorithm)
        }
        if algorithm.rawValue.hasPrefix("PBES2") {
            return try DecryptionKey(password: EncryptionPassword("correct horse"), algorithm: algorithm)
        }
        return try DecryptionKey.generate(algorithm, on: curve, encryption: encryption)
    }

    /// Returns the key that encrypts for a key, with few iterations for passwords.
    static func encryptionKey(_ key: DecryptionKey) throws -> EncryptionKey {
        guard key.algorithm.rawValue.hasPrefix("PBES2") else { return key.encryptionKey }
        return try EncryptionKey(
            password: EncryptionPassword("correct horse"),
            algorithm: key.algorithm,
            iterations: 1_000
        )
    }

    /// Returns another RSA key of the same size, also the same each time.
    static func otherRSAKey(_ algorithm: JWEAlgorithm) throws -> DecryptionKey {
        try DecryptionKey(jwk: JWK(parsing: Data(otherRSAJWK)), algorithm: algorithm)
    }

    private static let rsaJWK = makeRSAJWK()
    private static let otherRSAJWK = makeRSAJWK()

    private static func makeRSAJWK() -> [UInt8] {
        guard let jwk = try? DecryptionKey.generate(.rsaOAEP).privateJWK() else { return [] }
        var members = jwk.members
        members["alg"] = nil
        return [UInt8](members.serializedData())
    }

    /// Decrypts with a policy that allows everything, and returns the content.
    static func open(_ token: String, _ key: DecryptionKey) throws -> Data {
        try JWEDecrypter(key: key, policy: anyPolicy).decrypt(compact: token).plaintext
    }

    /// The segments of a compact token.
    static func segments(_ token: String) -> [String] {
        token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }

    /// Replaces the decoded bytes of a segment.
    static func changing(_ token: String, _ segment: Int, _ change: (inout [UInt8]) -> Void) throws -> String {
        var segments = segments(token)
        var octets = try Base64URL.decode(segments[segment])
        change(&octets)
        segments[segment] = Base64URL.encode(octets)
        return segments.joined(separator: ".")
    }

    /// Replaces members of the protected header. The result has an invalid tag.
    static func changingHeader(_ token: String, _ changes: [String: JSONValue?]) throws -> String {
        try changing(token, 0) { octets in
            guard var header = try? JSONObject(parsing: Data(octets)) else { return }
            for (name, value) in changes { header[name] = value }
            octets = Array(header.serializedData())
        }
    }

    /// Returns the error code for a token with other members in its protected header.
    static func refusal(
        _ token: String,
        changing changes: [String: JSONValue?],
        _ key: DecryptionKey
    ) -> TokenError.Code? {
        code { try open(changingHeader(token, changes), key) }
    }

    /// Seals content with any protected header and a known content key, under A128KW or `dir`, so
    /// that tests can make tokens that the package doesn't.
    static func sealed(
        _ plaintext: Data = plaintext,
        header: String,
        encryptedKey: [UInt8],
        contentKey: [UInt8],
        cipher: AuthenticatedCipher = .aes128GCM
    ) throws -> String {
        let text = Base64URL.encode(Array(header.utf8))
        let key = contentKey.withBytes { SecretBytes(copying: $0) }
        let sealed = try Array(plaintext).withBytes { plaintext in
            try Array(text.utf8).withBytes { try cipher.seal(plaintext, authenticating: $0, key: key) }
        }
        let parts = [encryptedKey, sealed.vector, sealed.ciphertext, sealed.tag]
        return ([text] + parts.map { Base64URL.encode($0) }).joined(separator: ".")
    }

    private static let secret = [UInt8](repeating: 7, count: 16)

    /// The key for ``made(header:contentKey:wrapping:cipher:)``.
    static func secretKey() throws -> DecryptionKey {
        try DecryptionKey(secret: secret, algorithm: .a128KW)
    }

    /// Makes a token under A128KW with any header and content key.
    static func made(
        header: String = #"{"alg":"A128KW","enc":"A128GCM"}"#,
        contentKey: [UInt8] = [UInt8](repeating: 3, count: 16),
        wrapping: [UInt8]? = nil,
        cipher: AuthenticatedCipher = .aes128GCM
    ) throws -> String {
        let wrapper = try AESKeyWrap(key: secret.withBytes { SecretBytes(copying: $0) })
        let wrapped = try wrapper.wrap((wrapping ?? contentKey).withBytes { SecretBytes(copying: $0) })
        return try sealed(header: header, encryptedKey: wrapped, contentKey: contentKey, cipher: cipher)
    }

    /// Replaces the ciphertext of a token with A128CBC-HS256 and makes a valid tag for it. Its
    /// padding isn't valid.
    static func withWrongPadding(_ token: String, contentKey: [UInt8]) throws -> String {
        var segments = segments(token)
        let ciphertext = [UInt8](repeating: 0x55, count: try Base64URL.decode(segments[3]).count)
        let bits = UInt64(segments[0].utf8.count * 8)
        let size = (0..<8).map { UInt8(truncatingIfNeeded: bits >> UInt64(56 - 8 * $0)) }
        let input = try Array(segments[0].utf8) + Base64URL.decode(segments[2]) + ciphertext + size
        let mac = try HMAC(.sha256, key: Array(contentKey.prefix(16)).withBytes { SecretBytes(copying: $0) })
        let tag = try input.withBytes { try mac.authenticationCode(for: $0) }
        segments[3] = Base64URL.encode(ciphertext)
        segments[4] = Base64URL.encode(Array(tag.prefix(16)))
        return segments.joined(separator: ".")
    }
}
