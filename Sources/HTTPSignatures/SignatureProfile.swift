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
    /// The components that a signature must not cover; none by default.
    ///
    /// An example is `content-digest` behind a proxy that changes the content. A component without
    /// parameters stands for all its forms, such as those with `sf` and `key`, but not for the one
    /// with `req`.
    public var prohibitedComponents: Set<ComponentIdentifier> = []
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
    /// The maximum time from `created`, or without it from the present, to `expires`.
    ///
    /// The default is `nil`, for no maximum: ``maximumAge`` limits the use of a signature with
    /// `created`, and only `expires` that of one without it. A signer shortens ``lifetime`` to the
    /// maximum.
    public var maximumLifetime: Duration?
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

    package internal(set) var usesThumbprints = false

    /// Creates a profile with the default rules.
    ///
    /// - Parameter components: The components, in the order in which a signer covers them. A
    ///   verifier doesn't accept a profile without required components, whose signatures could be
    ///   moved to any message.
    public init(components: [Component]) {
        self.components = components
    }

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

    /// A component of a profile, with the condition under which it's covered.
    @nonexhaustive
    public enum Component: Hashable, Sendable {
        /// A component that every message must have.
        case required(ComponentIdentifier)
        /// The component that a signer covers, and others that a verifier accepts instead.
        case oneOf(ComponentIdentifier, or: [ComponentIdentifier])
        /// A component that every message with content must have, such as `content-digest`.
        case ifContent(ComponentIdentifier)
        /// A field that describes content, such as `content-type`: required if the message has both
        /// content and the field.
        case contentField(ComponentIdentifier)
        /// A field that is required if the message has it, such as `authorization`.
        case ifPresent(ComponentIdentifier)
        /// A component that a signer covers if the message has it, and that a verifier doesn't
        /// require.
        case optional(ComponentIdentifier)
    }

    /// Returns the components that a signature of a message must cover, with their alternatives.
    func requirements(for message: HTTPMessage, hasContent: Bool) -> [[ComponentIdentifier]] {
        components.filter { component in
            if case .optional = component { return false }
            return component.applies(to: message, hasContent: hasContent)
        }
        .map(\.alternatives)
    }

    func coverage(of message: HTTPMessage, hasContent: Bool) -> [ComponentIdentifier] {
        var covered: [ComponentIdentifier] = []
        for component in components where component.applies(to: message, hasContent: hasContent) {
            if !covered.contains(component.identifier) { covered.append(component.identifier) }
        }
        return covered
    }

    func prohibits(_ component: ComponentIdentifier) -> Bool {
        let plain = ComponentIdentifier(component.name)
        return prohibitedComponents.contains(component)
            || prohibitedComponents.contains(component.has("req") ? plain.ofRequest : plain)
    }

    /// A Boolean value that indicates whether the profile requires anything of every message.
    var requiresComponents: Bool {
        components.contains { component in
            switch component {
            case .required, .oneOf: true
            case .ifContent, .contentField, .ifPresent, .optional: false
            }
        }
    }
}

// The profiles of this library, each with its source.
extension SignatureProfile {
    /// Requests to an API without a proxy that changes their URL.
    ///
    /// It covers the method, the URL, the content, and the credentials `Authorization` and `DPoP`,
    /// with a nonce. The choice follows RFC 9421
    /// ([§3.1](https://www.rfc-editor.org/rfc/rfc9421#section-3.1),
    /// [§7.2](https://www.rfc-editor.org/rfc/rfc9421#section-7.2)).
    public static let standard = Self(components: [
        .required(.method), .required(.targetURI), .ifContent("content-digest"), .contentField("content-type"),
        .contentField("content-length"), .ifPresent("authorization"), .ifPresent("dpop"),
    ])

    /// Responses to requests with ``standard``, bound to the request
    /// ([RFC 9421 §2.4](https://www.rfc-editor.org/rfc/rfc9421#section-2.4)).
    public static let standardResponse = Self(components: [
        .required(.status), .ifContent("content-digest"), .contentField("content-type"), .ifPresent("location"),
        .required(.method.ofRequest), .required(.targetURI.ofRequest),
        .ifPresent(ComponentIdentifier("content-digest").ofRequest),
    ]).with {
        $0.nonce = .none
    }

    /// Requests to an API behind a proxy that may change the scheme or the framing.
    ///
    /// It covers the parts of the URL instead of the whole, and not `Content-Length`.
    public static let proxied = Self(components: [
        .required(.method), .required(.authority), .required(.path), .required(.query),
        .ifContent("content-digest"), .contentField("content-type"), .ifPresent("authorization"), .ifPresent("dpop"),
    ])

    /// Responses to requests with ``proxied``.
    public static let proxiedResponse = Self(components: [
        .required(.status), .ifContent("content-digest"), .contentField("content-type"), .ifPresent("location"),
        .required(.method.ofRequest), .required(.authority.ofRequest), .required(.path.ofRequest),
        .required(.query.ofRequest), .ifPresent(ComponentIdentifier("content-digest").ofRequest),
    ]).with {
        $0.nonce = .none
    }

    /// Resource requests of FAPI 2.0
    /// ([draft §5.3.1](https://openid.bitbucket.io/fapi/fapi-2_0-http-signatures.html)).
    public static let fapi2Request = Self(components: [
        .required(.method), .required(.targetURI), .required("authorization"), .ifPresent("dpop"),
        .ifContent("content-digest"),
    ]).with {
        $0.tag = "fapi-2-request"
        $0.requiredParameters = ["created"]
        $0.nonce = .none
        $0.maximumAge = .seconds(60)
    }

    /// Resource responses of FAPI 2.0
    /// ([draft §5.3.2](https://openid.bitbucket.io/fapi/fapi-2_0-http-signatures.html)).
    ///
    /// A signer also covers the request's signature, with everything that it covers, as the draft
    /// requires. A verifier doesn't require that.
    public static let fapi2Response = Self(components: [
        .required(.status), .ifContent("content-digest"), .required(.method.ofRequest),
        .required(.targetURI.ofRequest), .ifPresent(ComponentIdentifier("content-digest").ofRequest),
        .optional(ComponentIdentifier("signature-input").ofRequest),
        .optional(ComponentIdentifier("signature").ofRequest),
    ]).with {
        $0.tag = "fapi-2-response"
        $0.requiredParameters = ["created"]
        $0.nonce = .none
        $0.maximumAge = .seconds(60)
    }

    /// Requests of Open Payments, with Ed25519
    /// ([Open Payments](https://openpayments.dev/introduction/http-signatures/)).
    public static let openPayments = Self(components: [
        .required(.method), .required(.targetURI), .ifPresent("authorization"), .ifContent("content-digest"),
        .contentField("content-length"), .contentField("content-type"),
    ]).with {
        $0.nonce = .none
        $0.algorithms = [.ed25519]
    }

    /// Requests of GNAP with the proofing method `httpsig`
    /// ([RFC 9635 §7.3.1](https://www.rfc-editor.org/rfc/rfc9635#section-7.3.1)).
    public static let gnap = Self(components: [
        .required(.method), .required(.targetURI), .ifContent("content-digest"), .ifPresent("authorization"),
    ]).with {
        $0.tag = "gnap"
        $0.nonce = .sent
        $0.prohibitedParameters = ["alg"]
    }

    /// Requests between ActivityPub servers, as
    /// [Mastodon](https://docs.joinmastodon.org/spec/security/#http-message-signatures) verifies
    /// them.
    ///
    /// It's named “legacy” because it accepts only RSA with PKCS #1 v1.5. Each request has exactly
    /// one signature and a digest, even of empty content.
    public static let legacyActivityPub = Self(components: [
        .required(.method), .required(.targetURI), .required("content-digest"),
    ]).with {
        $0.nonce = .none
        $0.algorithms = [.rs256]
        $0.signatureCount = .one
    }

    /// Requests of automated clients, whose verifiers find the keys in `Signature-Agent`
    /// ([Web Bot
    /// Auth](https://datatracker.ietf.org/doc/draft-ietf-webbotauth-httpsig-protocol/)).
    ///
    /// The key's ID is its thumbprint. The method and the path are also covered, which verifiers
    /// don't require: without them, a captured signature is valid for any request to the server
    /// until it expires.
    ///
    /// - Parameter agent: The URL of the signer's keys; `nil`, the default, for a verifier.
    /// - Returns: The profile.
    public static func webBotAuth(agent: SignatureAgent? = nil) -> Self {
        Self(components: [.oneOf(.authority, or: [.targetURI]), .optional(.method), .optional(.path)]).with {
            $0.tag = "web-bot-auth"
            $0.requiredParameters = ["created", "expires", "keyid"]
            $0.nonce = .sent
            $0.lifetime = .seconds(300)
            // The longest lifetime that the draft recommends. Signers choose a shorter one.
            $0.maximumAge = .seconds(86_400)
            $0.algorithms = [.ed25519, .ps512, .rs256, .es256, .es384]
            $0.signatureAgent = agent
            $0.requiresSignatureAgent = true
            $0.usesThumbprints = true
        }
    }

    func with(_ change: (inout Self) -> Void) -> Self {
        var profile = self
        change(&profile)
        return profile
    }
}

extension SignatureProfile.Component {
    var identifier: ComponentIdentifier {
        switch self {
        case .required(let identifier), .oneOf(let identifier, or: _), .ifContent(let identifier),
            .contentField(let identifier), .ifPresent(let identifier), .optional(let identifier):
            identifier
        }
    }

    var alternatives: [ComponentIdentifier] {
        if case .oneOf(let first, let others) = self { [first] + others } else { [identifier] }
    }

    fileprivate func applies(to message: HTTPMessage, hasContent: Bool) -> Bool {
        switch self {
        case .required, .oneOf: true
        case .ifContent: hasContent
        case .contentField: hasContent && identifier.isPresent(in: message)
        case .ifPresent, .optional: identifier.isPresent(in: message)
        }
    }
}

extension ComponentIdentifier {
    /// A derived component is present if it applies to the kind of message.
    func isPresent(in message: HTTPMessage) -> Bool {
        guard let source = has("req") ? message.request : message else { return false }
        if isDerived { return source.isRequest == (name != "@status") }
        return (has("tr") ? source.trailers : source.headers)[name] != nil
    }
}
