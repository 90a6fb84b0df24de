import OAuth2
import TokenGeneration

extension AccessTokenVerifier {
    /// Rejects a token that has been used before, and remembers it otherwise.
    ///
    /// It's the last check, so that a rejected request doesn't use up its token.
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
