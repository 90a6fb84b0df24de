/// One token, for as long as it lasts.
public struct StaticTokenSource: TokenSource {
    private let token: AccessToken

    /// Makes a source.
    ///
    /// - Parameter token: The token.
    public init(_ token: AccessToken) {
        self.token = token
    }

    /// No: there is only the one.
    public var canReplaceTokens: Bool { false }

    /// The token.
    ///
    /// - Parameter requirements: What the token is for.
    /// - Returns: The token.
    /// - Throws: ``OAuth2Error`` with the code `reauthenticationRequired` if the need rules the token out.
    public func token(for requirements: TokenRequirements) throws -> AccessToken {
        guard !requirements.isUnwanted(token.value) else {
            throw OAuth2Error(.reauthenticationRequired, "the token will not do, and its source has no other")
        }
        return token
    }
}

/// What tokens come from, as a closure.
public struct ClosureTokenSource: TokenSource {
    private let body: @Sendable (TokenRequirements) async throws -> AccessToken

    /// Makes a source.
    ///
    /// - Parameter body: Gets a token, such as from a program or a metadata service.
    public init(_ body: @escaping @Sendable (TokenRequirements) async throws -> AccessToken) {
        self.body = body
    }

    /// What the closure returns.
    ///
    /// - Parameter requirements: What the token is for.
    /// - Returns: The token.
    /// - Throws: What the closure throws; in a ``CachedTokenSource``, an error that is no ``OAuth2Error`` becomes the cause of one
    ///   with the code `grantFailed`.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        try await body(requirements)
    }
}

/// The first of several sources that has a token.
public struct FallbackTokenSource: TokenSource {
    private let sources: [any TokenSource]

    /// Makes a source.
    ///
    /// - Parameter sources: Those that are asked, in this order.
    public init(_ sources: any TokenSource...) {
        self.sources = sources
    }

    /// Whether any of the sources can.
    public var canReplaceTokens: Bool { sources.contains { $0.canReplaceTokens } }

    /// The token of the first source that has one.
    ///
    /// - Parameter requirements: What the token is for.
    /// - Returns: The token.
    /// - Throws: What the last source throws; `CancellationError` if the task is cancelled.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        var failure: any Error = OAuth2Error(.grantFailed, "there is no source to fall back on")
        for source in sources {
            do {
                let token = try await source.token(for: requirements)
                if !requirements.isUnwanted(token.value) { return token }
                failure = OAuth2Error(.reauthenticationRequired, "the token will not do, and its source has no other")
            } catch {
                if Task.isCancelled { throw CancellationError() }
                failure = error
            }
        }
        throw failure
    }
}
