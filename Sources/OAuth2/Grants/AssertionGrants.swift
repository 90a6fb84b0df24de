public import Foundation
internal import OpenSSLCrypto
import TokenGeneration

/// A SAML 2.0 assertion that somebody has signed entitles to a token
/// ([RFC 7522 §2.1](https://www.rfc-editor.org/rfc/rfc7522#section-2.1)).
public struct SAMLBearerGrant: Grant {
    /// The grant's type, whose assertion it is, and all that it asks for.
    public let identifier: String
    private let access: RequestedAccess
    private let assertion: @Sendable () async throws -> Data

    /// Makes the grant.
    ///
    /// - Parameters:
    ///   - identifier: Whose assertion it is, without secrets: tokens of different ones are kept apart by it.
    ///   - scope: The scope asked for; `nil` for the server's default.
    ///   - resources: The URIs of the services that the token is for.
    ///   - authorizationDetails: What the token is to entitle to.
    ///   - assertion: Gets an assertion: the XML text of one `Assertion` element, as it was signed. It is encoded here.
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

    /// Always: there is an assertion for each request.
    public var isRepeatable: Bool { true }

    /// The form's fields.
    ///
    /// - Parameter date: Not used.
    /// - Returns: `grant_type`, `assertion` and what is asked for.
    /// - Throws: Whatever keeps the assertion from being had; ``OAuth2Error`` with the code `malformedRequest` for a scope or
    ///   resource that is none.
    public func parameters(at date: Date) async throws -> [(name: String, value: String)]? {
        let access = try access.fields()
        let text = Base64URL.encode([UInt8](try await assertion()))
        return [("grant_type", "urn:ietf:params:oauth:grant-type:saml2-bearer"), ("assertion", text)] + access
    }

    /// The same grant with the scope that a resource demands besides its own.
    ///
    /// - Parameter demand: What the resource demands.
    /// - Returns: The grant; `nil` if the demand adds no scope.
    public func answering(_ demand: ResourceDemand) -> (any Grant)? {
        widened(access, by: demand).map { Self(name: "\(identifier)\nwider", $0, assertion) }
    }
}

/// A grant of a kind that this package does not know
/// ([RFC 6749 §4.5](https://www.rfc-editor.org/rfc/rfc6749#section-4.5)).
public struct ExtensionGrant: Grant {
    /// The grant's type, who it is of, and all that it asks for.
    public let identifier: String
    /// Whether the token endpoint can be asked with this grant again and again, without anybody's help.
    public let isRepeatable: Bool
    private let type: String
    private let access: RequestedAccess
    private let fields: @Sendable () async throws -> [(name: String, value: String)]

    /// Makes the grant.
    ///
    /// - Parameters:
    ///   - type: The absolute URI that names the grant.
    ///   - identifier: Who it is of, without secrets: tokens of different ones are kept apart by it.
    ///   - isRepeatable: Whether the token endpoint can be asked again and again, without anybody's help.
    ///   - scope: The scope asked for; `nil` for the server's default.
    ///   - resources: The URIs of the services that the token is for.
    ///   - authorizationDetails: What the token is to entitle to.
    ///   - parameters: Gets the grant's own parameters for one request.
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

    /// The form's fields.
    ///
    /// - Parameter date: Not used.
    /// - Returns: `grant_type`, the grant's own parameters and what is asked for.
    /// - Throws: What getting the parameters throws; ``OAuth2Error`` with the code `malformedRequest` for a scope or resource that is
    ///   none.
    public func parameters(at date: Date) async throws -> [(name: String, value: String)]? {
        let access = try access.fields()
        return [("grant_type", type)] + (try await fields()) + access
    }
}

/// What a user has granted and has to grant again when it has ended, be it in a browser or on another device.
///
/// The grant has nothing to ask with: tokens come by ``OAuth2Authenticator/signIn(with:)-(IssuedTokens)``, and from the store in the
/// processes that come after.
public struct UserGrant: Grant {
    /// The grant's type, who the user is, and what is asked for.
    public let identifier: String
    private let refresh: RefreshAccess

    /// Makes the grant.
    ///
    /// - Parameters:
    ///   - identifier: Who the user is, without secrets: tokens of different users are kept apart by it.
    ///   - scope: A part of what was granted, for tokens that are refreshed; `nil` for all of it.
    ///   - resources: The services that refreshed tokens are for, of those that were granted; all if empty.
    ///   - omitsRefusedResources: Whether a server that rejects a request for its resources is asked once more without them.
    public init(
        identifier: String,
        scope: String? = nil,
        resources: [String] = [],
        omitsRefusedResources: Bool = false
    ) {
        refresh = RefreshAccess(
            access: RequestedAccess(scope: scope, resources: resources),
            omitsRefusedResources: omitsRefusedResources
        )
        self.identifier = refresh.identifier("user \(identifier)")
    }

    /// Never: the user would have to grant anew.
    public var isRepeatable: Bool { false }

    /// Nothing.
    ///
    /// - Parameter date: Not used.
    /// - Returns: `nil`
    public func parameters(at date: Date) -> [(name: String, value: String)]? { nil }

    /// What tokens are asked for.
    ///
    /// - Returns: `scope` and `resource`.
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest` for a scope or resource that is none.
    public func refreshParameters() throws -> [(name: String, value: String)] { try refresh.access.fields() }

    /// The same without resources, if they are what was rejected, and may be left out.
    ///
    /// - Parameter error: What the server has answered.
    /// - Returns: `scope`, or `nil`.
    public func reducedRefreshParameters(after error: OAuth2Error) -> [(name: String, value: String)]? {
        refresh.reduced(after: error)
    }
}

extension RequestedAccess {
    /// What tokens are kept under that were asked for with this.
    func fullIdentifier(_ type: String, _ name: String) -> String {
        ([type, name] + (scope.map { ["scope=\($0)"] } ?? []) + identifier).joined(separator: "\n")
    }
}

extension Grant {
    /// What is asked for together with the scope that a demand adds; `nil` if it adds none.
    func widened(_ access: RequestedAccess, by demand: ResourceDemand) -> RequestedAccess? {
        union(of: access.scope, and: demand).map { scope in
            var access = access
            access.scope = scope
            return access
        }
    }
}
