public import Foundation
public import TokenGeneration

/// A JWT that somebody has signed entitles to a token
/// ([RFC 7523 §2.1](https://www.rfc-editor.org/rfc/rfc7523#section-2.1)), such as one by which a service acts for a user.
///
/// ```swift
/// let grant = JWTBearerGrant(
///     issuer: "reports@project.example",
///     audience: "https://as.example",
///     signingService: service,
///     scope: "reports.read"
/// )
/// ```
public struct JWTBearerGrant: Grant {
    /// The grant's type, whose assertion it is, and all that it asks for.
    public let identifier: String
    private let access: RequestedAccess
    private let assertion: @Sendable (Date) async throws -> Secret

    /// Makes the grant of assertions that somebody else makes.
    ///
    /// - Parameters:
    ///   - identifier: Whose assertion it is, without secrets: tokens of different ones are kept apart by it.
    ///   - scope: The scope asked for; `nil` for the server's default.
    ///   - resources: The URIs of the services that the token is for.
    ///   - authorizationDetails: What the token is to entitle to.
    ///   - assertion: Makes an assertion that is good for one request.
    public init(
        identifier: String,
        scope: String? = nil,
        resources: [String] = [],
        authorizationDetails: [AuthorizationDetail] = [],
        assertion: @escaping @Sendable () async throws -> Secret
    ) {
        self.init(
            name: identifier,
            RequestedAccess(scope: scope, resources: resources, details: authorizationDetails)
        ) { _ in try await assertion() }
    }

    /// Makes the grant of assertions that the client signs itself, a new one for each request.
    ///
    /// - Parameters:
    ///   - issuer: Who signs, as the server knows it.
    ///   - subject: Whom the token is to act for; the issuer if `nil`.
    ///   - audience: Whom the assertion is addressed to: the server's issuer or the URL of its token endpoint.
    ///   - lifetime: How long an assertion is valid; a minute by default. Whole seconds count, at least one and at most a day of them.
    ///   - signingService: What signs.
    ///   - claims: What else the assertion says; it can't change what it says anyway.
    ///   - scope: The scope asked for; `nil` for the server's default.
    ///   - resources: The URIs of the services that the token is for.
    ///   - authorizationDetails: What the token is to entitle to.
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
        self.init(
            AssertionContent(issuer: issuer, subject: subject ?? issuer, lifetime: lifetime, claims: claims),
            audience,
            RequestedAccess(scope: scope, resources: resources, details: authorizationDetails)
        ) { claims in
            try JWTGenerator(payload: claims, signingService: signingService).token()
        }
    }

    /// Makes the grant of assertions that are signed where the client's key is kept, such as in a key management service; a new one
    /// for each request.
    ///
    /// - Parameters:
    ///   - issuer: Who signs, as the server knows it.
    ///   - subject: Whom the token is to act for; the issuer if `nil`.
    ///   - audience: Whom the assertion is addressed to: the server's issuer or the URL of its token endpoint.
    ///   - lifetime: How long an assertion is valid; a minute by default. Whole seconds count, at least one and at most a day of them.
    ///   - remoteSigningService: What signs.
    ///   - claims: What else the assertion says; it can't change what it says anyway.
    ///   - scope: The scope asked for; `nil` for the server's default.
    ///   - resources: The URIs of the services that the token is for.
    ///   - authorizationDetails: What the token is to entitle to.
    public init(
        issuer: String,
        subject: String? = nil,
        audience: String,
        lifetime: Duration = .seconds(60),
        remoteSigningService: any RemoteSigningService,
        claims: JSONObject = [:],
        scope: String? = nil,
        resources: [String] = [],
        authorizationDetails: [AuthorizationDetail] = []
    ) {
        self.init(
            AssertionContent(issuer: issuer, subject: subject ?? issuer, lifetime: lifetime, claims: claims),
            audience,
            RequestedAccess(scope: scope, resources: resources, details: authorizationDetails)
        ) { claims in
            try await remoteSigningService.sign(claims)
        }
    }

    private init(
        _ content: AssertionContent,
        _ audience: String,
        _ access: RequestedAccess,
        sign: @escaping @Sendable (JSONObject) async throws -> String
    ) {
        self.init(name: "\(content.issuer) for \(content.subject)", access) { date in
            Secret(try await sign(try content.claims(audience: audience, at: date)))
        }
    }

    private init(
        name: String,
        _ access: RequestedAccess,
        _ assertion: @escaping @Sendable (Date) async throws -> Secret
    ) {
        identifier = access.fullIdentifier("jwt-bearer", name)
        self.access = access
        self.assertion = assertion
    }

    /// Always: there is a new assertion for each request.
    public var isRepeatable: Bool { true }

    /// The form's fields.
    ///
    /// - Parameter date: The time at which an assertion is issued that the client signs itself.
    /// - Returns: `grant_type`, `assertion` and what is asked for.
    /// - Throws: Whatever keeps the assertion from being made; ``OAuth2Error`` with the code `malformedRequest` for a scope or
    ///   resource that is none.
    public func parameters(at date: Date) async throws -> [(name: String, value: String)]? {
        let access = try access.fields()
        let assertion = try await assertion(date)
        return [
            ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", assertion.expose { $0 }),
        ] + access
    }

    /// The same with a new assertion: the first may have been made by a clock that is wrong.
    ///
    /// - Parameter date: The time at which the assertion is issued.
    /// - Returns: The fields.
    /// - Throws: As ``parameters(at:)``.
    public func renewedParameters(at date: Date) async throws -> [(name: String, value: String)]? {
        try await parameters(at: date)
    }

    /// The same grant with the scope that a resource demands besides its own.
    ///
    /// - Parameter demand: What the resource demands.
    /// - Returns: The grant; `nil` if the demand adds no scope.
    public func answering(_ demand: ResourceDemand) -> (any Grant)? {
        widened(access, by: demand).map { Self(name: "\(identifier)\nwider", $0, assertion) }
    }
}
