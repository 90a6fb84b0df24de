import Synchronization

extension MockTransport {
    /// Expects a request, and says how it is answered.
    ///
    /// A request takes the first expectation, in the order in which they were made, that it satisfies and that has not come as often as
    /// expected. Only requests that satisfy none take the steps of the script.
    ///
    /// - Parameters:
    ///   - expectation: What is expected.
    ///   - answers: The answers, in order; the last one repeats. Without one the answer is 200 without a body.
    ///   - count: How often it must come; `nil`, the default, for once for each answer.
    public func expect(_ expectation: RequestExpectation, _ answers: Step..., count: Int? = nil) {
        addExpectation(expectation, count: count ?? max(answers.count, 1), answers: answers)
    }

    /// Says how a request is answered, however often it comes.
    ///
    /// - Parameters:
    ///   - expectation: Which requests.
    ///   - answers: The answers, in order; the last one repeats. Without one the answer is 200 without a body.
    public func on(_ expectation: RequestExpectation, _ answers: Step...) {
        addExpectation(expectation, count: nil, answers: answers)
    }

    /// What came otherwise than expected: requests that are missing, that nobody expected or answered, that came too often, or in
    /// another order.
    ///
    /// ```swift
    /// #expect(transport.discrepancies() == [])
    /// ```
    ///
    /// - Parameter inOrder: Whether requests must come in the order in which they were expected; no by default.
    /// - Returns: The discrepancies; a failed test shows what they say.
    public func discrepancies(inOrder: Bool = false) -> [Discrepancy] {
        ledger.withLock { $0.discrepancies(inOrder: inOrder) }
    }

    /// Checks that exactly what was expected came.
    ///
    /// - Parameter inOrder: Whether requests must come in the order in which they were expected; no by default.
    /// - Throws: ``MockError`` with the code `expectationFailed`, whose message has all ``discrepancies(inOrder:)``.
    package func checkExpectations(inOrder: Bool = false) throws(MockError) {
        let discrepancies = discrepancies(inOrder: inOrder)
        guard discrepancies.isEmpty else {
            let lines = discrepancies.map { "\n\($0.kind): \($0)" }.joined()
            throw MockError(.expectationFailed, "what came is not what was expected:\(lines)")
        }
    }
}
