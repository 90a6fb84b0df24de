/// An error whose text can be logged.
///
/// This package's errors contain no secrets; an error from elsewhere might, even as a cause.
package protocol LoggableError: Error {
    /// The failure, with the causes that can be logged.
    var logText: String { get }
}

extension LoggableError {
    /// Returns a text followed by the cause, if the cause can be logged.
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

extension CancellationError: LoggableError {
    package var logText: String { "cancelled" }
}

extension Retry.Error {
    fileprivate var logText: String {
        guard case .custom(let error) = self else { return description }
        return "not retried: \((error as? any LoggableError)?.logText ?? "\(type(of: error))")"
    }
}
