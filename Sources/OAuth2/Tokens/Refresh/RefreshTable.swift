/// The decisions about a grant's record, as a table of pure functions.
///
/// Memory, files and stores that hosts share use the same table, which <doc:SharingAGrant> lists.
/// The numbers in comments are its rows. A search through all interleavings of several hosts checks
/// the table (`RefreshTableSearchTests`).
enum RefreshTable {
    /// The record as a client finds it.
    enum Record: Hashable, Sendable {
        case none, tokens, end, damaged, tooNew
        /// The record is older than one that this process has seen.
        case setBack
        case unreachable
    }

    /// The announcement of a refresh in the record.
    enum Announcement: Hashable, Sendable {
        case none
        /// Its request may still be sent or pending.
        case valid
        case passed
    }

    /// Everything that a decision depends on.
    struct Facts: Hashable, Sendable {
        var record = Record.none
        /// A Boolean value that indicates whether the record's access token meets the need.
        var isUsable = false
        /// A Boolean value that indicates whether there is a refresh token that wasn't rejected.
        var hasRefreshToken = true
        var announcement = Announcement.none
        /// A Boolean value that indicates whether the server's pause isn't over.
        var isPaused = false
        /// A Boolean value that indicates whether callers still have a usable token.
        var isInBackground = false
        /// A Boolean value that indicates whether the grant needs no user and has nothing to lose.
        var isRepeatable = false
        /// A Boolean value that indicates whether a second use of the refresh token ends the grant.
        var isRotating = true
        /// A Boolean value that indicates whether the server accepts the preceding token for a
        /// while.
        var hasGrace = false
        /// A Boolean value that indicates whether other hosts share the record, so that a lock
        /// doesn't exclude them.
        var isOnHosts = false
    }

    /// The step of a client that needs a token.
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

    /// Returns the first step of a client that needs a token.
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

    /// The outcome of writing an announcement.
    enum Announced: Hashable, Sendable {
        case written
        /// The stored version was another.
        case conflict
        /// The write failed, and reading the record shows this.
        case unknown(Reread)
    }

    /// A record that is read after a write with an unknown outcome.
    enum Reread: Hashable, Sendable {
        /// The writer's own announcement or record.
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
        /// Decide anew with the record.
        case restart
    }

    static func step(after announced: Announced) -> AfterAnnouncing {
        switch announced {
        case .written, .unknown(.own): .send  // 8, 9
        case .unknown(.unchanged), .unknown(.unreadable): .again  // 9
        case .conflict, .unknown(.other): .restart  // 8, 9
        }
    }

    /// Returns the decision if an announcement can't be written, though the record could be read.
    ///
    /// On one machine, a token that only this process has can't be sent by another.
    static func stepWithoutAnnouncement(_ facts: Facts, isOnlyHere: Bool) -> Step {
        if facts.isRepeatable { return .send }  // 10
        return isOnlyHere && !facts.isOnHosts ? .send : .fail  // 10
    }

    /// Returns a Boolean value that indicates whether an announced token may still be sent.
    static func maySend(after elapsed: Duration, _ deadlines: RefreshDeadlines) -> Bool {
        elapsed < deadlines.sendWithin  // 11
    }

    // MARK: Answers

    /// The outcome of sending the refresh token.
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
        /// The request was sent, and the answer is missing.
        case lost
        /// The server rejected the refresh token.
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
        /// Replace the record with the grant's end.
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

    /// Returns the reason of the end after the server has rejected the refresh token.
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
        /// Decide anew with the record.
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
