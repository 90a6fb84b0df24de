public import Foundation
internal import OpenSSLCrypto
import TokenGeneration

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
public struct ExtensionGrant: Grant {
    /// The grant's type, the subject, and the requested access.
    public let identifier: String
    /// A Boolean value that indicates whether the client can use this grant repeatedly without the
    /// user's help.
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
    /// Returns the name under which tokens for this access are stored.
    func fullIdentifier(_ names: String...) -> String {
        (names + (scope.map { ["scope=\($0)"] } ?? []) + identifier).joined(separator: "\n")
    }
}
