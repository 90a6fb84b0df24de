import Foundation
import FoundationNetworking

extension Retry.Policy.Metadata {
    /// Returns the delay that the server asks for; see ``RetryAfter``.
    ///
    /// - Parameter now: The current date, for a response without a `Date` header field.
    /// - Returns: The delay, or `nil` if the header field is missing or invalid.
    func serverDelay(now: Date) -> Duration? {
        RetryAfter.delay(
            response?.headers["Retry-After"],
            responseDate: response?.headers["Date"],
            now: now
        )
    }
}
