import Networking
import OAuth2

/// A service that keeps values by name and replaces them only if their version is the expected one.
///
/// An error means that the outcome is unknown. A conforming type never repeats a write whose
/// outcome it doesn't know.
protocol ConditionalStorage: Sendable {
    /// The largest value in bytes.
    var maximumSize: Int { get }

    /// Reads a value and its version, never from a cache or a replica that lags.
    func read(_ name: String) async throws -> (value: [UInt8], version: String)?

    /// Writes a value over a version, or creates it if the version is `nil`.
    ///
    /// - Returns: The new version; `nil` if the stored version is another.
    func write(_ value: [UInt8], to name: String, over version: String?) async throws -> String?

    /// Deletes a value of a version.
    func delete(_ name: String, version: String) async throws -> Bool

    /// Waits until the version differs, or for the given time.
    ///
    /// - Returns: `false` if the service doesn't tell of changes, so that the caller polls.
    func waitForChange(of name: String, after version: String?, timeout: Duration) async throws -> Bool
}

extension ConditionalStorage {
    func waitForChange(of name: String, after version: String?, timeout: Duration) async throws -> Bool { false }
}
