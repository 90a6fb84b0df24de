public import Foundation
internal import OpenSSLCrypto
import Synchronization

/// The digests of a `Content-Digest` or `Repr-Digest` field
/// ([RFC 9530](https://www.rfc-editor.org/rfc/rfc9530)).
///
/// ```swift
/// let digest = try HTTPDigest(of: content)
/// request.setValue(digest.fieldValue, forHTTPHeaderField: "Content-Digest")
/// ```
///
/// SHA-256 and SHA-512 are supported. The deprecated algorithms protect only from accidents (§5),
/// so they're ignored like unknown ones.
///
/// A digest alone doesn't protect from an attacker, who can replace or remove it with the content
/// (§6.1).
public struct HTTPDigest: Hashable, Sendable {
    private let hashes: [Algorithm: Data]

    init(_ hashes: [Algorithm: Data]) {
        self.hashes = hashes
    }

    /// Creates the digest of content.
    ///
    /// - Parameters:
    ///   - content: The bytes, with their content coding.
    ///   - algorithm: The hash algorithm. The default is SHA-256.
    /// - Throws: ``NetworkError`` with the code `digestUnverifiable` if OpenSSL can't compute it.
    public init(of content: Data, by algorithm: Algorithm = .sha256) throws(NetworkError) {
        let hasher = try Hasher([algorithm])
        try hasher.update(content)
        self = try hasher.finish()
    }

    /// Returns `nil` if the field is missing or has no supported algorithm, and throws
    /// `invalidField` if it's malformed, or such a digest isn't a byte sequence.
    package init?(parsing lines: [String]) throws(NetworkError) {
        var hashes: [Algorithm: Data] = [:]
        for (key, member) in try StructuredField.Dictionary(parsing: lines) {
            guard let algorithm = Algorithm(rawValue: key) else { continue }
            guard case .item(let item) = member, case .byteSequence(let hash) = item.value else {
                throw NetworkError(.invalidField, "the digest “\(algorithm.rawValue)” isn't a byte sequence")
            }
            hashes[algorithm] = hash
        }
        guard !hashes.isEmpty else { return nil }
        self.init(hashes)
    }

    package var algorithms: [Algorithm] { Algorithm.allCases.filter { hashes[$0] != nil } }

    package subscript(algorithm: Algorithm) -> Data? { hashes[algorithm] }

    /// The value of a `Content-Digest` or `Repr-Digest` field.
    public var fieldValue: String {
        Algorithm.allCases.compactMap { algorithm in
            hashes[algorithm].map { "\(algorithm.rawValue)=:\($0.base64EncodedString()):" }
        }.joined(separator: ", ")
    }

    /// Returns whether content has each of the digests.
    ///
    /// - Parameter content: The bytes, with their content coding.
    /// - Returns: `true` if all match.
    /// - Throws: ``NetworkError`` with the code `digestUnverifiable` if OpenSSL can't compute them.
    public func matches(_ content: Data) throws(NetworkError) -> Bool {
        let hasher = try Hasher(algorithms)
        try hasher.update(content)
        return try hasher.finish() == self
    }

    /// A hash algorithm of digests, whose raw value is its key in the fields
    /// ([RFC 9530 §5](https://www.rfc-editor.org/rfc/rfc9530#section-5)).
    @nonexhaustive
    public enum Algorithm: String, Sendable, CaseIterable {
        /// SHA-256.
        case sha256 = "sha-256"
        /// SHA-512.
        case sha512 = "sha-512"

        var function: HashFunction {
            switch self {
            case .sha256: .sha256
            case .sha512: .sha512
            }
        }
    }

    /// The value of a `Want-Content-Digest` or `Want-Repr-Digest` field, which is a hint
    /// ([RFC 9530 §4](https://www.rfc-editor.org/rfc/rfc9530#section-4)).
    package struct Preferences: Hashable, Sendable {
        private let weights: [Weight]

        private struct Weight: Hashable {
            let key: String
            let value: Int64
        }

        /// The most preferred algorithm is first.
        package init(_ algorithms: [Algorithm]) {
            weights = algorithms.enumerated().map { Weight(key: $1.rawValue, value: Int64(max(1, 10 - $0))) }
        }

        /// A missing field has no preferences.
        package init(parsing lines: [String]) throws(NetworkError) {
            var weights: [Weight] = []
            for (key, member) in try StructuredField.Dictionary(parsing: lines) {
                guard case .item(let item) = member, case .integer(let weight) = item.value,
                    (0...10).contains(weight)
                else { throw NetworkError(.invalidField, "the weight of a digest isn't an integer from 0 to 10") }
                weights.append(Weight(key: key, value: weight))
            }
            self.weights = weights
        }

        /// The supported algorithms that are acceptable, the most preferred first.
        package var algorithms: [Algorithm] {
            // The standard library's sort is stable.
            weights.filter { $0.value > 0 }.sorted { $0.value > $1.value }
                .compactMap { Algorithm(rawValue: $0.key) }
        }

        package var fieldValue: String { weights.map { "\($0.key)=\($0.value)" }.joined(separator: ", ") }
    }

    /// A field that conveys digests.
    public enum Field: String, CaseIterable, Sendable {
        /// `Content-Digest`, for the content of the message, such as a part of a file
        /// ([RFC 9530 §2](https://www.rfc-editor.org/rfc/rfc9530#section-2)).
        case content = "Content-Digest"
        /// `Repr-Digest`, for the whole representation, such as the complete file
        /// ([RFC 9530 §3](https://www.rfc-editor.org/rfc/rfc9530#section-3)).
        case representation = "Repr-Digest"

        /// The field that asks for this field, such as `Want-Content-Digest`.
        package var preferenceName: String { "Want-\(rawValue)" }
    }

    /// Reads a field of a message; returns `nil` if it's missing or has no supported algorithm.
    ///
    /// - Parameters:
    ///   - field: The field.
    ///   - headers: The header or trailer fields of the message.
    /// - Throws: ``NetworkError`` with the code `invalidField` if the field is malformed.
    public init?(_ field: Field, in headers: HTTPHeaders) throws(NetworkError) {
        let lines = headers.values(for: field.rawValue)
        guard !lines.isEmpty else { return nil }
        do throws(NetworkError) {
            try self.init(parsing: lines)
        } catch {
            throw NetworkError(error.code, "\(field.rawValue): \(error.message)")
        }
    }
}

extension [HTTPDigest] {
    var algorithms: [HTTPDigest.Algorithm] {
        HTTPDigest.Algorithm.allCases.filter { algorithm in contains { $0[algorithm] != nil } }
    }

    /// Returns whether all digests agree with one that was computed with ``algorithms`` or more.
    func allMatch(_ computed: HTTPDigest) -> Bool {
        allSatisfy { digest in digest.algorithms.allSatisfy { digest[$0] == computed[$0] } }
    }
}

extension [HTTPDigest.Field] {
    func digests(in headers: HTTPHeaders) throws(NetworkError) -> [HTTPDigest] {
        var digests: [HTTPDigest] = []
        for field in self {
            if let digest = try HTTPDigest(field, in: headers) { digests.append(digest) }
        }
        return digests
    }
}

extension HTTPDigest {
    /// An incremental computation of a digest.
    package final class Hasher: Sendable {
        private let algorithms: [Algorithm]
        private let states: Mutex<[HashState]>

        package init(_ algorithms: [Algorithm]) throws(NetworkError) {
            self.algorithms = algorithms
            states = Mutex(try Self.computing { try algorithms.map { try HashState($0.function) } })
        }

        package func update(_ part: Data) throws(NetworkError) {
            try Self.computing {
                try states.withLock { states in
                    for state in states { try state.update(part.bytes) }
                }
            }
        }

        /// Returns the digest of all bytes; don't use the hasher afterwards.
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
