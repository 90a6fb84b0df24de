public import Foundation
import Networking
public import OAuth2
public import TokenGeneration

/// The keys that a verifier trusts, looked up by `keyid`.
///
/// ```swift
/// let keys = SignatureKeys { query in
///     try await database.key(query.keyID)   // nil if it's unknown
/// }
/// ```
///
/// A key has exactly one algorithm, so nothing in a message can choose another
/// ([RFC 9421 §7.3.6](https://www.rfc-editor.org/rfc/rfc9421#section-7.3.6)).
public struct SignatureKeys: Sendable {
    /// The unverified description of the key that a signature names.
    public struct Query: Sendable {
        /// The key's ID, `keyid`: at most 256 bytes chosen by the sender; `nil` if it's missing.
        ///
        /// Don't use it as a path or a URL.
        public let keyID: String?
        /// The parameters of the signature.
        public let parameters: SignatureParameters
        /// The message, which isn't verified yet.
        public let message: HTTPMessage
        /// The URL of the signer's keys, if the signature covers a `Signature-Agent`.
        ///
        /// The sender chose it. Only ``SignatureAgentKeys`` should fetch it.
        public let agent: URL?
    }

    private let lookup: @Sendable (Query) async throws -> VerificationKey?

    /// Creates a source of keys that calls a closure.
    ///
    /// - Parameter lookup: Returns the key for a signature, or `nil` if it's unknown. A thrown
    ///   ``HTTPSignatureError`` rejects the message with its code, such as `keyRefused`. Any other
    ///   error is the cause of an `undecided`.
    public init(_ lookup: @escaping @Sendable (Query) async throws -> VerificationKey?) {
        self.lookup = lookup
    }

    /// Creates a source of fixed keys.
    ///
    /// - Parameter keys: The keys. A signature's `keyid` selects the only key with that ID. A
    ///   single key without an ID is used for any `keyid`.
    public init(_ keys: VerificationKey...) {
        self.init { query in
            if keys.count == 1, keys[0].keyID == nil { return keys[0] }
            guard let keyID = query.keyID else { return keys.count == 1 ? keys[0] : nil }
            let matches = keys.filter { $0.keyID?.isExactly(keyID) ?? false }
            return matches.count == 1 ? matches[0] : nil
        }
    }

    /// Creates a source with the keys of a set, selected by `kid`.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - selection: The rules of key selection. For RSA keys without `alg`, pass the algorithm:
    ///     `KeySelection(assumedAlgorithms: [.ps512])`.
    public init(_ keys: JWKSet, selection: KeySelection = KeySelection()) {
        self.init(byID: { try keys.verificationKey(withID: $0, selection: selection) })
    }

    /// Creates a source with the keys that a server publishes, selected by `kid`.
    ///
    /// An unknown `kid` makes the set fetch its keys again, within its cooldown.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - selection: The rules of key selection.
    public init(_ keys: RemoteKeySet, selection: KeySelection = KeySelection()) {
        self.init(byID: { try await keys.verificationKey(withID: $0, selection: selection) })
    }

    /// A `TokenError` of the closure means that the key is unknown, or that it can't be used.
    private init(byID find: @escaping @Sendable (String) async throws -> VerificationKey) {
        self.init { query in
            guard let keyID = query.keyID else { return nil }
            do { return try await find(keyID) } catch let error as TokenError {
                guard error.code != .unknownKey else { return nil }
                let message = "the signature's key can't be used: \(error.message)"
                throw HTTPSignatureError(.unknownKey, message, cause: error)
            }
        }
    }

    func key(for query: Query) async throws(HTTPSignatureError) -> VerificationKey {
        do {
            if let key = try await lookup(query) { return key }
        } catch let error as HTTPSignatureError {
            throw error
        } catch {
            throw HTTPSignatureError(.undecided, "the signature's key couldn't be looked up", cause: error)
        }
        throw HTTPSignatureError(
            .unknownKey,
            query.keyID == nil
                ? "the signature doesn't name its key" : "no key is known for the signature's “keyid”"
        )
    }
}

extension JWSAlgorithm {
    /// [RFC 9421 §3.3](https://www.rfc-editor.org/rfc/rfc9421#section-3.3).
    ///
    /// The salt of `rsa-pss-sha512` has 64 bytes, as in PS512. ECDSA signatures are `r ‖ s`.
    private static let registered: [(name: String, algorithm: JWSAlgorithm)] = [
        ("rsa-pss-sha512", .ps512), ("rsa-v1_5-sha256", .rs256), ("hmac-sha256", .hs256),
        ("ecdsa-p256-sha256", .es256), ("ecdsa-p384-sha384", .es384), ("ed25519", .ed25519),
    ]

    /// The name in the parameter `alg` of an HTTP message signature, or `nil` for an algorithm that
    /// isn't registered ([§6.2](https://www.rfc-editor.org/rfc/rfc9421#section-6.2)).
    ///
    /// A signature with such an algorithm has no `alg`
    /// ([§3.3.7](https://www.rfc-editor.org/rfc/rfc9421#section-3.3.7)). `edDSA` is registered
    /// for keys on Ed25519 only, so use `ed25519` for them.
    public var httpSignatureName: String? { Self.registered.first { $0.algorithm == self }?.name }

    /// Creates an algorithm from its name in `alg` of an HTTP message signature.
    ///
    /// - Parameter httpSignatureName: A registered name. The result is `nil` for another one, even
    ///   the name of a JWS algorithm.
    public init?(httpSignatureName: String) {
        guard let known = Self.registered.first(where: { $0.name.utf8.elementsEqual(httpSignatureName.utf8) }) else {
            return nil
        }
        self = known.algorithm
    }
}

extension VerificationKey {
    /// A key for `EdDSA` on Ed25519 makes the same signatures as one for `Ed25519`.
    package var httpSignatureName: String? {
        algorithm == .edDSA && jwk.curve == "Ed25519" ? "ed25519" : algorithm.httpSignatureName
    }
}

extension SigningService {
    var httpSignatureName: String? { knownVerificationKey?.httpSignatureName ?? algorithm.httpSignatureName }

    /// Throws `signingFailed`, caused by the service's error.
    func signature(for base: SignatureBase) async throws -> Data {
        do {
            return Data(try await checkedSignature(for: base.octets))
        } catch let error as CancellationError {
            throw error
        } catch {
            throw HTTPSignatureError(.signingFailed, "the message couldn't be signed", cause: error)
        }
    }
}
