import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Kubernetes service accounts", .computing)
struct KubernetesProfileTests {
    private static let issuer = "https://kubernetes.default.svc.cluster.local"
    private static let audience = "https://api.example"
    private static let uid = "14ee3fa4-a7e2-420f-9f9a-dbc4507c3798"

    private static let workload: JSONObject = [
        "namespace": "shop", "node": ["name": "127.0.0.1", "uid": "58456cb0-dd00-45ed-b797-5578fdceaced"],
        "pod": ["name": "orders-69cbfb9798-jv9gn", "uid": "778a530c-b3f4-47c0-9cd5-ab018fb64f33"],
        "serviceaccount": ["name": "orders", "uid": .string(uid)], "warnafter": 1_700_082_340,
    ]

    /// A token with the claims of
    /// https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/. Its header
    /// has no `typ`.
    private static let token = IssuerFixture(
        claims: [
            "aud": [.string(audience)], "exp": 1_700_081_940, "iat": 1_700_078_340, "iss": .string(issuer),
            "jti": "ea28ed49-2e11-4280-9ec5-bc3d1d84661a", "kubernetes.io": .object(workload), "nbf": 1_700_078_340,
            "sub": "system:serviceaccount:shop:orders",
        ],
        header: ["kid": "1"]
    )

    private static func profile(
        _ namespace: String = "shop",
        _ name: String = "orders",
        uid: String? = nil,
        pod: ValidationPolicy.Presence = .required
    ) -> TokenIssuer {
        .kubernetes(issuer: issuer, namespace: namespace, serviceAccount: name, uid: uid, pod: pod)
    }

    private static func refusal(
        _ changes: [String: JSONValue?] = [:],
        by profile: TokenIssuer = profile()
    ) throws -> TokenError.Code? {
        try token.refusal(changes, by: profile, audience: audience)
    }

    /// Returns the token's `kubernetes.io` with changes.
    private static func changed(_ changes: [String: JSONValue?]) -> [String: JSONValue?] {
        var members = workload
        for (name, value) in changes { members[name] = value }
        return ["kubernetes.io": .object(members)]
    }

    @Test(
        "Accepts a bound token of the service account, only with the algorithms of API servers",
        .shows("Kubernetes (issuer)"),
        arguments: [
            (.rs256, nil), (.es256, nil), (.es384, nil), (.es512, nil), (.rs512, .algorithmMismatch),
            (.ps256, .algorithmMismatch), (.ed25519, .algorithmMismatch),
        ] as [(JWSAlgorithm, TokenError.Code?)]
    )
    func algorithms(algorithm: JWSAlgorithm, expected: TokenError.Code?) throws {
        var token = Self.token
        token.algorithm = algorithm
        #expect(try token.refusal(by: Self.profile(), audience: Self.audience) == expected)
    }

    @Test(
        "Rejects another service account, issuer or audience, and a legacy token that never expires",
        .shows("I12", "J28", "Kubernetes (issuer)"),
        arguments: [
            (["sub": "system:serviceaccount:shop:payments"], .subjectMismatch),
            (["sub": "system:serviceaccount:other:orders"], .subjectMismatch), (["sub": "orders"], .subjectMismatch),
            (changed(["namespace": "other"]), .claimMismatch), (changed(["namespace": nil]), .missingClaim),
            (changed(["namespace": 1]), .malformedClaim), (changed(["namespace": ""]), .malformedClaim),
            (changed(["serviceaccount": ["name": "payments", "uid": "1"]]), .claimMismatch),
            (changed(["serviceaccount": ["uid": "1"]]), .missingClaim),
            (changed(["serviceaccount": nil]), .missingClaim), (changed(["serviceaccount": "orders"]), .malformedClaim),
            (["kubernetes.io": nil], .missingClaim), (["kubernetes.io": "shop"], .malformedClaim),
            (["kubernetes.io": []], .malformedClaim), (["iss": "kubernetes/serviceaccount"], .issuerMismatch),
            (["iss": .string(issuer + "/")], .issuerMismatch), (["iss": nil], .missingClaim),
            (["aud": [.string(issuer)]], .audienceMismatch), (["aud": nil], .missingClaim),
            (["exp": nil], .missingClaim), (["exp": 1_700_000_000], .expired), (["iat": nil], .missingClaim),
            (
                [
                    "iss": "kubernetes/serviceaccount", "aud": nil, "exp": nil, "kubernetes.io": nil,
                    "kubernetes.io/serviceaccount/namespace": "shop",
                    "kubernetes.io/serviceaccount/service-account.name": "orders",
                ], .missingClaim
            ),
        ] as [([String: JSONValue?], TokenError.Code)]
    )
    func claims(changes: [String: JSONValue?], expected: TokenError.Code) throws {
        #expect(try Self.refusal(changes) == expected)
    }

    @Test(
        "Requires the pod to which the token is bound, unless the policy says otherwise",
        .shows("I12", "Kubernetes (issuer)"),
        arguments: [
            (nil, .missingClaim), (["name": "x"], .missingClaim), (["uid": "x"], .missingClaim), ("x", .malformedClaim),
            (["name": "", "uid": "x"], .malformedClaim),
        ] as [(JSONValue?, TokenError.Code)]
    )
    func pods(pod: JSONValue?, expected: TokenError.Code) throws {
        #expect(try Self.refusal(Self.changed(["pod": pod])) == expected)
        #expect(try Self.refusal(Self.changed(["pod": pod]), by: Self.profile(pod: .optional)) == nil)
    }

    @Test("Compares the UID of the service account", .shows("I12"))
    func uid() throws {
        #expect(try Self.refusal(by: Self.profile(uid: Self.uid)) == nil)
        #expect(try Self.refusal(by: Self.profile(uid: "other")) == .claimMismatch)
        #expect(try Self.refusal(by: Self.profile(uid: "")) == .claimMismatch)
        let nameless = Self.changed(["serviceaccount": ["name": "orders"]])
        #expect(try Self.refusal(nameless, by: Self.profile(uid: Self.uid)) == .missingClaim)
        #expect(try Self.refusal(nameless) == nil)
    }

    @Test("Names that contain a colon or are empty match nothing", .shows("I13"))
    func names() throws {
        #expect(try Self.refusal(by: Self.profile("", "orders")) == .subjectMismatch)
        let changes = Self.changed(["namespace": "a", "serviceaccount": ["name": "b:c"]])
            .merging(["sub": "system:serviceaccount:a:b:c"]) { $1 }
        #expect(try Self.refusal(changes, by: Self.profile("a:b", "c")) == .claimMismatch)
        let empty: [String: JSONValue?] = ["sub": "system:serviceaccount::"]
        #expect(try Self.refusal(empty, by: Self.profile("", "")) == .claimMismatch)
    }
}
