import Networking
import Synchronization

extension MockTransport {
    /// A difference between the requests and the expectations.
    ///
    /// The description explains it to the reader of a failed test: what was expected, what arrived,
    /// and how they differ, without secrets.
    public struct Discrepancy: Sendable, Hashable, CustomStringConvertible {
        /// The kind of a discrepancy.
        @nonexhaustive
        public enum Kind: Sendable, Hashable {
            /// A request didn't arrive, or not often enough.
            case unmet
            /// A request arrived that no expectation or script matches.
            case unexpected
            /// A request arrived more often than expected.
            case tooOften
            /// Requests arrived in a different order than expected.
            case outOfOrder
        }

        /// The kind of discrepancy.
        public let kind: Kind
        /// The expectation, and the requests that arrived instead.
        public let description: String
    }

    /// Adds an expected request and its responses.
    ///
    /// A request meets the first expectation, in the order of their addition, that it matches and
    /// that hasn't been met often enough. Only requests that match no expectation use the script.
    ///
    /// - Parameters:
    ///   - expectation: The expected request.
    ///   - answers: The responses, in order. The last one repeats. The default is a 200 without a
    ///     body.
    ///   - count: The expected number of requests. With `nil`, the default, one for each response.
    public func expect(_ expectation: RequestExpectation, _ answers: Step..., count: Int? = nil) {
        ledger.withLock { $0.add(expectation, count: count ?? max(answers.count, 1), answers: answers) }
    }

    /// Adds responses to a request that may arrive any number of times.
    ///
    /// - Parameters:
    ///   - expectation: The requests to respond to.
    ///   - answers: The responses, in order. The last one repeats. The default is a 200 without a
    ///     body.
    public func on(_ expectation: RequestExpectation, _ answers: Step...) {
        ledger.withLock { $0.add(expectation, count: nil, answers: answers) }
    }

    /// Returns the differences between the requests and the expectations: missing and unexpected
    /// requests, those that arrived too often, and those in the wrong order.
    ///
    /// ```swift
    /// #expect(transport.discrepancies() == [])
    /// ```
    ///
    /// - Parameter inOrder: Whether requests must arrive in the order of the expectations. The
    ///   default is `false`.
    /// - Returns: The discrepancies, whose descriptions a failed test shows.
    public func discrepancies(inOrder: Bool = false) -> [Discrepancy] {
        ledger.withLock { $0.discrepancies(inOrder: inOrder) }
    }
}

struct ExpectationLedger: Sendable {
    private struct Entry {
        let expectation: RequestExpectation
        let answers: [MockTransport.Step]
        let count: Int?
        var arrivals = 0
    }

    private typealias Stray = (number: Int, request: HTTPRequest)

    enum Answer {
        case step(MockTransport.Step)
        case none
        case tooOften(String)
    }

    private var entries: [Entry] = []
    private var arrivals: [(number: Int, entry: Int)] = []
    private var strays: [Stray] = []
    private var requestCount = 0

    var isEmpty: Bool { entries.isEmpty }

    mutating func add(_ expectation: RequestExpectation, count: Int?, answers: [MockTransport.Step]) {
        entries.append(Entry(expectation: expectation, answers: answers, count: count))
    }

    /// The expectations so far, for comparing them with a request outside the lock.
    var expectations: [RequestExpectation] { entries.map(\.expectation) }

    /// Returns the response to a request that matches some expectations, preferring an unmet one.
    mutating func answer(_ matching: [Int]) -> Answer {
        requestCount += 1
        let open = matching.first { index in entries[index].count.map { entries[index].arrivals < $0 } ?? false }
        guard let index = open ?? matching.first(where: { entries[$0].count == nil }) else {
            guard let index = matching.first, let count = entries[index].count else { return .none }
            entries[index].arrivals += 1
            arrivals.append((requestCount, index))
            return .tooOften("\(entries[index].expectation) was received again, expected \(Self.times(count))")
        }
        let place = entries[index].arrivals
        entries[index].arrivals += 1
        arrivals.append((requestCount, index))
        let answers = entries[index].answers
        return .step(answers.isEmpty ? .status(200) : answers[min(place, answers.count - 1)])
    }

    mutating func noteStray(_ request: HTTPRequest) -> String {
        strays.append((requestCount, request))
        return text(ofStray: strays[strays.count - 1])
    }
}

// MARK: Reporting
extension ExpectationLedger {
    func discrepancies(inOrder: Bool) -> [MockTransport.Discrepancy] {
        var found: [MockTransport.Discrepancy] = []
        for entry in entries {
            guard let count = entry.count, entry.arrivals != count else { continue }
            let text = "\(entry.expectation) was received \(Self.times(entry.arrivals)), expected \(Self.times(count))"
            if entry.arrivals > count {
                found.append(.init(kind: .tooOften, description: text))
            } else {
                found.append(.init(kind: .unmet, description: text + nearest(to: entry.expectation)))
            }
        }
        for stray in strays {
            found.append(.init(kind: .unexpected, description: text(ofStray: stray)))
        }
        if inOrder, let text = disorder { found.append(.init(kind: .outOfOrder, description: text)) }
        return found
    }

    private func nearest(to expectation: RequestExpectation) -> String {
        let candidates = strays.map { ($0, expectation.differences(from: $0.request)) }
        guard let (stray, differences) = candidates.min(by: { $0.1.distance < $1.1.distance }),
            differences.distance < 32
        else { return "" }
        return "; the closest match is request \(stray.number):" + Self.list(differences)
    }

    private func text(ofStray stray: Stray) -> String {
        let name = "request \(stray.number), \(stray.request.shownName), wasn't expected"
        let open = entries.filter { entry in entry.count.map { entry.arrivals < $0 } ?? true }
        guard !open.isEmpty else { return "\(name): all expected requests have already arrived" }
        let candidates = open.map { ($0.expectation, $0.expectation.differences(from: stray.request)) }
        guard let (expectation, differences) = candidates.min(by: { $0.1.distance < $1.1.distance }),
            differences.distance < 32
        else { return "\(name); expected \(open.count == 1 ? "" : "one of ")\(Self.names(open.map(\.expectation)))" }
        return "\(name); the closest match is \(expectation):" + Self.list(differences)
    }

    private var disorder: String? {
        let order = arrivals.filter { entries[$0.entry].count != nil }
        for (earlier, later) in zip(order, order.dropFirst()) where later.entry < earlier.entry {
            let names = order.map { entries[$0.entry].expectation }
            return "\(entries[later.entry].expectation) (request \(later.number)) must precede "
                + "\(entries[earlier.entry].expectation) (request \(earlier.number)); the order was \(Self.names(names, limit: 20))"
        }
        return nil
    }

    private static func times(_ count: Int) -> String {
        switch count {
        case 0: "0 times"
        case 1: "once"
        case 2: "twice"
        default: "\(count) times"
        }
    }

    private static func names(_ expectations: [RequestExpectation], limit: Int = 5) -> String {
        let shown = expectations.prefix(limit).map(\.description).joined(separator: ", ")
        return expectations.count > limit ? "\(shown) and \(expectations.count - limit) more" : shown
    }

    private static func list(_ differences: [RequestDifference]) -> String {
        differences.map { "\n  - \($0.text)" }.joined()
    }
}

extension [RequestDifference] {
    fileprivate var distance: Int { reduce(0) { $0 + $1.distance } }
}

extension HTTPRequest {
    fileprivate var shownName: String { "\(method) \(Redaction.standard.redacted(url))" }
}
