package import FoundationEssentials
internal import Synchronization

/// The record that a token has been used, made after the token was accepted.
///
/// The policy's last check reads what identifies the token. ``record(in:)`` remembers it once no
/// other check can reject the token anymore.
package final class SingleUse: Sendable {
    private struct Token: Sendable {
        let identifier: String
        let signer: String
        let acceptedUntil: Date
        let date: Date
    }

    /// If the policy doesn't limit the lifetime: a day.
    private static let maximumLifetime = Duration.seconds(86_400)

    private let token = Mutex<Token?>(nil)

    package init() {}

    /// Also requires `jti`, and an `exp` that isn't too distant.
    package func policy(_ policy: ValidationPolicy) -> ValidationPolicy {
        let limit = policy.maximumLifetime
        var policy = policy
        policy.checks.append(
            ClaimsCheck(throwing: "jti") { [self] subject in
                try read(
                    subject.registered,
                    signer: subject.key?.thumbprint ?? "",
                    limit: limit,
                    leeway: subject.leeway,
                    at: subject.date
                )
            }
        )
        return policy
    }

    /// The signer is the thumbprint of the key, or another name of the party that vouches for the
    /// token; the limit is the maximum time until `exp`.
    package func read(
        _ claims: RegisteredClaims,
        signer: String,
        limit: Duration?,
        leeway: Duration,
        at date: Date
    ) throws(TokenError) {
        guard let name = claims.jwtID else {
            throw TokenError(.missingClaim, "the claim “jti” is missing, so a second use couldn't be detected")
        }
        guard !name.isEmpty else {
            throw TokenError(.malformedClaim, "the claim “jti” is empty; it must identify the token")
        }
        guard let expiration = claims.expiration else {
            throw TokenError(
                .missingClaim,
                "the claim “exp” is missing, so the token would have to be remembered forever"
            )
        }
        let leeway = max(leeway, .zero) / .seconds(1)
        let limit = (limit ?? Self.maximumLifetime) / .seconds(1)
        guard expiration.timeIntervalSince(date) <= limit + leeway else {
            throw TokenError(
                .lifetimeTooLong,
                "the token expires too late to be remembered until then; raise the policy's maximum lifetime"
            )
        }
        let found = Token(
            identifier: try Self.identifier(claims.issuer, signer, name),
            signer: signer,
            acceptedUntil: expiration + leeway,
            date: date
        )
        token.withLock { $0 = found }
    }

    /// Throws `replayed` if the token has been used before, or the cache can't rule that out;
    /// `replayCacheFailed`, or the cache's own ``TokenError``; `CancellationError`.
    package func record(in cache: any ReplayCache) async throws {
        guard let token = token.withLock({ $0 }) else {
            throw TokenError(.replayCacheFailed, "the token wasn't read, so its use can't be recorded")
        }
        try await cache.record(
            "the token",
            token.identifier,
            signedBy: token.signer,
            acceptedUntil: token.acceptedUntil,
            at: token.date
        )
    }

    /// `jti` is unique for its issuer only ([RFC 7519
    /// §4.1.7](https://www.rfc-editor.org/rfc/rfc7519#section-4.1.7)).
    ///
    /// Each part has its size in front, so that different tokens never have the same text. A DPoP
    /// proof's text has a thumbprint at its start, which has no space.
    private static func identifier(
        _ issuer: String?,
        _ signer: String,
        _ name: String
    ) throws(TokenError) -> String {
        let issuer = issuer.map { "\($0.utf8.count):\($0)" } ?? "-"
        return try DPoPAccessToken.hash(of: "once \(issuer) \(signer.utf8.count):\(signer) \(name)")
    }
}

/// In seconds; it covers servers whose clocks differ and clocks that are set back slightly.
private let replayMargin: TimeInterval = 60

extension ReplayCache {
    /// Throws `replayed` or `replayCacheFailed`, or the cache's own ``TokenError`` such as
    /// `replayCacheFull`; `CancellationError`.
    func record(
        _ name: String,
        _ identifier: String,
        signedBy signer: String,
        acceptedUntil expiration: Date,
        at date: Date
    ) async throws {
        let isNew: Bool
        do {
            isNew = try await remember(identifier, signedBy: signer, until: expiration + replayMargin, at: date)
        } catch let error where error is TokenError || error is CancellationError {
            throw error
        } catch {
            throw TokenError(
                .replayCacheFailed,
                "the replay cache failed, so it's unknown whether the token has been used before",
                cause: error
            )
        }
        guard isNew else {
            throw TokenError(.replayed, "\(name) has been used before, or the replay cache can't rule that out")
        }
    }
}
