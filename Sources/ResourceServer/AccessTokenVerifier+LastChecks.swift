import OAuth2
import TokenGeneration

extension AccessTokenVerifier {
    /// Rejects a token that its issuer has revoked.
    ///
    /// Only an accepted token may cause a request, so it follows the other checks
    /// ([Token Status List
    /// §8.3](https://datatracker.ietf.org/doc/html/draft-ietf-oauth-status-list-20#section-8.3)).
    func checkStatus(
        of token: VerifiedAccessToken,
        in lists: CachedStatusLists?,
        _ presented: PresentedToken
    ) async throws(AccessRefusal) {
        guard let lists else { return }
        do {
            try await lists.check(token.claims)
        } catch let error as TokenError {
            throw invalidToken(presented, "the access token is invalid: \(error.message)", cause: error)
        } catch {
            throw AccessRefusal(.undecided, "the status of the access token couldn't be checked", cause: error)
        }
    }

    /// Rejects a token that has been used before, and remembers it otherwise.
    ///
    /// It's the very last check, so that a rejected request doesn't use up its token.
    func checkIsFirstUse(_ use: SingleUse?, _ presented: PresentedToken) async throws(AccessRefusal) {
        guard let replayCache else { return }
        do {
            guard let use else { throw TokenError(.replayCacheFailed, "the token's use wasn't read") }
            try await use.record(in: replayCache)
        } catch let error as TokenError where ![.replayCacheFull, .replayCacheFailed].contains(error.code) {
            throw invalidToken(presented, "the access token is invalid: \(error.message)", cause: error)
        } catch {
            throw AccessRefusal(.undecided, "the first use of the access token couldn't be recorded", cause: error)
        }
    }

    /// Returns the use of an introspected token.
    ///
    /// - Throws: `TokenError` with the code `missingClaim`, `malformedClaim` or `lifetimeTooLong`.
    func use(of answer: IntrospectedToken, by introspection: CachedTokenIntrospection) throws(TokenError) -> SingleUse {
        let use = SingleUse()
        try use.read(
            RegisteredClaims(issuer: answer.issuer, expiration: answer.expiration, jwtID: answer.jwtID),
            signer: introspection.issuer,
            limit: policy.maximumLifetime,
            leeway: policy.leeway,
            at: policy.currentDate()
        )
        return use
    }
}
