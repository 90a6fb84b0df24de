import OAuth2
import OpenSSLCrypto

/// Values in files of one machine, which its processes share.
///
/// A value is on the disk when a write returns. A version is the digest of its value.
struct FileStorage: ConditionalStorage {
    private let directory: String

    var maximumSize: Int { TokenFile.maximumSize }

    /// - Throws: `OAuth2Error` with the code `storeFailed` if other users could replace the files.
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
