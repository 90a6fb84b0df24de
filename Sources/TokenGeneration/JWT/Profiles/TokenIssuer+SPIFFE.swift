public import Foundation

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
            assumedAlgorithm: rsaAlgorithm
        )
        profile.selection.use = "jwt-svid"
        profile.keySetURL = bundleURL
        return profile
    }
}
