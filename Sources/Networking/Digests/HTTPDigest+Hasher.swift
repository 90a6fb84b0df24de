package import Foundation
internal import OpenSSLCrypto
import Synchronization

extension HTTPDigest {
    /// An incremental computation of a digest.
    ///
    /// ```swift
    /// let hasher = try digest.hasher()
    /// for part in parts { try hasher.update(part) }
    /// let isIntact = try hasher.finish() == digest
    /// ```
    package final class Hasher: Sendable {
        private let algorithms: [Algorithm]
        private let states: Mutex<[HashState]>

        /// Starts the computation with at least one algorithm.
        ///
        /// - Throws: ``NetworkError`` with the code `digestUnverifiable` if OpenSSL doesn't offer
        ///   one.
        package init(_ algorithms: [Algorithm]) throws(NetworkError) {
            self.algorithms = algorithms
            states = Mutex(try Self.computing { try algorithms.map { try HashState($0.function) } })
        }

        /// Appends bytes to the content.
        ///
        /// - Throws: ``NetworkError`` with the code `digestUnverifiable` if OpenSSL fails.
        package func update(_ part: Data) throws(NetworkError) {
            try Self.computing {
                try states.withLock { states in
                    for state in states { try state.update(part.bytes) }
                }
            }
        }

        /// Returns the digest of all bytes; don't use the hasher afterwards.
        ///
        /// - Throws: ``NetworkError`` with the code `digestUnverifiable` if OpenSSL fails.
        package func finish() throws(NetworkError) -> HTTPDigest {
            let hashes = try Self.computing {
                try states.withLock { states in try states.map { Data(try $0.finish()) } }
            }
            return HTTPDigest(Swift.Dictionary(uniqueKeysWithValues: zip(algorithms, hashes)))
        }

        private static func computing<Result>(_ body: () throws -> Result) throws(NetworkError) -> Result {
            do { return try body() } catch {
                throw NetworkError(.digestUnverifiable, "OpenSSL can't compute a digest", cause: error)
            }
        }
    }

    /// Starts the computation of a digest with the same algorithms, to compare with this one.
    package func hasher() throws(NetworkError) -> Hasher { try Hasher(algorithms) }
}
