import TestSupport
import Testing

@testable import OAuth2

/// An exhaustive search through everything that hosts, store and server can do in any order, with a
/// fault at any step: a crash, a pause, a lost request or answer, an unreachable store, or a write
/// that happens, doesn't happen or happens later without an answer.
///
/// The models A to G are those of <doc:SharingAGrant>. A family of tokens that ends in one of them
/// is a limit that no client can remove.
@Suite("RefreshTable: all interleavings", .serialized)
struct RefreshTableSearchTests {
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

    @Test("What each model of the server, the store and the client can reach", arguments: models)
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
