import TokenGeneration

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

    /// Returns the profile with changed rules.
    func with(_ change: (inout Self) -> Void) -> Self {
        var profile = self
        change(&profile)
        return profile
    }
}
