import TokenGeneration

extension AccessTokenVerifier {
    /// Rejects a token that its issuer has revoked.
    ///
    /// It's the last check, because only an accepted token may cause a request
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
}
