/// A token source with a single token.
public struct StaticTokenSource: TokenSource {
    private let token: AccessToken

    /// Creates a source.
    ///
    /// - Parameter token: The token.
    public init(_ token: AccessToken) {
        self.token = token
    }

    /// Always `false`.
    public var canReplaceTokens: Bool { false }

    /// Returns the token.
    ///
    /// - Throws: ``OAuth2Error`` with the code `reauthenticationRequired` if the requirements rule
    ///   it out.
    public func token(for requirements: TokenRequirements) throws -> AccessToken {
        guard !requirements.isUnwanted(token.value) else {
            throw OAuth2Error(.reauthenticationRequired, "the only token of this source was rejected")
        }
        return token
    }
}

/// A token source that calls a closure.
public struct ClosureTokenSource: TokenSource {
    private let body: @Sendable (TokenRequirements) async throws -> AccessToken

    /// Creates a source.
    ///
    /// - Parameter body: A closure that gets a token, such as from a program or a metadata service.
    public init(_ body: @escaping @Sendable (TokenRequirements) async throws -> AccessToken) {
        self.body = body
    }

    /// Returns the closure's result.
    ///
    /// - Throws: Any error of the closure. In a ``CachedTokenSource``, an error other than
    ///   ``OAuth2Error`` becomes the cause of one with the code `grantFailed`.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        try await body(requirements)
    }
}

/// A token source that tries several sources in order.
public struct FallbackTokenSource: TokenSource {
    private let sources: [any TokenSource]

    /// Creates a source.
    ///
    /// - Parameter sources: The sources, in the order to try them.
    public init(_ sources: any TokenSource...) {
        self.sources = sources
    }

    /// A Boolean value that indicates whether any of the sources can replace a rejected token.
    public var canReplaceTokens: Bool { sources.contains { $0.canReplaceTokens } }

    /// Returns the token of the first source that has one.
    ///
    /// - Throws: The error of the last source.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        var failure: any Error = OAuth2Error(.grantFailed, "the fallback has no sources")
        for source in sources {
            do {
                let token = try await source.token(for: requirements)
                if !requirements.isUnwanted(token.value) { return token }
                failure = OAuth2Error(.reauthenticationRequired, "the only token of this source was rejected")
            } catch {
                if Task.isCancelled { throw CancellationError() }
                failure = error
            }
        }
        throw failure
    }
}
