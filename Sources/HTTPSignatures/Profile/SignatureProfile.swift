public import Networking
public import TokenGeneration

/// The agreement between the signers and the verifiers of an application
/// ([RFC 9421 §1.4](https://www.rfc-editor.org/rfc/rfc9421#section-1.4)).
///
/// A signature protects only what it covers, so a profile always names the components. Start with
/// one of the profiles of this library, or describe your own:
///
/// ```swift
/// var profile = SignatureProfile(components: [
///     .required(.method), .required(.targetURI),
///     .ifContent("content-digest"), .ifPresent("idempotency-key"),
/// ])
/// profile.tag = "orders"
/// profile.algorithms = [.ed25519, .es256]
/// ```
///
/// A signer covers every component that applies to a message. A verifier requires them, except for
/// the ``Component/optional(_:)`` ones, and accepts any others in addition.
public struct SignatureProfile: Sendable {
    /// The components, in the order in which a signer covers them.
    public var components: [Component]
    /// The value of `tag`, which a signer sends and by which a verifier selects signatures; with
    /// `nil`, the default, a signer sends none, and a verifier ignores it.
    public var tag: String?
    /// The names of the parameters that a verifier requires.
    ///
    /// The default is `created` and `keyid`. Signers always send `created`, and `keyid` if they
    /// know the key's ID. A ``tag``, and a nonce if it's ``NonceRule/required``, are required in
    /// any case.
    public var requiredParameters: Set<String> = ["created", "keyid"]
    /// The names of the parameters that a verifier rejects, such as `alg`; none by default.
    public var prohibitedParameters: Set<String> = []
    /// A Boolean value that indicates whether a signer sends `alg`, if the algorithm is registered.
    ///
    /// The default is `false`, because the verifier knows the algorithm of the key. An `alg` that
    /// contradicts the key is rejected in any case.
    public var sendsAlgorithm = false
    /// The rule for nonces; the default is ``NonceRule/required``.
    public var nonce = NonceRule.required
    /// The time from `created` to `expires`.
    ///
    /// The default is `nil`: a signer doesn't send `expires`. A verifier rejects an expired
    /// signature in any case.
    public var lifetime: Duration?
    /// The maximum time since `created`; the default is 300 seconds.
    ///
    /// Within it, a captured message without a nonce can be replayed.
    public var maximumAge: Duration = .seconds(300)
    /// The tolerated difference between clocks, which extends both ends of the window; the default
    /// is 60 seconds.
    public var clockSkew: Duration = .seconds(60)
    /// The algorithms that keys may have.
    ///
    /// The default is `nil`, for all that the package implements. With one for RSA, a key in a set
    /// still needs its own `alg`.
    public var algorithms: Set<JWSAlgorithm>?
    /// The hash algorithm of the `Content-Digest` that a signer sends; the default is SHA-256, and
    /// verifiers accept all supported ones.
    public var digestAlgorithm = HTTPDigest.Algorithm.sha256
    /// The rule for messages with several signatures; the default is ``SignatureCount/any``.
    public var signatureCount = SignatureCount.any
    /// The types of structured fields that aren't registered, by lowercase name, for components
    /// with `sf` or `key`; empty by default.
    public var fieldTypes: [String: StructuredFieldType] = [:]
    /// The URL of the signer's keys that a signer sends in `Signature-Agent` and covers; with
    /// `nil`, the default, it sends none.
    public var signatureAgent: SignatureAgent?
    /// A Boolean value that indicates whether a signature must cover a `Signature-Agent`; the
    /// default is `false`.
    public var requiresSignatureAgent = false

    /// A Boolean value that indicates whether the key's ID is its thumbprint.
    package internal(set) var usesThumbprints = false

    /// Creates a profile with the default rules.
    ///
    /// - Parameter components: The components, in the order in which a signer covers them. A
    ///   verifier doesn't accept a profile without required components, whose signatures could be
    ///   moved to any message.
    public init(components: [Component]) {
        self.components = components
    }
}

extension SignatureProfile {
    /// The rule for nonces
    /// ([RFC 9421 §7.2.2](https://www.rfc-editor.org/rfc/rfc9421#section-7.2.2)).
    ///
    /// A verifier with a replay cache rejects a repeated nonce in any case.
    @nonexhaustive
    public enum NonceRule: Hashable, Sendable {
        /// Signers send a nonce, and verifiers require it and reject it the second time.
        case required
        /// Signers send a nonce, and verifiers don't require it.
        case sent
        /// Signers don't send a nonce, and verifiers don't require it.
        ///
        /// - Warning: Anyone who captures a message can replay it within ``maximumAge``.
        case none
    }

    /// The rule for messages with several signatures
    /// ([RFC 9421 §7.2.6](https://www.rfc-editor.org/rfc/rfc9421#section-7.2.6)).
    @nonexhaustive
    public enum SignatureCount: Hashable, Sendable {
        /// One signature must meet the profile.
        ///
        /// Others are ignored, so that those of an intermediary or an attacker don't matter.
        case any
        /// All signatures with the profile's tag must meet the profile.
        case all
        /// The message must have exactly one signature.
        case one
    }
}
