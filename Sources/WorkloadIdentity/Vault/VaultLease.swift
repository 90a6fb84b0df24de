import Foundation
import OAuth2
import OpenSSLCrypto
import TokenGeneration

/// A client token of Vault with its lease.
struct VaultLease: Sendable {
    /// The part of a response that describes a client token.
    struct Answer {
        let token: String
        /// The duration of the lease; zero if it doesn't end.
        let lease: Duration
        let isRenewable: Bool

        /// Returns `nil` if the response has no token or no lease.
        init?(_ body: Data) {
            guard let auth = (try? JSONObject(parsing: body))?["auth"]?.object,
                let token = auth["client_token"]?.string, let lease = auth["lease_duration"]?.number?.integer,
                lease >= 0
            else { return nil }
            self.token = token
            self.lease = Duration(clampingSeconds: lease)
            isRenewable = auth["renewable"] == true && auth["token_type"] != "batch"
        }
    }

    let token: AccessToken
    /// The duration of the first lease, which renewals ask for.
    let duration: Duration
    private let isRenewable: Bool

    init(token: AccessToken, duration: Duration? = nil, _ answer: Answer) {
        var token = token
        let duration = duration ?? answer.lease
        // A shorter lease shows that the token reaches its maximum lifetime.
        isRenewable = answer.isRenewable && answer.lease >= duration && duration > .zero
        if isRenewable { token.renewal = token.requested + answer.lease * (2.0 / 3.0) }
        self.token = token
        self.duration = duration
    }

    /// Returns the lease after its renewal.
    func renewed(_ answer: Answer, requested: ContinuousClock.Instant) -> Self {
        let renewed = AccessToken(
            value: token.value,
            type: token.type,
            expiry: requested + answer.lease,
            requested: requested
        )
        return Self(token: renewed, duration: duration, answer)
    }

    /// Returns a Boolean value that indicates whether a caller can use the token after a renewal.
    ///
    /// A cache that still has a usable token asks for another one, but accepts the renewed one.
    func isRenewable(at now: ContinuousClock.Instant, for requirements: TokenRequirements) -> Bool {
        guard isRenewable, let expiry = token.expiry, now < expiry else { return false }
        return requirements.isInBackground || !requirements.isUnwanted(token.value)
    }
}
