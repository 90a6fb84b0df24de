import Foundation
import Networking
import OAuth2
import OpenSSLCrypto
import SharedStores
import TokenGeneration

/// Seals JSON objects for one purpose: as compact JWEs (`dir`, A256GCM) whose `kid` names the key.
///
/// Each purpose has keys of its own, derived from those of the application, so that a value for one
/// can't be used for another.
struct SealedValue: Sendable {
    private static let limits = 64 << 10

    private let purpose: String
    private let sealing: EncryptionKey
    private let decrypter: JWEDecrypter

    init(_ purpose: String, _ keys: RecordKeys) throws(SignInError) {
        self.purpose = purpose
        do {
            let derived = try keys.secrets.map { try Self.key(from: $0, for: purpose) }
            sealing = derived[0].encryptionKey
            // Of equal keys, one is enough: two would be ambiguous.
            var known: Set<String> = []
            let distinct = derived.filter { known.insert($0.keyID ?? "").inserted }
            decrypter = JWEDecrypter(
                keys: distinct,
                policy: DecryptionPolicy(algorithms: [.dir], encryptions: [.a256GCM])
            )
        } catch {
            throw SignInError(.malformedConfiguration, "the keys for “\(purpose)” can't be derived", cause: error)
        }
    }

    private static func key(from secret: Secret, for purpose: String) throws -> DecryptionKey {
        var octets = RecordCipher.octets(of: secret)
        defer { octets.clear() }
        let info = Array("swift-authenticated-client/\(purpose)".utf8)
        let key = try ConcatKDF.key(from: octets.withBytes { SecretBytes(copying: $0) }, info: info, count: 32)
        let text = Base64URL.encode(key.withBytes { bytes in [UInt8](capacity: 32) { $0.append(bytes) } })
        // A digest of a random key doesn't help to find it.
        let id = Array(Secret("kid\n" + text).fingerprint.prefix(4)).hexadecimal
        let jwk = try JWK(["kty": "oct", "k": .string(text), "kid": .string(id)])
        return try DecryptionKey(jwk: jwk, algorithm: .dir, encryption: .a256GCM)
    }

    func seal(_ content: some Encodable) throws(SignInError) -> String {
        do { return try sealing.encrypt(JSONObject(encoding: content).serializedData()) } catch {
            throw SignInError(.storeFailed, "a value for “\(purpose)” can't be encrypted", cause: error)
        }
    }

    /// Returns `nil` for a value that was changed, has another purpose, or whose key is gone.
    func open<Content: Decodable>(_ text: String, as type: Content.Type) -> Content? {
        guard text.utf8.count <= Self.limits, let opened = try? decrypter.decrypt(compact: text) else { return nil }
        return try? JSONObject(parsing: opened.plaintext).decode(as: type)
    }
}

/// The names and attributes of cookies: with `__Host-`, so that no other host can plant one, unless
/// the server is a loopback address without TLS.
struct CookieFormat: Sendable {
    let isSecure: Bool

    func name(_ name: String) -> String { isSecure ? "__Host-\(name)" : name }

    /// Returns a value of `Set-Cookie`; without a lifetime, the cookie ends with the browser.
    ///
    /// A browser sends it with requests that other sites make only if it's for them, too.
    func cookie(_ name: String, _ value: String, lifetime: Int? = nil, isForOtherSites: Bool = false) -> String {
        var text = "\(self.name(name))=\(value); Path=/; HttpOnly; SameSite=\(isForOtherSites ? "None" : "Lax")"
        if isSecure { text += "; Secure" }
        if let lifetime { text += "; Max-Age=\(lifetime)" }
        return text
    }

    func deletion(_ name: String) -> String { cookie(name, "", lifetime: 0) }
}

/// A sign-in between the redirect to the provider and the callback, sealed in a cookie of its own.
struct Attempt: Codable, Sendable {
    static let lifetime = 600
    static let maximumCount = 4
    /// The largest sum of the sizes of the cookies of a browser.
    static let maximumSize = 4 << 10
    static let prefix = "signin-"

    var provider: String
    var state: String
    var nonce: String?
    var codeVerifier: String
    var returnPath: String
    var acr: [String] = []
    var maximumAge: Int?
    /// The user who has to authenticate again.
    var issuer: String?
    var subject: String?
    /// The key of the browser's session, if the response comes without its cookie.
    var sessionKey: String?
    var began: Double

    /// The cookie's name, without its prefix.
    ///
    /// It tells nothing about the state.
    var cookieName: String { Self.cookieName(state: state) }

    static func cookieName(state: String) -> String { prefix + state.sha256.prefix(8) }
}

extension String {
    var sha256: String {
        let digest = try? Array(utf8).withBytes { bytes throws(CryptoError) in try HashFunction.sha256.hash(bytes) }
        return (digest ?? []).hexadecimal
    }
}
