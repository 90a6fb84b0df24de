public import Foundation
internal import OpenSSLCrypto

/// An authorization grant, which a client uses to get tokens
/// ([RFC 6749 §1.3](https://www.rfc-editor.org/rfc/rfc6749#section-1.3)).
public protocol Grant: Sendable {
    /// The name of the grant in a token store: its type and the requested access, without secrets.
    var identifier: String { get }

    /// A Boolean value that indicates whether the grant works again without the user's help.
    var isRepeatable: Bool { get }

    /// Returns the form's fields for a token request.
    ///
    /// - Parameter date: The estimated time of the server's clock, for a grant that signs a time.
    /// - Returns: The fields in order, or `nil` if the grant has only its refresh token.
    /// - Throws: Any error, with which the token request fails.
    func parameters(at date: Date) async throws -> [(name: String, value: String)]?
}

/// A grant that can do more than request tokens.
package protocol DetailedGrant: Grant {
    /// The initial refresh token, for a grant that consists of one.
    var refreshToken: Secret? { get }

    /// Returns different fields for a second attempt after ``Grant/parameters(at:)`` was rejected,
    /// such as with a new assertion; `nil` for no second attempt.
    func renewedParameters(at date: Date) async throws -> [(name: String, value: String)]?

    /// Notifies a single-use grant, such as a code, that its parameters weren't sent.
    func parametersWereNotSent()

    /// Returns the form's fields to send with a refresh token, such as `resource`.
    func refreshParameters() throws -> [(name: String, value: String)]

    /// Returns fewer fields for a second attempt with the same refresh token, after the server has
    /// rejected those of ``refreshParameters()``; `nil` for no second attempt.
    func reducedRefreshParameters(after error: OAuth2Error) -> [(name: String, value: String)]?

    /// Returns a grant that meets a resource's demand for scope or claims, as far as the options
    /// allow it; `nil` for a grant that has the access or can't get it.
    func answering(_ demand: ResourceDemand) -> (any Grant)?
}

extension DetailedGrant {
    package var refreshToken: Secret? { nil }

    package func renewedParameters(at date: Date) -> [(name: String, value: String)]? { nil }

    package func parametersWereNotSent() {}

    package func refreshParameters() throws -> [(name: String, value: String)] { [] }

    package func reducedRefreshParameters(after error: OAuth2Error) -> [(name: String, value: String)]? { nil }

    package func answering(_ demand: ResourceDemand) -> (any Grant)? { nil }
}

extension Grant {
    package var details: (any DetailedGrant)? { self as? any DetailedGrant }
}

/// A grant that the client can use again without the user's help, also with wider access.
protocol RepeatableGrant: DetailedGrant {
    var access: RequestedAccess { get }

    func requesting(_ access: RequestedAccess) -> Self
}

extension RepeatableGrant {
    /// Always `true`.
    public var isRepeatable: Bool { true }

    package func answering(_ demand: ResourceDemand) -> (any Grant)? {
        access.widened(by: demand).map(requesting)
    }
}

/// A grant for a client that acts for itself
/// ([RFC 6749 §4.4](https://www.rfc-editor.org/rfc/rfc6749#section-4.4)).
public struct ClientCredentialsGrant: RepeatableGrant {
    let access: RequestedAccess

    /// Creates the grant.
    ///
    /// - Parameters:
    ///   - scope: The requested names, separated by spaces, or `nil` for the server's default.
    ///   - resources: The URIs of the services that the token is for
    ///     ([RFC 8707](https://www.rfc-editor.org/rfc/rfc8707)).
    ///   - authorizationDetails: The details of the requested access
    ///     ([RFC 9396](https://www.rfc-editor.org/rfc/rfc9396)).
    ///   - additionalParameters: Other parameters, such as the `audience` that Auth0 needs.
    public init(
        scope: String? = nil,
        resources: [String] = [],
        authorizationDetails: [AuthorizationDetail] = [],
        additionalParameters: [String: String] = [:]
    ) {
        access = RequestedAccess(
            scope: scope,
            resources: resources,
            details: authorizationDetails,
            additionalParameters: additionalParameters
        )
    }

    private init(_ access: RequestedAccess) { self.access = access }

    /// The grant's type and the requested access.
    public var identifier: String {
        (["client_credentials \(access.scope ?? "")"] + access.identifier).joinedAsLines
    }

    /// Returns `grant_type` and the requested access.
    ///
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest` for an invalid scope or resource,
    ///   or an additional parameter that the request sets itself.
    public func parameters(at date: Date) throws -> [(name: String, value: String)]? {
        [("grant_type", "client_credentials")] + (try access.fields())
    }

    func requesting(_ access: RequestedAccess) -> Self { Self(access) }
}

/// A grant with a refresh token ([RFC 6749 §6](https://www.rfc-editor.org/rfc/rfc6749#section-6)).
///
/// The token in the initializer is only the first one. The server may rotate it with each use. The
/// authenticator stores the newest one and prefers it to the first. Create the grant with the same
/// first token after a restart, and with the new token after the user has signed in again.
public struct RefreshTokenGrant: RefreshedGrant {
    package let refreshToken: Secret?
    /// The grant's type, a digest of the first token that keeps users apart, and the access.
    public let identifier: String
    let access: RequestedAccess
    let omitsRefusedResources: Bool

    /// Creates the grant.
    ///
    /// - Parameters:
    ///   - refreshToken: The first refresh token.
    ///   - scope: A part of the granted scope. The default, `nil`, requests all of it.
    ///   - resources: A part of the granted resources
    ///     ([RFC 8707 §2.2](https://www.rfc-editor.org/rfc/rfc8707#section-2.2)). The default, an
    ///     empty array, requests all of them.
    ///   - omitsRefusedResources: `true` to retry without the resources if the server rejects them,
    ///     as some do only with a refresh token. The default is `false`.
    public init(
        refreshToken: Secret,
        scope: String? = nil,
        resources: [String] = [],
        omitsRefusedResources: Bool = false
    ) {
        self.refreshToken = refreshToken
        access = RequestedAccess(scope: scope, resources: resources)
        self.omitsRefusedResources = omitsRefusedResources
        identifier = access.fullIdentifier("refresh_token \(refreshToken.fingerprint.hexadecimal)")
    }
}

/// A grant that only a refresh token can renew; without one, the user must sign in again.
protocol RefreshedGrant: DetailedGrant {
    var access: RequestedAccess { get }
    var omitsRefusedResources: Bool { get }
}

extension RefreshedGrant {
    /// Always `false`.
    public var isRepeatable: Bool { false }

    /// Returns `nil`, because only a refresh token gets tokens.
    public func parameters(at date: Date) -> [(name: String, value: String)]? { nil }

    package func refreshParameters() throws -> [(name: String, value: String)] { try access.fields() }

    package func reducedRefreshParameters(after error: OAuth2Error) -> [(name: String, value: String)]? {
        guard omitsRefusedResources, !access.resources.isEmpty,
            ["invalid_target", "invalid_request", "invalid_resource"].contains(error.serverCode)
        else { return nil }
        return try? RequestedAccess(scope: access.scope).fields()
    }
}

/// A grant with the code from an ``AuthorizationRequest``'s response
/// ([RFC 6749 §4.1.3](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3)).
///
/// ``AuthorizationRequest/grant(from:of:)`` returns it. A code works only once, and then only a
/// refresh token can renew the tokens. If the code certainly wasn't sent, for example because the
/// connection failed, the grant can be used again.
public struct AuthorizationCodeGrant: DetailedGrant {
    /// The grant's type and a digest of the code.
    public let identifier: String
    /// The services that this token is for, a part of those that were requested
    /// ([RFC 8707 §2.2](https://www.rfc-editor.org/rfc/rfc8707#section-2.2)).
    ///
    /// The default, an empty array, requests all of them.
    public var resources: [String] = []
    let expectedIDToken: ExpectedIDToken
    private let code: Secret
    private let redirectURI: String
    private let codeVerifier: CodeVerifier
    private let isUsed = SharedValue(false)

    package init(code: Secret, redirectURI: String, codeVerifier: CodeVerifier, idToken: ExpectedIDToken) {
        expectedIDToken = idToken
        self.code = code
        self.redirectURI = redirectURI
        self.codeVerifier = codeVerifier
        identifier = "authorization_code \(code.fingerprint.hexadecimal)"
    }

    /// Always `false`: the user would have to authorize the client again.
    public var isRepeatable: Bool { false }

    /// Returns `grant_type`, code, redirect URI and code verifier; `nil` after the first use.
    ///
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest` for a resource that isn't a URI.
    public func parameters(at date: Date) throws -> [(name: String, value: String)]? {
        let access = try RequestedAccess(resources: resources).fields()
        guard !isUsed.replace(with: true) else { return nil }
        return [
            ("grant_type", "authorization_code"), ("code", code.expose { $0 }), ("redirect_uri", redirectURI),
            ("code_verifier", codeVerifier.value.expose { $0 }),
        ] + access
    }

    package func parametersWereNotSent() { isUsed.replace(with: false) }
}
