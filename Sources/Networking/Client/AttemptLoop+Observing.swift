import Foundation
import FoundationNetworking

// The calls of the operation's observers.
extension AttemptLoop {
    /// Returns a recorder of metrics if an observer needs one.
    func metricsBox() -> MetricsBox? {
        guard observers.contains(where: { $0.needsMetrics }) else { return nil }
        return MetricsBox(observers.filter { $0.needsMetrics })
    }

    func reportStart(_ context: InterceptorContext) {
        for observer in observers { observer.operationStarted(context) }
    }

    /// Reports a request that is about to be sent, and adds the observers' header fields to it.
    func reportRequest(_ request: inout URLRequest, context: InterceptorContext) {
        for observer in observers {
            for field in observer.attemptStarted(request, context: context)
            where request.value(forHTTPHeaderField: field.name) == nil {
                request.setValue(field.value, forHTTPHeaderField: field.name)
            }
        }
    }

    /// Reports the end of an attempt to the interceptors and observers.
    ///
    /// - Returns: The attempt, or `nil` if there is nothing to report the operation's end to.
    func report(
        _ outcome: Result<Success, Failure>,
        started: ContinuousClock.Instant,
        metrics: MetricsBox?,
        context: InterceptorContext
    ) -> RequestAttempt? {
        guard !chain.links.isEmpty || !observers.isEmpty else { return nil }
        var attempt = RequestAttempt(context: context, duration: options.timeSource.now() - started)
        attempt.exchanges = metrics?.all ?? []
        switch outcome {
        case .success(let success):
            attempt.request = success.request
            attempt.response = success.response
        case .failure(let failure):
            attempt.request = failure.request
            attempt.response = failure.response
            attempt.error = failure.error
        }
        // An interceptor that keeps the attempt must not keep the connection busy.
        attempt.response?.unread = nil
        for link in chain.links { link.interceptor.attemptEnded(attempt) }
        for observer in observers { observer.attemptEnded(attempt) }
        return observers.isEmpty ? nil : attempt
    }

    func reportEnd(_ last: RequestAttempt?, error: (any Error)? = nil, started: ContinuousClock.Instant) {
        guard var operation = last else { return }
        operation.duration = options.timeSource.now() - started
        operation.error = error
        for observer in observers { observer.operationEnded(operation) }
    }
}
