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
    @Test("A: three hosts, two generations and two faults at any step violate nothing")
    func announced() {
        let result = search(.init(hosts: 3, generations: 2, faults: 2))
        #expect(result.violations.isEmpty)
        #expect(!result.endsWithoutLoss)
        #expect(!result.goesBack)
        // The search reaches the end that a lost answer causes.
        #expect(result.endsAfterLoss)
    }

    @Test("A2: two hosts, three generations and two faults violate nothing")
    func moreFaults() {
        let result = search(.init(hosts: 2, generations: 3, faults: 2))
        #expect(result.violations.isEmpty)
        #expect(!result.endsWithoutLoss)
        #expect(!result.goesBack)
    }

    @Test("B: without announcements, two hosts end a family without any fault")
    func unannounced() {
        let result = search(.init(hosts: 2, generations: 1, faults: 0, announces: false))
        #expect(result.endsWithoutLoss)
    }

    @Test("C: a pause between the last look at the clock and sending can end a family")
    func pauseBeforeSending() {
        let result = search(.init(hosts: 2, generations: 1, faults: 1, pausesBeforeSending: true))
        #expect(result.endsWithoutLoss)
        #expect(!result.goesBack)
    }

    @Test("D: a host that sends again while its first request may be pending can end a family alone")
    func resending() {
        let result = search(.init(hosts: 1, generations: 2, faults: 1, sendsAgain: true))
        #expect(result.endsWithoutLoss)
    }

    @Test("E: with a grace period, a pause before sending can end a family one generation later")
    func pauseWithGrace() {
        let one = search(.init(hosts: 2, generations: 1, faults: 1, pausesBeforeSending: true, hasGrace: true))
        #expect(!one.endsWithoutLoss)
        let two = search(.init(hosts: 2, generations: 2, faults: 1, pausesBeforeSending: true, hasGrace: true))
        #expect(two.endsWithoutLoss)
        #expect(!two.goesBack)
    }

    @Test("F: successors that are written without a comparison bring old tokens back")
    func blindWrites() {
        let result = search(
            .init(
                hosts: 2,
                generations: 2,
                faults: 1,
                pausesBeforeSending: true,
                hasGrace: true,
                writesBlindly: true
            )
        )
        #expect(result.goesBack)
    }

    @Test("G: with a grace period, sending again can end a family one generation later")
    func resendingWithGrace() {
        let result = search(.init(hosts: 1, generations: 3, faults: 1, sendsAgain: true, hasGrace: true))
        #expect(result.endsWithoutLoss)
    }

    // MARK: Search

    private struct Result {
        var states = 0
        var violations: Set<String> = []
        var endsWithoutLoss = false
        var endsAfterLoss = false
        var goesBack = false
    }

    private func search(_ rules: RefreshModel.Rules, _ name: String = #function) -> Result {
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
        result.states = seen.count
        print("\(name): \(result.states) states")
        return result
    }
}
