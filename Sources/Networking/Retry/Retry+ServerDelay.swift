import Foundation
import FoundationNetworking

extension Retry.Policy.Metadata {
    /// How long the server asks to wait, see ``RetryAfter``.
    ///
    /// - Parameter now: The current time, for a response without a `Date`.
    /// - Returns: The time; `nil` if the server did not say, or not in a way that can be read.
    func serverDelay(now: Date) -> Duration? {
        RetryAfter.delay(
            response?.headers["Retry-After"],
            responseDate: response?.headers["Date"],
            now: now
        )
    }
}
