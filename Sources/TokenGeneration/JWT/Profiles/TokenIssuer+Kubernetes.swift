internal import Foundation

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
                let found = try KubernetesClaims(subject.claims)
                try found.check("namespace", is: namespace)
                try found.check("serviceaccount", "name", is: serviceAccount)
                if let uid { try found.check("serviceaccount", "uid", is: uid) }
                if pod == .required {
                    _ = try found.text("pod", "name")
                    _ = try found.text("pod", "uid")
                }
            }
        ]
        var profile = TokenIssuer(
            policy,
            algorithms: [.rs256, .es256, .es384, .es512, .mldsa44, .mldsa65, .mldsa87]
        )
        profile.metadataIssuer = issuer
        return profile
    }
}

/// The claim `kubernetes.io` of a service account token.
private struct KubernetesClaims {
    private let members: JSONObject

    init(_ claims: JSONObject) throws(TokenError) {
        guard let members = claims["kubernetes.io"]?.object else {
            throw TokenError(.malformedClaim, "the claim “kubernetes.io” must be an object")
        }
        self.members = members
    }

    /// Returns a string inside the claim.
    ///
    /// - Throws: ``TokenError`` with the code `missingClaim` or `malformedClaim`.
    func text(_ path: String...) throws(TokenError) -> String { try text(at: path) }

    /// Compares a string inside the claim.
    ///
    /// - Throws: ``TokenError`` with the code `missingClaim`, `malformedClaim` or `claimMismatch`.
    func check(_ path: String..., is expected: String) throws(TokenError) {
        guard !expected.isEmpty, try text(at: path).isExactly(expected) else {
            throw TokenError(.claimMismatch, "\(Self.name(path)) isn't the value that the policy expects")
        }
    }

    private func text(at path: [String]) throws(TokenError) -> String {
        var value: JSONValue? = .object(members)
        for name in path {
            guard let object = value?.object else {
                throw TokenError(.malformedClaim, "\(Self.name(path)) must be in an object")
            }
            value = object[name]
            guard value != nil else { throw TokenError(.missingClaim, "\(Self.name(path)) is missing") }
        }
        guard let text = value?.string, !text.isEmpty else {
            throw TokenError(.malformedClaim, "\(Self.name(path)) must be a string that isn't empty")
        }
        return text
    }

    private static func name(_ path: [String]) -> String { "“\(path.joined(separator: "."))” of “kubernetes.io”" }
}
