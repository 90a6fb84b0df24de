public import Foundation
internal import OpenSSLCrypto

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

    /// Parses a `Content-Digest` or `Repr-Digest` field; returns `nil` if it's missing or has no
    /// supported algorithm.
    ///
    /// - Parameter lines: The field's values; see ``HTTPHeaders/values(for:)``.
    /// - Throws: ``NetworkError`` with the code `invalidField` if the field is malformed, or the
    ///   digest of a supported algorithm isn't a byte sequence.
    public init?(parsing lines: [String]) throws(NetworkError) {
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

    /// The algorithms, which all have to match.
    public var algorithms: [Algorithm] { Algorithm.allCases.filter { hashes[$0] != nil } }

    /// The hash of an algorithm, or `nil` if the digest doesn't have it.
    ///
    /// - Parameter algorithm: The algorithm.
    /// - Returns: The hash.
    public subscript(algorithm: Algorithm) -> Data? { hashes[algorithm] }

    /// The value of a `Content-Digest` or `Repr-Digest` field.
    public var fieldValue: String {
        Algorithm.allCases.compactMap { algorithm in
            hashes[algorithm].map { "\(algorithm)=:\($0.base64EncodedString()):" }
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
}

extension HTTPDigest {
    /// A hash algorithm of digests
    /// ([RFC 9530 §5](https://www.rfc-editor.org/rfc/rfc9530#section-5)).
    @nonexhaustive
    public enum Algorithm: String, Sendable, CaseIterable, CustomStringConvertible {
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

        /// The key in the fields, such as `sha-256`.
        public var description: String { rawValue }
    }
}
