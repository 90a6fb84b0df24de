import Networking
import TokenGeneration

extension OAuth2Error: LoggableError {
    package var logText: String {
        let text = "\(code): \(message)"
        return logText(serverCode.map { "\(text) [\($0)]" } ?? text, cause: cause)
    }
}

extension TokenError: LoggableError {
    package var logText: String { logText("\(code): \(message)", cause: cause) }
}
