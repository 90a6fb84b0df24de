import Foundation
import Networking
import TokenGeneration

extension TokenEndpoint {
    /// Requests tokens with a grant, and retries once with its renewed parameters if rejected.
    ///
    /// - Returns: The issued tokens, or `nil` if the grant has only a refresh token.
    func redeem(
        _ grant: any Grant,
        proof: DPoPProofGenerator?,
        until deadline: ContinuousClock.Instant
    ) async throws(OAuth2Error) -> TokenAnswer? {
        let request = { (form) async throws(OAuth2Error) in
            try await requestToken(form: form, proof: proof, isSingleUse: !grant.isRepeatable, until: deadline)
        }
        guard let form = try await parameters({ try await grant.parameters(at: serverDate()) }) else { return nil }
        let refusal: OAuth2Error
        do {
            return try await request(form)
        } catch {
            if !error.isAboutSentRequest { grant.parametersWereNotSent() }
            refusal = error
        }
        guard [.reauthenticationRequired, .requestRejected].contains(refusal.code),
            let form = try await parameters({ try await grant.renewedParameters(at: serverDate()) })
        else { throw Self.softened(refusal, of: grant) }
        do { return try await request(form) } catch { throw Self.softened(error, of: grant) }
    }

    /// Requests tokens with a grant's refresh token, and retries once with fewer parameters.
    func refresh(
        _ refreshToken: Secret,
        of grant: any Grant,
        proof: DPoPProofGenerator?,
        until deadline: ContinuousClock.Instant,
        sending limits: SendingLimits? = nil
    ) async throws(OAuth2Error) -> TokenAnswer {
        let request = { (form) async throws(OAuth2Error) in
            try await requestToken(
                form: form,
                proof: proof,
                isSingleUse: timing.rotation.isRotating,
                until: deadline,
                sending: limits
            )
        }
        let form = [("grant_type", "refresh_token"), ("refresh_token", refreshToken.expose { $0 })]
        let more = try await parameters { try grant.refreshParameters() } ?? []
        let refusal: OAuth2Error
        do {
            return try await request(form + more)
        } catch { refusal = error }
        guard refusal.code == .requestRejected, let fewer = grant.reducedRefreshParameters(after: refusal) else {
            throw refusal
        }
        return try await request(form + fewer)
    }

    /// Returns the time of the server's clock, as estimated from its responses.
    private func serverDate() async throws(OAuth2Error) -> Date {
        HTTPOrigin(try await server().tokenEndpoint).map { hints.date(for: $0) } ?? timeSource.date()
    }

    private func parameters(
        _ body: () async throws -> [(name: String, value: String)]?
    ) async throws(OAuth2Error) -> [(name: String, value: String)]? {
        do { return try await body() } catch let error as OAuth2Error {
            throw error
        } catch {
            throw OAuth2Error(.grantFailed, "the grant's parameters can't be created", cause: error)
        }
    }

    /// Turns the rejection of a repeatable grant into `requestRejected`, so it can be used again.
    ///
    /// Servers also respond with invalid_grant to an assertion from a client with a different
    /// clock. The user can't fix that, and a service must not stop permanently.
    private static func softened(_ error: OAuth2Error, of grant: any Grant) -> OAuth2Error {
        guard error.code == .reauthenticationRequired, grant.isRepeatable else { return error }
        var error = error.coded(.requestRejected)
        error.isPossiblyLostRotation = false
        return error
    }
}
