import TokenGeneration

extension OAuth2Client {
    /// Requests tokens with a grant.
    ///
    /// If an ``AuthorizationRequest`` asks for an ID token, with the scope `openid`, the rule must
    /// specify how the client treats it. The client returns no tokens if the ID token isn't valid.
    ///
    /// - Parameters:
    ///   - grant: The grant.
    ///   - idToken: The rule for the ID token. The default is ``IDTokenRule/notRequested``.
    /// - Returns: The tokens, with the verified ID token.
    /// - Throws: ``OAuth2Error``: `malformedRequest`, before anything is sent, if the rule doesn't
    ///   fit the grant; `protocolViolation` if the ID token is missing or invalid, with the
    ///   `TokenError` as its cause; the errors of ``RemoteKeySet/keys()`` if the keys to verify it
    ///   can't be loaded. `CancellationError` if the task is cancelled.
    public func tokens(for grant: some Grant, idToken: IDTokenRule = .notRequested) async throws -> IssuedTokens {
        try await verifying(try IDTokenCheck(idToken, for: grant)) { try await issuedTokens(for: grant) }
    }

    /// Requests tokens, and verifies the ID token that comes with them if there's a check.
    func verifying(
        _ check: IDTokenCheck?,
        _ request: () async throws -> IssuedTokens
    ) async throws -> IssuedTokens {
        // The response with the tokens uses up the code, so load the keys before it.
        try await check?.verifier.prepare()
        var tokens = try await request()
        tokens.idToken = try await check?.verifiedToken(of: tokens)
        return tokens
    }
}

/// The check of a grant's ID token.
struct IDTokenCheck {
    let verifier: IDTokenVerifier
    let request: ExpectedIDToken.Request

    /// - Returns: `nil` if there is nothing to check.
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
                "the authorization request asked for an ID token. Pass .verified(by:) with an IDTokenVerifier, "
                    + "or .skipIDTokenCheck"
            )
        case (.verified, nil):
            throw OAuth2Error(
                .malformedRequest,
                "there will be no ID token to verify. Add the scope “openid” to the authorization request"
            )
        }
    }

    /// Creates the check for a device's ID token.
    ///
    /// Device requests have no nonce.
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
                "the token response has no ID token, although the request asked for one"
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
                "the ID token isn't valid; don't use the tokens that came with it",
                cause: error
            )
        }
    }
}
