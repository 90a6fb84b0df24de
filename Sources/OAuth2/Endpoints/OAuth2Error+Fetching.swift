package import Foundation
import Networking

extension OAuth2Error {
    /// Wraps the error of fetching a signed or public document, which is named with its article.
    package init(fetching document: String, failure error: any Error, at date: Date) {
        switch error {
        case let error as OAuth2Error:
            self = error
        case let error as ServerError:
            // The server's error page doesn't help readers of the error.
            let cause = ServerError(endpoint: error.endpoint, errorCode: error.errorCode)
            let isTransient = Self.isTransient(error.errorCode)
            let isRedirect = [301, 302, 303, 307, 308].contains(error.errorCode)
            let hint = isRedirect ? "redirects aren't followed; " : ""
            self.init(
                isTransient ? .serverTransient : .protocolViolation,
                isTransient
                    ? "\(document)'s server has failed temporarily"
                    : "\(document)'s server responded with \(error.errorCode): \(hint)check the URL",
                status: error.errorCode,
                cause: cause
            )
            if isTransient { retryAfter = Self.retryAfter(error, now: date) }
        case let error as NetworkError where error.code == .bodyTooLarge:
            self.init(
                .protocolViolation,
                "\(document) exceeds the maximum size; raise the limit if it's genuine",
                cause: error
            )
        default:
            self.init(.serverUnreachable, "\(document) could not be fetched", cause: error)
        }
    }
}
