public import Foundation
public import Networking
internal import OpenSSLCrypto
public import TokenGeneration

/// The requirements that a resource states in its challenge when it rejects a request.
///
/// The values are the resource's text, which may repeat the rejected token, so no description or
/// dump shows them. Values that repeat it, or of more than 2,048 bytes, are dropped.
public struct ResourceDemand: Sendable, ComparedByParts, Redacted {
    /// The names of the scope that the request needs; empty if the resource didn't say.
    public var scope: [String]
    /// The acceptable authentication context classes, best first
    /// ([RFC 9470 §3](https://www.rfc-editor.org/rfc/rfc9470#section-3)).
    public var acrValues: [String]
    /// The maximum time since the user authenticated.
    public var maxAge: Duration?
    /// The URL of the resource's metadata, which lists the authorization servers it trusts
    /// ([RFC 9728 §5.1](https://www.rfc-editor.org/rfc/rfc9728#section-5.1)).
    ///
    /// The library never fetches it unasked, but with
    /// ``ProtectedResource/discover(after:matching:client:timing:)``.
    public var resourceMetadata: URL?
    /// The claims that the next token must have, as the JSON text of the parameter `claims` of an
    /// authorization or token request ([claims
    /// challenge](https://learn.microsoft.com/en-us/entra/identity-platform/claims-challenge)).
    public var claims: String?

    package init(
        scope: [String] = [],
        acrValues: [String] = [],
        maxAge: Duration? = nil,
        resourceMetadata: URL? = nil,
        claims: String? = nil
    ) {
        self.scope = scope
        self.acrValues = acrValues
        self.maxAge = maxAge
        self.resourceMetadata = resourceMetadata
        self.claims = claims
    }

    /// Creates a demand from a challenge, without the values that repeat the rejected token.
    init(_ challenge: AuthenticationChallenge, rejected token: Secret? = nil) {
        func isUsable(_ value: String) -> Bool {
            value.utf8.count <= 2_048 && token?.expose { !Array(value.utf8).containsRun(of: $0) } ?? true
        }
        func value(_ name: String) -> String? { challenge.parameters[name].flatMap { isUsable($0) ? $0 : nil } }
        scope = value("scope")?.spaceSeparated ?? []
        acrValues = value("acr_values")?.spaceSeparated ?? []
        maxAge = value("max_age").flatMap(UInt32.init).map { .seconds(Int64($0)) }
        resourceMetadata = value("resource_metadata").flatMap(URL.init(string:))
            .flatMap { HTTPOrigin($0) == nil ? nil : $0 }
        if value("error") == Self.claimsError {
            claims = value("claims").flatMap(Self.claims).flatMap { isUsable($0) ? $0 : nil }
        }
    }

    static let claimsError = "insufficient_claims"

    private static func claims(_ parameter: String) -> String? {
        guard let data = Data(base64Encoded: parameter), (try? JSONObject(parsing: data)) != nil else { return nil }
        return String(data: data, encoding: .utf8)
    }

    /// The names of the requirements, such as `scope`, without their values.
    public var description: String {
        let names = [
            scope.isEmpty ? nil : "scope", acrValues.isEmpty ? nil : "acr_values", maxAge.map { _ in "max_age" },
            resourceMetadata.map { _ in "resource_metadata" }, claims.map { _ in "claims" },
        ].compactMap(\.self)
        return "demand for \(names.isEmpty ? "nothing" : names.joined(separator: ", "))"
    }

    var parts: [AnyHashable?] {
        let lists = [scope, acrValues].map { $0.map(ByteComparedString.init) }
        return [maxAge, lists] + [resourceMetadata?.absoluteString, claims].map { $0.map(ByteComparedString.init) }
    }
}

extension ServerError {
    /// The resource's demand on the token, if an authenticator ended the operation because it
    /// can't meet the demand; `nil` otherwise.
    public var demand: ResourceDemand? { (authenticationError as? OAuth2Error)?.demand }
}

/// The meaning of a response to a request with a token, on which the authenticator decides.
struct ResourceRefusal {
    enum Kind: Hashable {
        /// A response that isn't about authentication.
        case unrelated
        /// [RFC 9449 §9](https://www.rfc-editor.org/rfc/rfc9449#section-9)
        case nonceNeeded
        case proofRejected
        /// Another authentication ([RFC 9470 §3](https://www.rfc-editor.org/rfc/rfc9470#section-3))
        /// or other claims.
        case stepUpRequired
        case insufficientScope
        /// A 403 without a reason.
        case forbidden
        /// [RFC 6750 §3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1)
        case tokenRejected
        /// A 401 with an unknown error code.
        case unclear
    }

    let kind: Kind
    let challenge: AuthenticationChallenge?

    /// Interprets a response to a request with the scheme `DPoP` or not.
    init(status: Int, headers: HTTPHeaders, body: Data?, isDPoP: Bool) {
        guard status == 400 || status == 401 || status == 403 else {
            self.init(.unrelated, nil)
            return
        }
        let challenges = AuthenticationChallenge.parse(headers.values(for: "WWW-Authenticate").joined(separator: ", "))
        let challenge = Self.challenge(in: challenges, isDPoP: isDPoP)
        let code = challenge?.parameters["error"]?.asciiOnly
        if isDPoP, status != 403 {
            let bodyCode = body.flatMap { $0.count <= 65_536 ? try? JSONObject(parsing: $0) : nil }?["error"]?.string?
                .asciiOnly
            if code == "use_dpop_nonce" && status == 401 || bodyCode == "use_dpop_nonce" {
                self.init(.nonceNeeded, challenge)
                return
            }
            if code == "invalid_dpop_proof" {
                self.init(.proofRejected, challenge)
                return
            }
        }
        switch (status, code) {
        case (401, "insufficient_user_authentication"), (401, ResourceDemand.claimsError):
            self.init(.stepUpRequired, challenge)
        case (401, "insufficient_scope"), (403, "insufficient_scope"): self.init(.insufficientScope, challenge)
        case (403, _): self.init(.forbidden, challenge)
        case (400, _), (_, "invalid_request"): self.init(.unrelated, challenge)
        case (_, nil) where !challenges.isEmpty && challenge == nil: self.init(.unrelated, nil)
        // The response is about the request's signature (RFC 9421 §5).
        case (_, nil) where headers["Accept-Signature"] != nil && challenge == nil: self.init(.unrelated, nil)
        case (_, nil), (_, "invalid_token"): self.init(.tokenRejected, challenge)
        default: self.init(.unclear, challenge)
        }
    }

    private init(_ kind: Kind, _ challenge: AuthenticationChallenge?) {
        self.kind = kind
        self.challenge = challenge
    }

    init?(_ error: any Error, isDPoP: Bool) {
        guard let error = error as? ServerError else { return nil }
        self.init(status: error.errorCode, headers: error.headers, body: error.response, isDPoP: isDPoP)
    }

    /// Returns the decisive challenge: one that names an error, preferably of the scheme that was
    /// used; otherwise the first of that scheme, or of the other OAuth scheme.
    private static func challenge(in challenges: [AuthenticationChallenge], isDPoP: Bool) -> AuthenticationChallenge? {
        let schemes = isDPoP ? ["DPoP", "Bearer"] : ["Bearer", "DPoP"]
        let ours = schemes.flatMap { scheme in challenges.filter { $0.isOfScheme(scheme) } }
        return ours.first { $0.parameters["error"] != nil } ?? ours.first
    }
}
