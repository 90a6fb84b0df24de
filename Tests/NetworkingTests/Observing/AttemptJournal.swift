import Networking
import Synchronization

/// An observer that records the attempts.
final class AttemptJournal: ClientObserver {
    private let attempts = Mutex<[RequestAttempt]>([])
    let needsMetrics: Bool

    init(needsMetrics: Bool = false) {
        self.needsMetrics = needsMetrics
    }

    var all: [RequestAttempt] { attempts.withLock { $0 } }

    func attemptEnded(_ attempt: RequestAttempt) {
        attempts.withLock { $0.append(attempt) }
    }
}
