import Networking
import OAuth2
import OpenSSLCrypto

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
    /// It returns the new version; `nil` if the stored version is another.
    func write(_ value: [UInt8], to name: String, over version: String?) async throws -> String?

    /// Deletes a value of a version.
    func delete(_ name: String, version: String) async throws -> Bool

    /// Waits until the version differs, or for the given time; returns `false` if the service
    /// doesn't tell of changes, so that the caller polls.
    func waitForChange(of name: String, after version: String?, timeout: Duration) async throws -> Bool
}

/// Random bytes for what stores write.
enum StoreRandom {
    static func bytes(count: Int) throws(OAuth2Error) -> [UInt8] {
        do { return try SecureRandom.bytes(count: count) } catch {
            throw OAuth2Error(.storeFailed, "random bytes for the store aren't available", cause: error)
        }
    }
}

extension FixedWidthInteger {
    /// Returns the number in a version; `nil` if the service can't have written it.
    ///
    /// Some services take a version of zero, or one that isn't a number, as the absence of a
    /// condition.
    static func version(_ text: String) -> Self? {
        guard let number = Self(text), number > 0, String(number) == text else { return nil }
        return number
    }
}

extension ConditionalStorage {
    func waitForChange(of name: String, after version: String?, timeout: Duration) async throws -> Bool { false }
}
