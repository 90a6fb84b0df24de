public import Foundation
import Synchronization

extension Retry {
    /// What all operations of a client together may spend on retries, for each origin.
    ///
    /// A retry costs tokens; when they are used up, failures are final at once. So a server that fails for everybody gets no more than
    /// about 7 % additional requests, where each operation by itself would send it several times as many. A retry that succeeds gets its
    /// tokens back, and every success at the first attempt earns one.
    public final class Budget: Sendable {
        /// How many tokens there are at first, and at most.
        public let capacity: Int
        /// What a retry costs after the server asked to slow down, with 429 or 503.
        package let throttlingCost: Int
        /// What any other retry costs.
        package let transientCost: Int

        /// The tokens of origins that have not all of them.
        private let balances = Mutex<[HTTPOrigin: Int]>([:])

        /// Makes a budget.
        ///
        /// - Parameters:
        ///   - capacity: How many tokens there are at first, and at most; 500 by default.
        ///   - transientCost: What a retry costs; 14 by default.
        ///   - throttlingCost: What a retry costs after 429 or 503; 5 by default.
        public init(capacity: Int = 500, transientCost: Int = 14, throttlingCost: Int = 5) {
            self.capacity = max(0, capacity)
            self.transientCost = max(0, transientCost)
            self.throttlingCost = max(0, throttlingCost)
        }

        /// How many tokens there are for an origin.
        ///
        /// - Parameter url: Any URL of the origin.
        /// - Returns: The tokens.
        public func balance(for url: URL) -> Int {
            guard let origin = HTTPOrigin(url) else { return capacity }
            return balances.withLock { $0[origin] ?? capacity }
        }

        /// Takes what a retry after an error costs; `nil` if there is not enough.
        func withdraw(for error: any Swift.Error, _ url: URL?) -> Int? {
            guard let origin = url.flatMap({ HTTPOrigin($0) }) else { return 0 }
            let status = (error as? ServerError)?.errorCode
            let cost = status == 429 || status == 503 ? throttlingCost : transientCost
            return balances.withLock { balances in
                let balance = balances[origin] ?? capacity
                guard balance >= cost else { return nil }
                balances[origin] = balance - cost
                return cost
            }
        }

        /// Gives back what the last retry of an operation that succeeded cost, or one token if there was no retry.
        func deposit(_ cost: Int?, _ url: @autoclosure () -> URL?) {
            let isFull = balances.withLock { $0.isEmpty }
            guard !isFull, let origin = url().flatMap({ HTTPOrigin($0) }) else { return }
            balances.withLock { balances in
                guard let balance = balances[origin] else { return }
                let sum = balance + (cost ?? 1)
                balances[origin] = sum < capacity ? sum : nil
            }
        }
    }
}
