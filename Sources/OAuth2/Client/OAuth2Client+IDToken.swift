import TokenGeneration

extension OAuth2Client {
    /// Gets the tokens that a grant entitles to.
    ///
    /// If an ``AuthorizationRequest`` asked for an ID token, by the scope `openid`, the rule must say how the client treats it. Tokens
    /// whose ID token isn't good are not returned.
    ///
    /// - Parameters:
    ///   - grant: The grant.
    ///   - idToken: How the client treats the ID token of a code flow.
    /// - Returns: The tokens, with the verified ID token.
    /// - Throws: ``OAuth2Error``: `malformedRequest`, before anything is sent, if the rule doesn't fit the grant; `protocolViolation`
    ///   if the ID token is missing or not good, with the `TokenError` as its cause; as ``RemoteKeySet/keys()`` does if there are no
    ///   keys to verify it with. `CancellationError` if the task is cancelled.
    public func tokens(for grant: some Grant, idToken: IDTokenRule = .notRequested) async throws -> IssuedTokens {
        guard let check = try IDTokenCheck(idToken, for: grant) else { return try await issuedTokens(for: grant) }
        // A code is spent by the first request: without keys it would be spent for nothing.
        try await check.verifier.prepare()
        var tokens = try await issuedTokens(for: grant)
        tokens.idToken = try await check.verifiedToken(of: tokens)
        return tokens
    }
}

/// The check of a grant's ID token.
struct IDTokenCheck {
    let verifier: IDTokenVerifier
    let request: ExpectedIDToken.Request

    /// - Returns: `nil` if there is nothing to check.
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest`.
    init?(_ rule: IDTokenRule, for grant: some Grant) throws(OAuth2Error) {
        let request = (grant as? AuthorizationCodeGrant)?.expectedIDToken.request
        switch (rule.wrapped, request) {
        case (.skipped, _), (.notRequested, nil): return nil
        case (.verified(let verifier), let request?):
            self.verifier = verifier
            self.request = request
        case (.notRequested, _?):
            throw OAuth2Error(
                .malformedRequest,
                "the grant's request asked for an ID token, which must be verified. Pass .verified(by:) with an IDTokenVerifier, "
                    + "or .skipIDTokenCheck"
            )
        case (.verified, nil):
            throw OAuth2Error(
                .malformedRequest,
                "the grant comes with no ID token to verify: its request needs the scope “openid”"
            )
        }
    }

    /// Makes the check of a device's ID token, whose request has no nonce.
    ///
    /// - Returns: `nil` if there is nothing to check.
    init?(ofDevice rule: IDTokenRule) {
        guard case .verified(let verifier) = rule.wrapped else { return nil }
        self.verifier = verifier
        request = ExpectedIDToken.Request(nonce: nil, maximumAuthenticationAge: nil)
    }

    func verifiedToken(of tokens: IssuedTokens) async throws -> VerifiedToken {
        guard let idToken = tokens.unverifiedIDToken else {
            throw OAuth2Error(
                .protocolViolation,
                "the token endpoint issued no ID token, though the request asked for one"
            )
        }
        do {
            return try await verifier.verify(
                idToken.expose { $0 },
                nonce: request.nonce?.expose { $0 },
                accessToken: tokens.accessToken.value.expose { $0 },
                maximumAuthenticationAge: request.maximumAuthenticationAge
            )
        } catch let error as TokenError {
            throw OAuth2Error(
                .protocolViolation,
                "the ID token is not valid, and the tokens that came with it must not be used",
                cause: error
            )
        }
    }
}
