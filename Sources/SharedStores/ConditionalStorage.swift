import Networking
import OAuth2
import OpenSSLCrypto
import Synchronization

/// A service that keeps values by name and replaces them only if their version is the expected one.
///
/// An error means that the outcome is unknown. A conforming type never repeats a write whose
/// outcome it doesn't know.
protocol ConditionalStorage: Sendable {
    /// The largest value in bytes.
    var maximumSize: Int { get }

    /// Reads a value and its version, never from a cache or a replica that lags.
    func read(_ name: String) async throws -> (value: [UInt8], version: String)?

    /// A version of `nil` creates the value; the result is `nil` if the stored version is another.
    func write(_ value: [UInt8], to name: String, over version: String?) async throws -> String?

    func delete(_ name: String, version: String) async throws -> Bool

    /// Returns `false` if the service doesn't tell of changes, so that the caller polls.
    func waitForChange(of name: String, after version: String?, timeout: Duration) async throws -> Bool
}

enum StoreRandom {
    static func bytes(count: Int) throws(OAuth2Error) -> [UInt8] {
        do { return try SecureRandom.bytes(count: count) } catch {
            throw OAuth2Error(.storeFailed, "random bytes for the store aren't available", cause: error)
        }
    }
}

extension FixedWidthInteger {
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

// A value is on the disk when a write returns. A version is the digest of its value.
struct FileStorage: ConditionalStorage {
    private let directory: String

    var maximumSize: Int { TokenFile.maximumSize }

    /// Throws `storeFailed` if other users could replace the files.
    init(directory path: String) throws(OAuth2Error) {
        directory = try TokenFile.prepareDirectory(path)
    }

    func read(_ name: String) async throws -> (value: [UInt8], version: String)? {
        let file = TokenFile(directory: directory, name: name)
        return try await BlockingWork.value {
            guard let value = try file.read() else { return nil }
            return (value, try Self.version(value))
        }
    }

    func write(_ value: [UInt8], to name: String, over version: String?) async throws -> String? {
        try await whileLocked(name) { file in
            guard try file.read().map(Self.version) == version else { return nil }
            try file.write(value)
            return try Self.version(value)
        }
    }

    func delete(_ name: String, version: String) async throws -> Bool {
        try await whileLocked(name) { file in
            guard try file.read().map(Self.version) == version else { return false }
            try file.remove()
            return true
        }
    }

    private func whileLocked<Result: Sendable>(
        _ name: String,
        _ body: @escaping @Sendable (TokenFile) throws -> Result
    ) async throws -> Result {
        let file = TokenFile(directory: directory, name: name)
        return try await BlockingWork.value {
            let lock = try file.lockWriting()
            defer { withExtendedLifetime(lock) {} }
            return try body(file)
        }
    }

    private static func version(_ value: [UInt8]) throws -> String {
        try value.withBytes { bytes throws(CryptoError) in try HashFunction.sha256.hash(bytes) }.hexadecimal
    }
}

final class MemoryStorage: ConditionalStorage {
    private let state = Mutex<(values: [String: (value: [UInt8], version: Int)], count: Int)>(([:], 0))

    var maximumSize: Int { 1 << 20 }

    func read(_ name: String) -> (value: [UInt8], version: String)? {
        state.withLock { $0.values[name] }.map { ($0.value, String($0.version)) }
    }

    func write(_ value: [UInt8], to name: String, over version: String?) -> String? {
        state.withLock { state in
            guard state.values[name].map({ String($0.version) }) == version else { return nil }
            state.count += 1
            state.values[name] = (value, state.count)
            return String(state.count)
        }
    }

    func delete(_ name: String, version: String) -> Bool {
        state.withLock { state in
            guard state.values[name].map({ String($0.version) }) == version else { return false }
            state.values[name] = nil
            return true
        }
    }
}
