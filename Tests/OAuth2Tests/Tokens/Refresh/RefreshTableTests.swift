import TestSupport
import Testing

@testable import OAuth2

/// The rows of the table that <doc:SharingAGrant> lists, and an exhaustive search through all
/// that hosts, store and server can do in any order, with a fault at any step: a crash, a pause, a
/// lost request or answer, an unreachable store, or a write that happens, doesn't happen or happens
/// later without an answer.
///
/// The models A to G are those of <doc:SharingAGrant>. A family of tokens that ends in one of them
/// is a limit that no client can remove.
@Suite("RefreshTable", .computing)
struct RefreshTableTests {
    private typealias Facts = RefreshTable.Facts

    @Test("The first step of a client that needs a token")
    func first() {
        let rows: [(Int, Facts, RefreshTable.Step)] = [
            (1, Facts(record: .none, isOnHosts: true), .announce),
            (1, Facts(record: .none, hasRefreshToken: false, isRepeatable: true), .redeem),
            (2, Facts(record: .tokens, isUsable: true), .use),
            (3, Facts(record: .tokens, isUsable: true, announcement: .valid, isOnHosts: true), .use),
            (4, Facts(record: .tokens, isInBackground: true, isOnHosts: true), .announce),
            (5, Facts(record: .tokens, announcement: .valid, isInBackground: true, isOnHosts: true), .yield),
            (6, Facts(record: .tokens, announcement: .valid, isOnHosts: true), .wait),
            (6, Facts(record: .tokens, announcement: .valid, isInBackground: true), .wait),
            (6, Facts(record: .tokens, announcement: .valid, isRepeatable: true), .redeem),
            (7, Facts(record: .tokens, isPaused: true), .pause),
            (7, Facts(record: .tokens, announcement: .passed, isPaused: true), .pause),
            (8, Facts(record: .tokens, isOnHosts: true), .announce),
            (8, Facts(record: .tokens, isRotating: false, isOnHosts: true), .send),
            (10, Facts(record: .unreachable, isOnHosts: true), .fail),
            (10, Facts(record: .unreachable, isUsable: true, isOnHosts: true), .use),
            (10, Facts(record: .unreachable, isRepeatable: true, isOnHosts: true), .redeem),
            (10, Facts(record: .unreachable, isRotating: false, isOnHosts: true), .send),
            (22, Facts(record: .tokens, announcement: .passed, isInBackground: true, isOnHosts: true), .yield),
            (
                22,
                Facts(record: .tokens, announcement: .passed, isInBackground: true, hasGrace: true, isOnHosts: true),
                .announce
            ),
            (23, Facts(record: .tokens, announcement: .passed, isOnHosts: true), .announce),
            (28, Facts(record: .end), .fail), (28, Facts(record: .end, isRepeatable: true), .redeem),
            (29, Facts(record: .damaged), .fail), (29, Facts(record: .damaged, isRepeatable: true), .redeem),
            (30, Facts(record: .tooNew), .fail), (30, Facts(record: .tooNew, isRepeatable: true), .fail),
            (31, Facts(record: .setBack), .fail),
        ]
        for (row, facts, step) in rows { #expect(RefreshTable.step(facts) == step, "row \(row)") }
    }

    @Test("Nothing that rotates is sent to the server without an announcement, unless only this process has it")
    func unannounced() {
        for record in [RefreshTable.Record.none, .tokens, .end, .damaged, .tooNew, .setBack, .unreachable] {
            for announcement in [RefreshTable.Announcement.none, .valid, .passed] {
                for bits in 0..<64 {
                    let facts = Facts(
                        record: record,
                        isUsable: bits & 1 > 0,
                        hasRefreshToken: bits & 2 > 0,
                        announcement: announcement,
                        isPaused: bits & 4 > 0,
                        isInBackground: bits & 8 > 0,
                        isRepeatable: bits & 16 > 0,
                        isOnHosts: bits & 32 > 0
                    )
                    let step = RefreshTable.step(facts)
                    #expect(step != .send)
                    if step == .announce { #expect(announcement != .valid && facts.hasRefreshToken) }
                    if step == .use { #expect(facts.isUsable) }
                }
            }
        }
        #expect(RefreshTable.stepWithoutAnnouncement(Facts(isOnHosts: true), isOnlyHere: true) == .fail)
        #expect(RefreshTable.stepWithoutAnnouncement(Facts(), isOnlyHere: true) == .send)
        #expect(RefreshTable.stepWithoutAnnouncement(Facts(), isOnlyHere: false) == .fail)
        #expect(RefreshTable.stepWithoutAnnouncement(Facts(isRepeatable: true), isOnlyHere: false) == .send)
    }

    @Test("The steps after an announcement, an answer and a write")
    func later() {
        #expect(RefreshTable.step(after: RefreshTable.Announced.written) == .send)
        #expect(RefreshTable.step(after: RefreshTable.Announced.conflict) == .restart)
        #expect(RefreshTable.step(after: .unknown(.own)) == .send)
        #expect(RefreshTable.step(after: .unknown(.unchanged)) == .again)
        #expect(RefreshTable.step(after: .unknown(.other)) == .restart)
        let answers: [(RefreshTable.Answer, RefreshTable.AfterAnswer)] = [
            (.late, .withdrawAndRestart), (.notSent, .withdraw(pauses: true)), (.tokens, .save),
            (.busy, .withdraw(pauses: true)), (.rejected, .withdraw(pauses: false)), (.lost, .keep),
            (.invalidGrant, .end),
        ]
        for (answer, step) in answers { #expect(RefreshTable.step(after: answer) == step) }
        #expect(RefreshTable.end(tries: 1, hasEarlier: false, isInDoubt: false) == .revoked)
        #expect(RefreshTable.end(tries: 2, hasEarlier: false, isInDoubt: false) == .lost)
        #expect(RefreshTable.end(tries: 1, hasEarlier: true, isInDoubt: false) == .lost)
        #expect(RefreshTable.end(tries: 1, hasEarlier: false, isInDoubt: true) == .lost)
        #expect(RefreshTable.step(afterRejectionOver: .successor) == .restart)
        #expect(RefreshTable.step(afterRejectionOver: .sameToken) == .wait)
        let writes: [(RefreshTable.Found, RefreshTable.AfterSaving)] = [
            (.own, .done), (.ancestor, .overwrite), (.none, .overwrite), (.other, .forget), (.signedOut, .revoke),
            (.unreadable, .later),
        ]
        for (found, step) in writes { #expect(RefreshTable.step(afterSavingOver: found) == step) }
    }

    @Test("Sending, the request's timeout and some slack fit into an announcement by construction")
    func deadlines() {
        for (delay, grace, expected) in [(20, nil, 20), (20, 60, 20), (20, 10, 8), (60, nil, 60)] as [(Int, Int?, Int)]
        {
            let timing = OAuth2Timing(
                lostRequestDelay: .seconds(delay),
                rotation: .rotating(grace: grace.map { .seconds($0) })
            )
            let deadlines = RefreshDeadlines(timing)
            #expect(deadlines.validFor == .seconds(expected))
            #expect(deadlines.sendWithin + deadlines.requestTimeout < deadlines.validFor)
        }
        let waits = [1: 20, 2: 20, 3: 40, 4: 80, 5: 160, 20: 600]
        for (tries, seconds) in waits {
            let attempt = RefreshAttempt(id: "a", tries: tries)
            #expect(RefreshDeadlines.validity(of: attempt) == .seconds(seconds))
        }
    }

    // MARK: All interleavings

    /// The models, with what must, must not or may be reached: an end without a lost token,
    /// a return to an older token, and an end after a lost answer.
    private static let models: [(String, RefreshModel.Rules, Bool?, Bool?, Bool?)] = [
        ("A: three hosts and two faults at any step", .init(hosts: 3, generations: 2, faults: 2), false, false, true),
        ("A2: three generations and two faults", .init(hosts: 2, generations: 3, faults: 2), false, false, nil),
        (
            "B: without announcements, two hosts end a family without any fault",
            .init(hosts: 2, generations: 1, faults: 0, announces: false), true, nil, nil
        ),
        (
            "C: a pause between the last look at the clock and sending can end a family",
            .init(hosts: 2, generations: 1, faults: 1, pausesBeforeSending: true), true, false, nil
        ),
        (
            "D: a host that sends again while its first request may be pending can end a family alone",
            .init(hosts: 1, generations: 2, faults: 1, sendsAgain: true), true, nil, nil
        ),
        (
            "E: with a grace period, a pause before sending ends no family at once",
            .init(hosts: 2, generations: 1, faults: 1, pausesBeforeSending: true, hasGrace: true), false, nil, nil
        ),
        (
            "E: with a grace period, a pause before sending can end a family one generation later",
            .init(hosts: 2, generations: 2, faults: 1, pausesBeforeSending: true, hasGrace: true), true, false, nil
        ),
        (
            "F: successors that are written without a comparison bring old tokens back",
            .init(
                hosts: 2,
                generations: 2,
                faults: 1,
                pausesBeforeSending: true,
                hasGrace: true,
                writesBlindly: true
            ), nil, true, nil
        ),
        (
            "G: with a grace period, sending again can end a family one generation later",
            .init(hosts: 1, generations: 3, faults: 1, sendsAgain: true, hasGrace: true), true, nil, nil
        ),
    ]

    @Test("What each model of the server, the store and the client can reach", .shows("L11"), arguments: models)
    private func reachable(
        model: String,
        rules: RefreshModel.Rules,
        endsWithoutLoss: Bool?,
        goesBack: Bool?,
        endsAfterLoss: Bool?
    ) {
        let result = search(rules)
        #expect(!model.hasPrefix("A") || result.violations.isEmpty, "\(model)")
        #expect(endsWithoutLoss == nil || result.endsWithoutLoss == endsWithoutLoss, "\(model)")
        #expect(goesBack == nil || result.goesBack == goesBack, "\(model)")
        #expect(endsAfterLoss == nil || result.endsAfterLoss == endsAfterLoss, "\(model)")
    }

    // MARK: Search

    private struct Result {
        var violations: Set<String> = []
        var endsWithoutLoss = false
        var endsAfterLoss = false
        var goesBack = false
    }

    private func search(_ rules: RefreshModel.Rules) -> Result {
        var result = Result()
        let first = RefreshModel(rules)
        var seen: Set = [first]
        var stack = [first]
        while let world = stack.popLast() {
            let successors = world.successors
            for next in successors.map(\.canonical) where seen.insert(next).inserted {
                if let violation = next.violation {
                    result.violations.insert(violation)
                    continue
                }
                if next.isRevoked {
                    if next.isAnswerLost { result.endsAfterLoss = true } else { result.endsWithoutLoss = true }
                }
                if next.wentBack { result.goesBack = true }
                stack.append(next)
            }
            // A host that only waits for another's announcement leads back to where it was.
            if successors.allSatisfy({ $0.canonical == world }), let stuck = world.stuck {
                result.violations.insert(stuck)
            }
        }
        print("\(rules): \(seen.count) states")
        return result
    }
}
