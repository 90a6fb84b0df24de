internal import Foundation

/// The version of a token from Microsoft Entra, which determines its issuer and its keys ([token
/// formats](https://learn.microsoft.com/en-us/entra/identity-platform/access-tokens#token-formats)).
public struct EntraTokenVersion: Hashable, Sendable {
    private enum Wrapped { case v1, v2 }
    private let wrapped: Wrapped

    /// Version 1, with the issuer `https://sts.windows.net/TENANT/`.
    public static let v1 = EntraTokenVersion(wrapped: .v1)
    /// Version 2, with the issuer `https://login.microsoftonline.com/TENANT/v2.0`.
    public static let v2 = EntraTokenVersion(wrapped: .v2)

    /// Returns the issuer of a tenant's tokens.
    func issuer(of tenant: String) -> String {
        switch wrapped {
        case .v1: "https://sts.windows.net/\(tenant)/"
        case .v2: "https://login.microsoftonline.com/\(tenant)/v2.0"
        }
    }

    /// Returns the URL of a tenant's keys.
    func keySetURL(of tenant: String) -> URL? {
        let version = self == .v1 ? "" : "/v2.0"
        return URL(string: "https://login.microsoftonline.com/\(tenant)/discovery\(version)/keys")
    }

    /// The name of the claim with the client's ID in access tokens.
    var clientClaim: String { self == .v1 ? "appid" : "azp" }
}

/// The tenants of Microsoft Entra whose tokens a policy accepts.
struct EntraTenants: Sendable {
    let version: EntraTokenVersion
    /// The GUIDs in lower case, or `nil` for every tenant.
    private let allowed: [String]?

    /// Creates the list of tenants, with `nil` for every tenant.
    ///
    /// Other texts than GUIDs are ignored.
    init(_ tenants: [String]?, version: EntraTokenVersion) {
        self.version = version
        allowed = tenants?.map { $0.lowercased() }.filter(Self.isTenant)
    }

    /// The rule for `iss`, which doesn't accept the issuer of any other tenant.
    var issuerRule: IssuerRule {
        guard let allowed else { return .skipIssuerCheck }
        return .oneOf(allowed.map(version.issuer(of:)))
    }

    /// The issuer in the metadata.
    var issuer: String { version.issuer(of: onlyTenant ?? "{tenantid}") }

    /// The URL of the keys: those of the only tenant, or of all.
    var keySetURL: URL? { version.keySetURL(of: onlyTenant ?? "common") }

    private var onlyTenant: String? { allowed?.count == 1 ? allowed?.first : nil }

    /// The check that `tid`, `iss` and the issuer of the signing key are the same tenant
    /// ([issuers](https://learn.microsoft.com/en-us/entra/identity-platform/access-tokens#validate-the-issuer)).
    var check: ClaimsCheck {
        ClaimsCheck(throwing: "tid") { [version] subject in
            guard let tenant = try subject.claims.stringClaim("tid") else {
                throw TokenError(.missingClaim, "the claim “tid” is missing, so the tenant is unknown")
            }
            guard Self.isTenant(tenant) else {
                throw TokenError(.malformedClaim, "the claim “tid” must be a GUID in lower case")
            }
            try IssuerRule.exactly(version.issuer(of: tenant)).check(subject.registered.issuer)
            guard let issuer = subject.key?.jwk.members["issuer"] else { return }
            // The keys for version 1 state the issuer of version 2, or none.
            guard let issuer = issuer.string,
                Self.filled(issuer, tenant).isExactly(EntraTokenVersion.v2.issuer(of: tenant))
                    || Self.filled(issuer, tenant).isExactly(version.issuer(of: tenant))
            else {
                throw TokenError(.issuerMismatch, "the key that signed the token is for another tenant")
            }
        }
    }

    /// Returns an issuer from the metadata, with its placeholder replaced by a tenant.
    private static func filled(_ issuer: String, _ tenant: String) -> String {
        issuer.replacing("{tenantid}", with: tenant).replacing("{tenantId}", with: tenant)
    }

    /// Returns a Boolean value that indicates whether a text is a GUID in lower case.
    private static func isTenant(_ text: String) -> Bool {
        UUID(uuidString: text)?.uuidString.lowercased().isExactly(text) ?? false
    }
}
