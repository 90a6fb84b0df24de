public import Foundation

/// What entitles a client to a token ([RFC 6749 §1.3](https://www.rfc-editor.org/rfc/rfc6749#section-1.3)).
public protocol Grant: Sendable {
    /// What the grant is kept under in a store: the grant's type and all that it asks for, without secrets.
    var identifier: String { get }

    /// Whether the token endpoint can be asked with this grant again and again, without anybody's help.
    var isRepeatable: Bool { get }

    /// The refresh token to start with, for a grant that consists of one.
    var refreshToken: Secret? { get }

    /// The form's fields that this grant asks with.
    ///
    /// - Parameter date: The time by the server's clock, as far as it is known, for a grant that signs a time.
    /// - Returns: The fields in the order in which they are sent; `nil` if the grant has nothing but its refresh token.
    /// - Throws: Any error; the token request then fails with it.
    func parameters(at date: Date) async throws -> [(name: String, value: String)]?

    /// The form's fields to ask with once more after the server has rejected those of ``parameters(at:)``.
    ///
    /// - Parameter date: The time by the server's clock, which the rejection may have told.
    /// - Returns: Other fields than before, such as with a new assertion; `nil`, the default, if there are none.
    /// - Throws: Any error; the token request then fails with it.
    func renewedParameters(at date: Date) async throws -> [(name: String, value: String)]?

    /// Takes back what ``parameters(at:)`` has returned: no request with it has been sent.
    ///
    /// A grant that can be used once only, such as a code, can be used again after that. Other grants need nothing here, which is the
    /// default.
    func parametersWereNotSent()

    /// The form's fields that are sent along with a refresh token, such as `resource`; none by default.
    ///
    /// - Returns: The fields in the order in which they are sent.
    /// - Throws: Any error; the token request then fails with it.
    func refreshParameters() throws -> [(name: String, value: String)]

    /// The form's fields to send along with the same refresh token once more, after the server has rejected the request for those of
    /// ``refreshParameters()``.
    ///
    /// - Parameter error: What the server has answered; not that it does not accept the refresh token.
    /// - Returns: Fewer fields; `nil`, the default, to leave it at that.
    func reducedRefreshParameters(after error: OAuth2Error) -> [(name: String, value: String)]?

    /// A grant that asks for what a resource demands.
    ///
    /// The authenticator then repeats the refused request once, with a token of that grant, and keeps it apart.
    ///
    /// - Parameter demand: More scope ([RFC 6750 §3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1)), or another
    ///   authentication of the user ([RFC 9470](https://www.rfc-editor.org/rfc/rfc9470)).
    /// - Returns: The grant; `nil`, the default, if this one already asks for that, or can't.
    func answering(_ demand: ResourceDemand) -> (any Grant)?
}

extension Grant {
    /// No refresh token to start with.
    public var refreshToken: Secret? { nil }

    /// Nothing to take back.
    public func parametersWereNotSent() {}

    /// Nothing else to ask with.
    ///
    /// - Parameter date: Not used.
    /// - Returns: `nil`
    public func renewedParameters(at date: Date) -> [(name: String, value: String)]? { nil }

    /// None.
    ///
    /// - Returns: No fields.
    /// - Throws: Nothing; a grant that has some may.
    public func refreshParameters() throws -> [(name: String, value: String)] { [] }

    /// No others.
    ///
    /// - Parameter error: What the server has answered.
    /// - Returns: `nil`
    public func reducedRefreshParameters(after error: OAuth2Error) -> [(name: String, value: String)]? { nil }

    /// No other grant.
    ///
    /// - Parameter demand: What a resource demands.
    /// - Returns: `nil`
    public func answering(_ demand: ResourceDemand) -> (any Grant)? { nil }

    /// The scope that is asked for together with what a demand adds; `nil` if it adds nothing.
    func union(of scope: String?, and demand: ResourceDemand) -> String? {
        let names = (scope ?? "").split(separator: " ").map(String.init)
        let more = demand.scope.filter { !names.contains($0) }
        // A demand for a scope and for another authentication is not met by the scope alone.
        guard !more.isEmpty, demand.acrValues.isEmpty, demand.maxAge == nil else { return nil }
        return (names + more).joined(separator: " ")
    }
}

/// The client acts for itself ([RFC 6749 §4.4](https://www.rfc-editor.org/rfc/rfc6749#section-4.4)).
public struct ClientCredentialsGrant: Grant {
    /// The scope asked for; `nil` for the server's default.
    public var scope: String? { access.scope }
    private let access: RequestedAccess

    /// Makes the grant.
    ///
    /// - Parameters:
    ///   - scope: The scope asked for, names separated by spaces; `nil` for the server's default.
    ///   - resources: The URIs of the services that the token is for ([RFC 8707](https://www.rfc-editor.org/rfc/rfc8707)).
    ///   - authorizationDetails: What the token is to entitle to ([RFC 9396](https://www.rfc-editor.org/rfc/rfc9396)).
    public init(
        scope: String? = nil,
        resources: [String] = [],
        authorizationDetails: [AuthorizationDetail] = []
    ) {
        access = RequestedAccess(scope: scope, resources: resources, details: authorizationDetails)
    }

    /// The grant's type and all that it asks for.
    public var identifier: String {
        (["client_credentials \(scope ?? "")"] + access.identifier).joined(separator: "\n")
    }

    /// Always: the client's authentication is all it takes.
    public var isRepeatable: Bool { true }

    /// The form's fields.
    ///
    /// - Parameter date: Not used.
    /// - Returns: `grant_type` and what is asked for.
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest` for a scope or a resource that is none.
    public func parameters(at date: Date) throws -> [(name: String, value: String)]? {
        [("grant_type", "client_credentials")] + (try access.fields())
    }

    /// The same grant with the scope that a resource demands besides its own.
    ///
    /// - Parameter demand: What the resource demands.
    /// - Returns: The grant; `nil` if the demand adds no scope.
    public func answering(_ demand: ResourceDemand) -> (any Grant)? {
        union(of: scope, and: demand).map {
            ClientCredentialsGrant(scope: $0, resources: access.resources, authorizationDetails: access.details)
        }
    }
}

/// The client continues what somebody once granted ([RFC 6749 §6](https://www.rfc-editor.org/rfc/rfc6749#section-6)).
///
/// The token given here is the first one. Servers may replace it at each use; the authenticator keeps the newest in its
/// store, and uses what it finds there in preference to this one. Make the grant with the same first token after a
/// restart, and with the new one after somebody has authenticated again.
public struct RefreshTokenGrant: Grant {
    /// The first refresh token.
    public let refreshToken: Secret?
    /// The grant's type, a digest of the first token, so that two users' tokens never share a record, and what is asked for.
    public let identifier: String
    private let refresh: RefreshAccess

    /// Makes the grant.
    ///
    /// - Parameters:
    ///   - refreshToken: The first refresh token.
    ///   - scope: A part of what was granted; `nil` for all of it.
    ///   - resources: The services that tokens are for, of those that were granted; all if empty
    ///     ([RFC 8707 §2.2](https://www.rfc-editor.org/rfc/rfc8707#section-2.2)).
    ///   - omitsRefusedResources: Whether a server that rejects a request for its resources is asked once more without them. Some take
    ///     them with a code and not with a refresh token.
    public init(
        refreshToken: Secret,
        scope: String? = nil,
        resources: [String] = [],
        omitsRefusedResources: Bool = false
    ) {
        self.refreshToken = refreshToken
        refresh = RefreshAccess(
            access: RequestedAccess(scope: scope, resources: resources),
            omitsRefusedResources: omitsRefusedResources
        )
        identifier = refresh.identifier("refresh_token \(refreshToken.fingerprint.hexadecimal)")
    }

    /// Never: when its token is refused, somebody must grant anew.
    public var isRepeatable: Bool { false }

    /// Nothing but the refresh token.
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

/// What is asked for with a refresh token.
struct RefreshAccess: Sendable {
    let access: RequestedAccess
    /// Whether a server that rejects resources is asked once more without them.
    let omitsRefusedResources: Bool

    func reduced(after error: OAuth2Error) -> [(name: String, value: String)]? {
        guard omitsRefusedResources, !access.resources.isEmpty,
            ["invalid_target", "invalid_request", "invalid_resource"].contains(error.serverCode)
        else { return nil }
        return try? RequestedAccess(scope: access.scope).fields()
    }

    /// What tokens are kept under; that of a grant that asks for nothing in particular is its name.
    func identifier(_ name: String) -> String {
        ([name] + (access.scope.map { ["scope=\($0)"] } ?? []) + access.identifier).joined(separator: "\n")
    }
}
