public import Foundation
internal import OpenSSLCrypto
public import TokenGeneration

/// A grant with a signed JWT, such as one with which a service acts for a user
/// ([RFC 7523 §2.1](https://www.rfc-editor.org/rfc/rfc7523#section-2.1)).
///
/// ```swift
/// let grant = JWTBearerGrant(
///     issuer: "reports@project.example",
///     audience: "https://as.example",
///     signingService: service,
///     scope: "reports.read"
/// )
/// ```
public struct JWTBearerGrant: RepeatableGrant {
    /// The grant's type, the assertion's subject, and the requested access.
    public let identifier: String
    let access: RequestedAccess
    private let assertion: @Sendable (Date) async throws -> Secret
    private let renewal: @Sendable (Date) async throws -> Secret?

    /// Creates a grant with the tokens of a source, such as JWTs that the platform issues.
    ///
    /// If the server rejects an assertion, the grant gets another one once. It sends no assertion
    /// again that the server has just rejected.
    ///
    /// - Parameters:
    ///   - source: The source of the assertions.
    ///   - identifier: A name without secrets that keeps different subjects' tokens apart.
    ///   - scope: The requested scope. The default, `nil`, requests the server's default.
    ///   - resources: The URIs of the services that the token is for.
    ///   - authorizationDetails: The details of the requested access.
    public init(
        assertion source: any TokenSource,
        identifier: String,
        scope: String? = nil,
        resources: [String] = [],
        authorizationDetails: [AuthorizationDetail] = []
    ) {
        let last = SharedValue<AccessToken?>(nil)
        let keep = { @Sendable (token: AccessToken) in
            last.replace(with: token)
            return token.value
        }
        self.init(
            name: identifier,
            RequestedAccess(scope: scope, resources: resources, details: authorizationDetails),
            assertion: { _ in keep(try await source.token()) },
            renewal: { _ in
                guard let last = last.value else { return nil }
                return try await source.replacement(for: last).map(keep)
            }
        )
    }

    /// Creates a grant with assertions from elsewhere.
    ///
    /// - Parameters:
    ///   - identifier: A name without secrets that keeps different subjects' tokens apart.
    ///   - scope: The requested scope. The default, `nil`, requests the server's default.
    ///   - resources: The URIs of the services that the token is for.
    ///   - authorizationDetails: The details of the requested access.
    ///   - assertion: A closure that returns an assertion for one request.
    public init(
        identifier: String,
        scope: String? = nil,
        resources: [String] = [],
        authorizationDetails: [AuthorizationDetail] = [],
        assertion: @escaping @Sendable () async throws -> Secret
    ) {
        self.init(
            name: identifier,
            RequestedAccess(scope: scope, resources: resources, details: authorizationDetails),
            assertion: { _ in try await assertion() }
        )
    }

    /// Creates a grant that signs a new assertion for each request.
    ///
    /// - Parameters:
    ///   - issuer: The signer, by the name that the server knows.
    ///   - subject: The party that the token acts for. The default, `nil`, is the issuer.
    ///   - audience: The assertion's audience: the server's issuer or its token endpoint's URL.
    ///   - lifetime: The lifetime in whole seconds, from 1 to 86,400. The default is 60 seconds.
    ///   - signingService: The service that signs.
    ///   - claims: Additional claims, which can't replace the standard ones.
    ///   - scope: The requested scope. The default, `nil`, requests the server's default.
    ///   - resources: The URIs of the services that the token is for.
    ///   - authorizationDetails: The details of the requested access.
    public init(
        issuer: String,
        subject: String? = nil,
        audience: String,
        lifetime: Duration = .seconds(60),
        signingService: any SigningService,
        claims: JSONObject = [:],
        scope: String? = nil,
        resources: [String] = [],
        authorizationDetails: [AuthorizationDetail] = []
    ) {
        let content = AssertionContent(issuer: issuer, subject: subject ?? issuer, lifetime: lifetime, claims: claims)
        self.init(
            name: "\(content.issuer) for \(content.subject)",
            RequestedAccess(scope: scope, resources: resources, details: authorizationDetails),
            assertion: { date in
                Secret(try await signingService.token(for: try content.claims(audience: audience, at: date)))
            }
        )
    }

    private init(
        name: String,
        _ access: RequestedAccess,
        assertion: @escaping @Sendable (Date) async throws -> Secret,
        renewal: (@Sendable (Date) async throws -> Secret?)? = nil
    ) {
        identifier = access.fullIdentifier("jwt-bearer", name)
        self.access = access
        self.assertion = assertion
        self.renewal = renewal ?? { try await assertion($0) }
    }

    /// Returns `grant_type`, `assertion` and the requested access.
    ///
    /// - Throws: The errors of the assertion closure or the signing service; ``OAuth2Error`` with
    ///   the code `malformedRequest` for an invalid scope or resource.
    public func parameters(at date: Date) async throws -> [(name: String, value: String)]? {
        let access = try access.fields()
        return Self.form(with: try await assertion(date), access)
    }

    /// Returns `nil` if a source of assertions has no other one.
    package func renewedParameters(at date: Date) async throws -> [(name: String, value: String)]? {
        let access = try access.fields()
        return try await renewal(date).map { Self.form(with: $0, access) }
    }

    func requesting(_ access: RequestedAccess) -> Self {
        Self(name: "\(identifier)\nwider", access, assertion: assertion, renewal: renewal)
    }

    private static func form(
        with assertion: Secret,
        _ access: [(name: String, value: String)]
    ) -> [(name: String, value: String)] {
        [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", assertion.expose { $0 })] + access
    }
}

/// A grant with a signed SAML 2.0 assertion
/// ([RFC 7522 §2.1](https://www.rfc-editor.org/rfc/rfc7522#section-2.1)).
public struct SAMLBearerGrant: RepeatableGrant {
    /// The grant's type, the subject, and the requested access.
    public let identifier: String
    let access: RequestedAccess
    private let assertion: @Sendable () async throws -> Data

    /// Creates the grant.
    ///
    /// - Parameters:
    ///   - identifier: A name without secrets that keeps different subjects' tokens apart.
    ///   - scope: The requested scope. The default, `nil`, requests the server's default.
    ///   - resources: The URIs of the services that the token is for.
    ///   - authorizationDetails: The details of the requested access.
    ///   - assertion: A closure that returns the XML text of a signed `Assertion`, unencoded.
    public init(
        identifier: String,
        scope: String? = nil,
        resources: [String] = [],
        authorizationDetails: [AuthorizationDetail] = [],
        assertion: @escaping @Sendable () async throws -> Data
    ) {
        self.init(
            name: identifier,
            RequestedAccess(scope: scope, resources: resources, details: authorizationDetails),
            assertion
        )
    }

    private init(name: String, _ access: RequestedAccess, _ assertion: @escaping @Sendable () async throws -> Data) {
        identifier = access.fullIdentifier("saml2-bearer", name)
        self.access = access
        self.assertion = assertion
    }

    /// Returns `grant_type`, `assertion` and the requested access.
    ///
    /// - Throws: The assertion closure's errors; ``OAuth2Error`` with the code `malformedRequest`
    ///   for an invalid scope or resource.
    public func parameters(at date: Date) async throws -> [(name: String, value: String)]? {
        let access = try access.fields()
        let text = Base64URL.encode([UInt8](try await assertion()))
        return [("grant_type", "urn:ietf:params:oauth:grant-type:saml2-bearer"), ("assertion", text)] + access
    }

    func requesting(_ access: RequestedAccess) -> Self { Self(name: "\(identifier)\nwider", access, assertion) }
}

/// A grant of a type that isn't built in
/// ([RFC 6749 §4.5](https://www.rfc-editor.org/rfc/rfc6749#section-4.5)).
public struct ExtensionGrant: DetailedGrant {
    /// The grant's type, the subject, and the requested access.
    public let identifier: String
    /// A Boolean value that indicates whether the grant works again without the user's help.
    public let isRepeatable: Bool
    private let type: String
    private let access: RequestedAccess
    private let fields: @Sendable () async throws -> [(name: String, value: String)]

    /// Creates the grant.
    ///
    /// - Parameters:
    ///   - type: The absolute URI of the grant type.
    ///   - identifier: A name without secrets that keeps different subjects' tokens apart.
    ///   - isRepeatable: `true` if the client can use this grant again without the user's help.
    ///   - scope: The requested scope. The default, `nil`, requests the server's default.
    ///   - resources: The URIs of the services that the token is for.
    ///   - authorizationDetails: The details of the requested access.
    ///   - parameters: A closure that returns the grant's own parameters for one request.
    public init(
        type: String,
        identifier: String,
        isRepeatable: Bool,
        scope: String? = nil,
        resources: [String] = [],
        authorizationDetails: [AuthorizationDetail] = [],
        parameters: @escaping @Sendable () async throws -> [(name: String, value: String)]
    ) {
        self.type = type
        self.isRepeatable = isRepeatable
        access = RequestedAccess(scope: scope, resources: resources, details: authorizationDetails)
        self.identifier = access.fullIdentifier(type, identifier)
        fields = parameters
    }

    /// Returns `grant_type`, the grant's own parameters and the requested access.
    ///
    /// - Throws: The parameter closure's errors; ``OAuth2Error`` with the code `malformedRequest`
    ///   for an invalid scope or resource.
    public func parameters(at date: Date) async throws -> [(name: String, value: String)]? {
        let access = try access.fields()
        return [("grant_type", type)] + (try await fields()) + access
    }
}

/// A grant that a user gives, in a browser or on another device, and must renew when it has ended.
///
/// The grant has no credential. Its tokens come from
/// ``OAuth2Authenticator/signIn(with:)-(IssuedTokens)``, and in later processes from the store.
public struct UserGrant: RefreshedGrant {
    /// The grant's type, the user, and the requested access.
    public let identifier: String
    let access: RequestedAccess
    let omitsRefusedResources: Bool

    /// Creates the grant.
    ///
    /// - Parameters:
    ///   - identifier: A name without secrets that keeps different subjects' tokens apart.
    ///   - scope: A part of the granted scope for refreshed tokens. The default, `nil`, is all.
    ///   - resources: A part of the granted resources for refreshed tokens. The default is all.
    ///   - omitsRefusedResources: `true` to retry without the resources if the server rejects them.
    ///     The default is `false`.
    public init(
        identifier: String,
        scope: String? = nil,
        resources: [String] = [],
        omitsRefusedResources: Bool = false
    ) {
        access = RequestedAccess(scope: scope, resources: resources)
        self.omitsRefusedResources = omitsRefusedResources
        self.identifier = access.fullIdentifier("user \(identifier)")
    }
}

extension RequestedAccess {
    func fullIdentifier(_ names: String...) -> String {
        (names + (scope.map { ["scope=\($0)"] } ?? []) + identifier).joinedAsLines
    }
}

extension [String] {
    /// The parts of an identifier, one per line.
    ///
    /// Further lines of a part are indented, so that no user's name can look like another user's
    /// name and access.
    var joinedAsLines: String {
        map { part in
            part.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map(Substring.init)
                .joined(separator: "\n ")
        }
        .joined(separator: "\n")
    }
}
