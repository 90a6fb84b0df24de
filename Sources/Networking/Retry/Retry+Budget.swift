public import Foundation
import Synchronization

extension Retry {
    /// A limit on the retries of all operations of a client, for each origin.
    ///
    /// Each retry costs tokens. When an origin's tokens are used up, failures are final at once. A
    /// server that fails every request therefore gets at most about 7 % additional requests, not
    /// the several-fold load that independent retries would cause. A retry that succeeds returns
    /// its tokens, and each success at the first attempt earns one token.
    public final class Budget: Sendable {
        private let capacity: Int
        private let throttlingCost: Int
        private let transientCost: Int

        /// The balances of the origins that have less than the full capacity.
        private let balances = Mutex<[HTTPOrigin: Int]>([:])

        /// Creates a budget.
        ///
        /// - Parameters:
        ///   - capacity: The initial and maximum number of tokens. The default is 500.
        ///   - transientCost: The cost of a retry. The default is 14.
        ///   - throttlingCost: The cost of a retry after 429 or 503. The default is 5.
        public init(capacity: Int = 500, transientCost: Int = 14, throttlingCost: Int = 5) {
            self.capacity = max(0, capacity)
            self.transientCost = max(0, transientCost)
            self.throttlingCost = max(0, throttlingCost)
        }

        /// Returns the number of tokens left for an origin.
        ///
        /// - Parameter url: Any URL of the origin.
        /// - Returns: The number of tokens.
        public func balance(for url: URL) -> Int {
            guard let origin = HTTPOrigin(url) else { return capacity }
            return balances.withLock { $0[origin] ?? capacity }
        }

        /// Withdraws and returns the cost of a retry after an error, or returns `nil` if the
        /// balance is too low.
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

        /// Gives the cost of a successful operation's last retry back, or adds one token if it
        /// wasn't retried.
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
