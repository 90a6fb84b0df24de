/// An error of this package, of which a log says more than its type.
///
/// Its texts have no secrets; of others' errors nobody knows, even if they are the cause of one of ours.
package protocol LoggableError: Error {
    /// What failed, with those causes that can be logged, too.
    var logText: String { get }
}

extension LoggableError {
    /// A text with a cause after it, as far as the cause can be logged.
    package func logText(_ text: String, cause: (any Error)?) -> String {
        guard let cause = cause as? any LoggableError else { return text }
        return "\(text) (\(cause.logText))"
    }
}

extension NetworkError: LoggableError {
    package var logText: String {
        let text = logText("\(code): \(message)", cause: cause)
        return retry?.reason.map { "\(text); \($0.logText)" } ?? text
    }
}

extension ServerError: LoggableError {
    package var logText: String { retry?.reason.map { "\(answer); \($0.logText)" } ?? answer }
}

extension Retry.Error {
    fileprivate var logText: String {
        guard case .custom(let error) = self else { return description }
        return "not retried: \((error as? any LoggableError)?.logText ?? "\(type(of: error))")"
    }
}
