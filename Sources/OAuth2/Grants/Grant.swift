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
    /// - Returns: The fields in the order in which they are sent; `nil` if the grant has nothing but its refresh token.
    /// - Throws: Any error; the token request then fails with it.
    func parameters() async throws -> [(name: String, value: String)]?

    /// The form's fields to ask with once more after the server has rejected those of ``parameters()``.
    ///
    /// - Returns: Other fields than before, such as with a new assertion; `nil`, the default, if there are none.
    /// - Throws: Any error; the token request then fails with it.
    func renewedParameters() async throws -> [(name: String, value: String)]?

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

    /// Nothing else to ask with.
    ///
    /// - Returns: `nil`
    public func renewedParameters() -> [(name: String, value: String)]? { nil }

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
    public let scope: String?

    /// Makes the grant.
    ///
    /// - Parameter scope: The scope asked for, names separated by spaces; `nil` for the server's default.
    public init(scope: String? = nil) {
        self.scope = scope
    }

    /// The grant's type and scope.
    public var identifier: String { "client_credentials \(scope ?? "")" }

    /// Always: the client's authentication is all it takes.
    public var isRepeatable: Bool { true }

    /// The form's fields.
    ///
    /// - Returns: `grant_type` and, if there is one, `scope`.
    public func parameters() -> [(name: String, value: String)]? {
        [("grant_type", "client_credentials")] + (scope.map { [("scope", $0)] } ?? [])
    }

    /// The same grant with the scope that a resource demands besides its own.
    ///
    /// - Parameter demand: What the resource demands.
    /// - Returns: The grant; `nil` if the demand adds no scope.
    public func answering(_ demand: ResourceDemand) -> (any Grant)? {
        union(of: scope, and: demand).map { ClientCredentialsGrant(scope: $0) }
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
    /// The grant's type and a digest of the first token, so that two users' tokens never share a record.
    public let identifier: String

    /// Makes the grant.
    ///
    /// - Parameter refreshToken: The first refresh token.
    public init(refreshToken: Secret) {
        self.refreshToken = refreshToken
        identifier = "refresh_token \(refreshToken.fingerprint.hexadecimal)"
    }

    /// Never: when its token is refused, somebody must grant anew.
    public var isRepeatable: Bool { false }

    /// Nothing but the refresh token.
    ///
    /// - Returns: `nil`
    public func parameters() -> [(name: String, value: String)]? { nil }
}
