import Networking

/// A server's treatment of refresh tokens that a client uses a second time.
///
/// Servers that rotate refresh tokens revoke the whole grant when a token is used twice
/// ([RFC 9700 §4.14](https://www.rfc-editor.org/rfc/rfc9700#section-4.14)). Some accept the
/// preceding token for a grace period.
public struct RefreshTokenRotation: Sendable, Hashable {
    private enum Wrapped: Hashable { case none, rotating(grace: Duration?) }
    private let wrapped: Wrapped

    /// The server doesn't replace refresh tokens.
    ///
    /// Such a token is sent without announcing it to other hosts, and again after a lost response.
    public static var none: Self { Self(wrapped: .none) }

    /// The server replaces a refresh token when it's used.
    ///
    /// - Parameter grace: The time for which the server accepts the preceding token again. The
    ///   default is `nil`, for none.
    /// - Returns: The treatment.
    public static func rotating(grace: Duration? = nil) -> Self { Self(wrapped: .rotating(grace: grace)) }

    var isRotating: Bool { wrapped != .none }

    var grace: Duration? {
        guard case .rotating(let grace) = wrapped else { return nil }
        return grace
    }
}

/// The decisions about a grant's record, as a table of pure functions.
///
/// <doc:SharingAGrant> lists the table; the numbers in comments are its rows. A search through all
/// interleavings of several hosts checks it (`RefreshTableSearchTests`).
enum RefreshTable {
    enum Record: Hashable, Sendable {
        case none, tokens, end, damaged, tooNew
        /// The record is older than one that this process has seen.
        case setBack
        case unreachable
    }

    enum Announcement: Hashable, Sendable {
        case none
        /// Its request may still be sent or pending.
        case valid
        case passed
    }

    struct Facts: Hashable, Sendable {
        var record = Record.none
        var isUsable = false
        /// A Boolean value that indicates whether there is a refresh token that wasn't rejected.
        var hasRefreshToken = true
        var announcement = Announcement.none
        var isPaused = false
        /// A Boolean value that indicates whether callers still have a usable token.
        var isInBackground = false
        /// A Boolean value that indicates whether the grant needs no user and has nothing to lose.
        var isRepeatable = false
        /// A Boolean value that indicates whether a second use of the refresh token ends the grant.
        var isRotating = true
        var hasGrace = false
        var isOnHosts = false
    }

    enum Step: Hashable, Sendable {
        case use
        /// Leave the refresh to another host; callers keep their token.
        case yield
        /// Wait until the record changes or the announcement has passed.
        case wait
        /// Fail until the server's pause is over.
        case pause
        /// Announce the refresh, and then send the refresh token.
        case announce
        /// Send the refresh token without an announcement.
        case send
        /// Use the grant itself.
        case redeem
        case fail
    }

    static func step(_ facts: Facts) -> Step {
        switch facts.record {
        case .tooNew, .setBack: return .fail  // 30, 31
        case .damaged: return facts.isRepeatable ? .redeem : .fail  // 29
        case .end: return facts.isRepeatable ? .redeem : .fail  // 28
        case .unreachable where facts.isUsable: return .use  // 10
        case .unreachable where facts.isRepeatable: return .redeem  // 10
        case .unreachable: return facts.isRotating || !facts.hasRefreshToken ? .fail : .send  // 10
        case .none, .tokens: break
        }
        if facts.isUsable { return .use }  // 2, 3
        guard facts.hasRefreshToken else { return .redeem }  // 1
        switch facts.announcement {
        case .valid where facts.isRotating:
            // A grant that needs no user gets tokens without the refresh token.
            if facts.isRepeatable { return .redeem }
            return facts.isInBackground && facts.isOnHosts ? .yield : .wait  // 5, 6
        case .passed where facts.isRotating && facts.isInBackground && facts.isOnHosts && !facts.hasGrace:
            return .yield  // 22
        default: break
        }
        if facts.isPaused, !facts.isRepeatable { return .pause }  // 7
        return facts.isRotating ? .announce : .send  // 1, 4, 8, 23
    }

    // MARK: Announcing

    enum Announced: Hashable, Sendable {
        case written
        case conflict
        case unknown(Reread)
    }

    /// A record that is read after a write with an unknown outcome.
    enum Reread: Hashable, Sendable {
        case own
        /// The version that the write should have replaced.
        case unchanged
        case other
        case unreadable
    }

    enum AfterAnnouncing: Hashable, Sendable {
        case send
        /// Write the same announcement again.
        case again
        case restart
    }

    static func step(after announced: Announced) -> AfterAnnouncing {
        switch announced {
        case .written, .unknown(.own): .send  // 8, 9
        case .unknown(.unchanged), .unknown(.unreadable): .again  // 9
        case .conflict, .unknown(.other): .restart  // 8, 9
        }
    }

    /// On one machine, a token that only this process has can't be sent by another.
    static func stepWithoutAnnouncement(_ facts: Facts, isOnlyHere: Bool) -> Step {
        if facts.isRepeatable { return .send }  // 10
        return isOnlyHere && !facts.isOnHosts ? .send : .fail  // 10
    }

    // MARK: Answers

    enum Answer: Hashable, Sendable {
        /// New tokens, or a new refresh token alone.
        case tokens
        /// The request didn't leave this process.
        case notSent
        /// The time to send was over.
        case late
        /// The server is overloaded or failing, and didn't act on the request.
        case busy
        /// The server rejected the request for another reason than the refresh token.
        case rejected
        case lost
        case invalidGrant
    }

    enum AfterAnswer: Hashable, Sendable {
        /// Store the tokens, and only then use them.
        case save
        /// Remove the announcement, with a pause for all hosts if asked for, and fail.
        case withdraw(pauses: Bool)
        /// Remove the announcement and decide anew.
        case withdrawAndRestart
        /// Keep the announcement until it passes, and fail.
        case keep
        case end
    }

    static func step(after answer: Answer) -> AfterAnswer {
        switch answer {
        case .late: .withdrawAndRestart  // 11
        case .notSent: .withdraw(pauses: true)  // 12
        case .tokens: .save  // 13
        case .busy: .withdraw(pauses: true)  // 17
        case .rejected: .withdraw(pauses: false)  // 17
        case .lost: .keep  // 18
        case .invalidGrant: .end  // 19
        }
    }

    static func end(tries: Int, hasEarlier: Bool, isInDoubt: Bool) -> GrantEnd {
        tries > 1 || hasEarlier || isInDoubt ? .lost : .revoked  // 19
    }

    /// The stored record that kept a rejected refresh token's end from being written.
    enum Rival: Hashable, Sendable {
        /// Another refresh token, or the end of the grant.
        case successor
        /// The rejected token, announced by another host.
        case sameToken
        case none
    }

    enum AfterRival: Hashable, Sendable {
        case restart
        /// Wait for the other host, which learns of the rejection by itself.
        case wait
        case end
    }

    static func step(afterRejectionOver rival: Rival) -> AfterRival {
        switch rival {
        case .successor: .restart  // 20
        case .sameToken: .wait  // 21
        case .none: .end
        }
    }

    // MARK: Saving

    /// The stored record that a holder of new tokens finds instead of its announcement.
    enum Found: Hashable, Sendable {
        /// The holder's own tokens.
        case own
        /// The token that was sent, or an earlier one of the same sign-in.
        case ancestor
        /// Another token, or the end of the grant.
        case other
        case signedOut
        case none
        case unreadable
    }

    enum AfterSaving: Hashable, Sendable {
        case done
        case overwrite
        /// Forget the tokens, without revoking them: that could end the grant.
        case forget
        /// Revoke and forget the tokens, because the user has signed out.
        case revoke
        /// Keep the tokens in memory, and try again for as long as the process lives.
        case later
    }

    static func step(afterSavingOver found: Found) -> AfterSaving {
        switch found {
        case .own: .done  // 15
        case .ancestor, .none: .overwrite  // 14, 15
        case .other: .forget  // 14
        case .signedOut: .revoke  // 27
        case .unreadable: .later  // 16
        }
    }
}

// The time limits of an announced refresh, which add up by construction: a request that is sent in
// time is over when another host may send the same token. The last quarter is slack for a server
// that processes the request late.
struct RefreshDeadlines: Equatable {
    /// The time for which no other host sends the token.
    let validFor: Duration
    /// The maximum time between the moment before the announcement and sending the request.
    var sendWithin: Duration { validFor / 4 }
    var requestTimeout: Duration { validFor / 2 }

    init(_ timing: OAuth2Timing) {
        // Another host's attempt must arrive within the grace period.
        let grace = timing.rotation.grace.map { $0 * 0.8 }
        validFor = grace.map { min($0, timing.lostRequestDelay) } ?? timing.lostRequestDelay
    }

    /// The number of tries after which hosts wait longer and longer, because the refresh may be
    /// what ends their processes.
    static let triesBeforeBackoff = 3
    private static let longestValidity = Duration.seconds(600)

    /// Returns the time for which a host respects another's attempt.
    static func validity(of attempt: RefreshAttempt) -> Duration {
        let validFor = min(attempt.validFor, TokenRecord.longestWait)
        guard attempt.tries >= triesBeforeBackoff else { return validFor }
        let factor = 2 << min(attempt.tries - triesBeforeBackoff, 9)
        return max(min(validFor * factor, longestValidity), validFor)
    }
}

/// The latest 1,000 token refreshes of a client in progress, or without a caller.
///
/// A request continues without its caller. Its result waits for the next call with the same refresh
/// token, which the server may not accept a second time.
final class ClientRefreshes: Sendable {
    private enum Entry {
        case answer(Result<IssuedTokens, OAuth2Error>, to: String)
        /// Nothing else in the response was usable, or different parameters were requested.
        case successor(Secret)
    }

    private let entries: SingleFlightCache<Secret, Entry>
    private let timeSource: TimeSource

    init(timeSource: TimeSource) {
        var policy = SingleFlightCache<Secret, Entry>.Policy()
        policy.lifetime = { if case .answer(.failure, _) = $0 { .zero } else { .seconds(3_000_000_000) } }
        entries = SingleFlightCache(timeSource: timeSource, policy: policy)
        self.timeSource = timeSource
    }

    // Returns the tokens of a refresh request, and forgets them. The closure requests tokens with
    // the refresh token or its known successor.
    func tokens(
        refreshing first: Secret,
        as request: String,
        within timeout: Duration,
        boundKey: BoundKey?,
        _ ask: @escaping @Sendable (Secret) async throws(OAuth2Error) -> TokenAnswer
    ) async throws -> IssuedTokens {
        var (token, path) = (first, Set([first]))
        while true {
            try Task.checkCancellation()
            switch try await entry(for: token, as: request, within: timeout, boundKey, ask) {
            case .successor(let successor):
                // A server that returns an earlier token again has made that one the current one.
                if !path.insert(successor).inserted {
                    entries.remove(successor) { if case .successor = $0 { true } else { false } }
                }
                token = successor
            case .answer(let answer, request):
                let tokens = try answer.get()
                path.forEach(entries.remove)
                return tokens
            case .answer(let answer, _):
                // The earlier request was for different access, so continue with its refresh token.
                if case .success(let tokens) = answer { succeed(token, by: tokens.refreshToken ?? token) }
            }
        }
    }

    private func entry(
        for token: Secret,
        as request: String,
        within timeout: Duration,
        _ boundKey: BoundKey?,
        _ ask: @escaping @Sendable (Secret) async throws(OAuth2Error) -> TokenAnswer
    ) async throws -> Entry {
        do {
            return try await entries.value(for: token, until: timeSource.now() + timeout) { [self] _ in
                do throws(OAuth2Error) {
                    switch try await ask(token) {
                    case .tokens(var response):
                        // Without a new refresh token, the old one stays valid (RFC 6749 §6).
                        response.refreshToken = response.refreshToken ?? token
                        return .answer(.success(IssuedTokens(response, boundKey: boundKey)), to: request)
                    case .refreshTokenOnly(let successor, let error):
                        succeed(token, by: successor)
                        return .answer(.failure(error), to: request)
                    }
                } catch {
                    return .answer(.failure(error), to: request)
                }
            }
        } catch let error as NetworkError where error.code == .timedOut {
            var error = OAuth2Error(
                .serverUnreachable,
                "the token endpoint didn't respond in time; call again with the same refresh token to get the result of this request",
                cause: error
            )
            error.isPossiblyLostRotation = true
            throw error
        }
    }

    /// Records a token's successor, unless it's the token itself.
    private func succeed(_ token: Secret, by successor: Secret) {
        if successor == token { entries.remove(token) } else { entries.keep(.successor(successor), for: token) }
    }
}
