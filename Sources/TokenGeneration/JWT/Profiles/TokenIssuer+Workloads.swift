public import FoundationEssentials

extension TokenIssuer {
    /// Returns GitHub Actions, whose tokens identify the workflow that runs ([OpenID Connect
    /// reference](https://docs.github.com/en/actions/reference/security/oidc)).
    ///
    /// ```swift
    /// .gitHubActions(requiring: [
    ///     "repository_id": "456789",
    ///     "environment": "production",
    /// ])
    /// ```
    ///
    /// Tokens are signed with RS256 and have `iss`, `sub`, `aud`, `exp`, `iat` and `jti`.
    ///
    /// Everyone on GitHub can get tokens for any audience. The requirements must therefore contain
    /// `repository`, `repository_id`, `repository_owner`, `repository_owner_id`, `enterprise`,
    /// `enterprise_id`, or a `sub` that starts with one of them. Otherwise, the policy rejects
    /// every token. `job_workflow_ref` isn't enough, because every repository can call a public
    /// workflow.
    ///
    /// - IDs are safer than names, because a deleted name can be registered again.
    /// - `sub` has several formats: with names, with names and IDs, or as the repository's
    ///   administrators customize it. The other claims are the same in all of them.
    /// - Without `environment` or `ref`, each branch of the repository counts. A `ref` also matches
    ///   the event `pull_request_target`; require an `event_name` or an environment with protection
    ///   rules.
    /// - The default audience, the URL of the repository's owner, is the same for all services.
    ///   Have the workflow request your own.
    ///
    /// - Parameters:
    ///   - claims: The claims that tokens must have, with their exact values.
    ///   - issuer: The issuer. The default is that of github.com. Enterprises can have their own:
    ///     `https://token.actions.githubusercontent.com/ENTERPRISE`,
    ///     `https://token.actions.SUBDOMAIN.ghe.com` or `https://HOSTNAME/_services/token`.
    /// - Returns: The issuer.
    public static func gitHubActions(
        requiring claims: [String: String],
        issuer: String = "https://token.actions.githubusercontent.com"
    ) -> TokenIssuer {
        let identities = [
            "repository", "repository_id", "repository_owner", "repository_owner_id", "enterprise", "enterprise_id",
        ]
        var profile = TokenIssuer.ofJobs(issuer, requiring: claims, identities: identities, subjects: ["repo"])
        if issuer.isExactly("https://token.actions.githubusercontent.com") {
            profile.keySetURL = URL(string: "https://token.actions.githubusercontent.com/.well-known/jwks")
        }
        return profile
    }

    /// Returns GitLab, whose ID tokens identify the CI/CD job that runs ([ID
    /// tokens](https://docs.gitlab.com/ci/secrets/id_token_authentication/)).
    ///
    /// ```swift
    /// .gitLab(requiring: ["project_id": "20", "ref_path": "refs/heads/main"])
    /// ```
    ///
    /// Tokens are signed with RS256 and have `iss`, `sub`, `aud`, `exp`, `iat` and `jti`.
    ///
    /// Everyone on the server can get tokens for any audience. The requirements must therefore
    /// contain `project_id`, `project_path`, `namespace_id`, `namespace_path`, or a `sub` that
    /// starts with one of them. Otherwise, the policy rejects every token.
    ///
    /// - IDs are safer than paths, because a deleted path can be registered again.
    /// - `ref` alone is ambiguous: a tag can have the name of a branch. Require `ref_path`, or
    ///   `ref_type` with it. Add `ref_protected` (`true`), because every developer can push to
    ///   other branches.
    ///
    /// - Parameters:
    ///   - claims: The claims that tokens must have, with their exact values.
    ///   - issuer: The URL of the server. The default is `https://gitlab.com`.
    /// - Returns: The issuer.
    public static func gitLab(
        requiring claims: [String: String],
        issuer: String = "https://gitlab.com"
    ) -> TokenIssuer {
        let identities = ["project_id", "project_path", "namespace_id", "namespace_path"]
        return ofJobs(issuer, requiring: claims, identities: identities)
    }

    private static func ofJobs(
        _ issuer: String,
        requiring claims: [String: String],
        identities: [String],
        subjects: [String] = []
    ) -> TokenIssuer {
        var policy = ValidationPolicy(issuer: .exactly(issuer), type: .absentOrJWT)
        policy.requiredClaims = ["iss", "sub", "aud", "exp", "iat", "jti"]
        let subject = claims["sub"] ?? ""
        let isLimited =
            identities.contains { claims[$0] != nil }
            || (identities + subjects).contains { subject.utf8.starts(with: "\($0):".utf8) }
        if !isLimited { policy.checks.append(.rejectingAll(without: identities)) }
        for (name, value) in claims.sorted(by: { $0.key < $1.key }) {
            if name == "sub" {
                policy.subject = .exactly(value)
            } else {
                policy.checks.append(.claim(name, is: value))
            }
        }
        return TokenIssuer(policy, issuer: issuer, algorithms: [.rs256])
    }
}

extension ClaimsCheck {
    /// Rejects every token, because the policy would accept the jobs of strangers.
    fileprivate static func rejectingAll(without names: [String]) -> ClaimsCheck {
        let names = names.map { "“\($0)”" }.joined(separator: ", ")
        return ClaimsCheck(throwing: "identity") { _ in
            throw TokenError(
                .claimMismatch,
                "the policy would accept jobs of everyone at this issuer; require a value for one of \(names)"
            )
        }
    }
}

extension TokenIssuer {
    /// Returns a Kubernetes cluster, for the tokens of one service account ([service account
    /// tokens](https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/)).
    ///
    /// Tokens are signed with RS256, ES256, ES384, ES512 or ML-DSA. They have `iss`, `sub`, `aud`,
    /// `exp` and `iat`, the subject `system:serviceaccount:NAMESPACE:NAME`, and the same names in
    /// `kubernetes.io`. Legacy tokens from secrets are rejected, because they never expire and have
    /// no audience.
    ///
    /// A signature alone doesn't show that the pod still exists. For that, ask the cluster's
    /// TokenReview API, or keep tokens short-lived.
    ///
    /// - Warning: Don't accept the API server's audience: a service that receives such a token can
    ///   use it in the cluster.
    ///
    /// - Parameters:
    ///   - issuer: The cluster's issuer, the API server's `--service-account-issuer`. Its metadata
    ///     names the URL of its keys.
    ///   - namespace: The namespace of the service account.
    ///   - serviceAccount: The name of the service account.
    ///   - uid: The UID of the service account, to reject the tokens of an account that is deleted
    ///     and created again. The default, `nil`, accepts any.
    ///   - pod: The presence of the pod to which the token is bound. By default, it's required, so
    ///     that tokens from `kubectl create token` are rejected.
    /// - Returns: The issuer.
    public static func kubernetes(
        issuer: String,
        namespace: String,
        serviceAccount: String,
        uid: String? = nil,
        pod: ValidationPolicy.Presence = .required
    ) -> TokenIssuer {
        var policy = ValidationPolicy(
            issuer: .exactly(issuer),
            subject: .exactly("system:serviceaccount:\(namespace):\(serviceAccount)")
        )
        policy.type = .absentOrJWT
        policy.requiredClaims = ["iss", "sub", "aud", "exp", "iat", "kubernetes.io"]
        policy.checks = [
            ClaimsCheck(throwing: "kubernetes.io") { subject in
                guard let found = subject.claims["kubernetes.io"]?.object else {
                    throw TokenError(.malformedClaim, "the claim “kubernetes.io” must be an object")
                }
                try found.check("namespace", is: namespace)
                try found.check("serviceaccount", "name", is: serviceAccount)
                if let uid { try found.check("serviceaccount", "uid", is: uid) }
                if pod == .required {
                    try found.check("pod", "name")
                    try found.check("pod", "uid")
                }
            }
        ]
        return TokenIssuer(
            policy,
            issuer: issuer,
            algorithms: [.rs256, .es256, .es384, .es512, .mldsa44, .mldsa65, .mldsa87]
        )
    }
}

extension JSONObject {
    /// Checks a text in the claim `kubernetes.io`, which can be any if none is expected.
    fileprivate func check(_ path: String..., is expected: String? = nil) throws(TokenError) {
        let name = "“\(path.joined(separator: "."))” of “kubernetes.io”"
        var value = JSONValue.object(self)
        for step in path {
            guard let object = value.object else { throw TokenError(.malformedClaim, "\(name) must be in an object") }
            guard let next = object[step] else { throw TokenError(.missingClaim, "\(name) is missing") }
            value = next
        }
        guard let text = value.string, !text.isEmpty else {
            throw TokenError(.malformedClaim, "\(name) must be a string that isn't empty")
        }
        guard expected.map({ !$0.isEmpty && text.isExactly($0) }) ?? true else {
            throw TokenError(.claimMismatch, "\(name) isn't the value that the policy expects")
        }
    }
}

extension TokenIssuer {
    /// Returns a SPIFFE trust domain, for the JWT-SVIDs of its workloads
    /// ([JWT-SVID](https://github.com/spiffe/spiffe/blob/main/standards/JWT-SVID.md)).
    ///
    /// Tokens are signed with RS256, RS384, RS512, ES256, ES384, ES512, PS256, PS384 or PS512.
    /// Their header has only `alg`, `kid` and `typ`, which is `JWT` or `JOSE` if present. They have
    /// `aud`, `exp` and `sub`, a ``SPIFFEID`` of the trust domain; `iss` isn't checked. Accept one
    /// workload only with ``ValidationPolicy/subject``:
    ///
    /// ```swift
    /// var workload = TokenIssuer.spiffe(trustDomain: "prod.example")
    /// workload.policy.subject = "spiffe://prod.example/orders"
    /// ```
    ///
    /// The keys are those of the trust domain's bundle. Of these, the ones with the `use`
    /// `jwt-svid` count. For keys of an OpenID Connect discovery document, set ``KeySelection/use``
    /// of ``selection`` to `nil`.
    ///
    /// - Important: Don't add keys of another trust domain. They could sign for workloads of this
    ///   one. Use a verifier for each domain, and choose it by the ``SPIFFEID/trustDomain``.
    ///
    /// - Parameters:
    ///   - trustDomain: The name of the trust domain, such as `prod.example`.
    ///   - bundleURL: The URL of the trust domain's bundle. The default is `nil`, if you have the
    ///     keys from another source.
    ///   - rsaAlgorithm: The algorithm of RSA keys, which bundles don't state. The default, RS256,
    ///     is that of SPIRE.
    /// - Returns: The issuer.
    public static func spiffe(
        trustDomain: String,
        bundleURL: URL? = nil,
        rsaAlgorithm: JWSAlgorithm = .rs256
    ) -> TokenIssuer {
        var policy = ValidationPolicy(issuer: .skipIssuerCheck, type: .absentOrOneOf(["JWT", "JOSE"]))
        policy.requiredClaims = ["sub", "aud", "exp"]
        policy.checks = [
            ClaimsCheck(throwing: "JWT-SVID") { subject in
                let names = ["alg", "kid", "typ"]
                guard subject.header.allSatisfy({ member in names.contains(where: member.name.isExactly) }) else {
                    throw TokenError(.malformedToken, "the header of a JWT-SVID has only “alg”, “kid” and “typ”")
                }
                let workload = try SPIFFEID(subject.registered.subject ?? "")
                guard workload.trustDomain.isExactly(trustDomain) else {
                    throw TokenError(.subjectMismatch, "the claim “sub” is of another SPIFFE trust domain")
                }
            }
        ]
        var profile = TokenIssuer(
            policy,
            algorithms: [.rs256, .rs384, .rs512, .es256, .es384, .es512, .ps256, .ps384, .ps512],
            selection: KeySelection(assumedAlgorithms: [rsaAlgorithm])
        )
        profile.selection.use = "jwt-svid"
        profile.keySetURL = bundleURL
        return profile
    }
}

/// The identity of a workload, a URI such as `spiffe://prod.example/orders` ([SPIFFE
/// ID](https://github.com/spiffe/spiffe/blob/main/standards/SPIFFE-ID.md)).
///
/// ```swift
/// let workload = try SPIFFEID(token.registered.subject ?? "")
/// if workload.path == "/orders" { … }
/// ```
///
/// Only the lower-case scheme and trust domain are valid, so that equal identities have equal
/// texts.
public struct SPIFFEID: Hashable, Sendable, CustomStringConvertible {
    /// The name of the trust domain, such as `prod.example`.
    public let trustDomain: String
    /// The path with its leading slash, such as `/orders`, or an empty string.
    public let path: String

    /// In bytes (§2.3).
    private static let maximumSize = 2_048
    /// In bytes (§2.3).
    private static let maximumTrustDomainSize = 255

    /// Parses an ID.
    ///
    /// - Parameter text: The ID: at most 2048 bytes, with a trust domain of 1 to 255 lower-case
    ///   letters, digits, dots, hyphens and underscores. The segments of the path can also have
    ///   upper-case letters. They aren't empty, `.` or `..`.
    /// - Throws: ``TokenError`` with the code `malformedClaim`.
    public init(_ text: String) throws(TokenError) {
        let scheme = "spiffe://"
        guard text.utf8.count <= Self.maximumSize else {
            throw TokenError(.malformedClaim, "a SPIFFE ID has at most \(Self.maximumSize) bytes")
        }
        guard text.utf8.starts(with: scheme.utf8) else {
            throw TokenError(.malformedClaim, "a SPIFFE ID starts with “spiffe://”")
        }
        let rest = text.utf8.dropFirst(scheme.utf8.count)
        let domain = rest.prefix { $0 != UInt8(ascii: "/") }
        guard (1...Self.maximumTrustDomainSize).contains(domain.count), domain.allSatisfy(Self.isOfTrustDomain) else {
            throw TokenError(
                .malformedClaim,
                "the trust domain of a SPIFFE ID has 1 to \(Self.maximumTrustDomainSize) lower-case letters, digits, "
                    + "dots, hyphens and underscores, and no port or user"
            )
        }
        let path = rest.dropFirst(domain.count)
        let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        guard segments.allSatisfy(Self.isSegment) else {
            throw TokenError(
                .malformedClaim,
                "each segment of a SPIFFE ID's path has letters, digits, dots, hyphens and underscores, and isn't empty, "
                    + "“.” or “..”; there's no query, fragment or percent-encoding"
            )
        }
        // All bytes are ASCII.
        trustDomain = String(decoding: domain, as: UTF8.self)
        self.path = String(decoding: path, as: UTF8.self)
    }

    /// The ID as a URI.
    public var description: String { "spiffe://\(trustDomain)\(path)" }

    private static func isOfTrustDomain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    private static func isSegment(_ segment: Substring.UTF8View) -> Bool {
        !segment.isEmpty && !segment.elementsEqual(".".utf8) && !segment.elementsEqual("..".utf8)
            && segment.allSatisfy { isOfTrustDomain($0) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }
}
