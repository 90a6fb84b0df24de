public import Foundation
import Networking

struct ContentCheck: Sendable {
    /// The digest that the content must have; `nil` if none is covered.
    let digest: HTTPDigest?
    /// A Boolean value that indicates whether the content must be empty, because it isn't covered.
    var mustBeEmpty = false

    struct Progress: Sendable {
        fileprivate let check: ContentCheck
        fileprivate let hasher: HTTPDigest.Hasher?

        /// Throws `insufficientCoverage` if the content must be empty, or `undecided`.
        func update(_ part: Data) throws(HTTPSignatureError) {
            guard !part.isEmpty else { return }
            guard !check.mustBeEmpty else {
                throw HTTPSignatureError(
                    .insufficientCoverage,
                    "the message has content, which the signature must cover but doesn't"
                )
            }
            do { try hasher?.update(part) } catch { throw ContentCheck.failure(error) }
        }

        /// Ends the use of the value.
        func finish() throws(HTTPSignatureError) {
            let found: HTTPDigest?
            do { found = try hasher?.finish() } catch { throw ContentCheck.failure(error) }
            guard found == check.digest else {
                throw HTTPSignatureError(.digestMismatch, "the content isn't the one that Content-Digest describes")
            }
        }
    }

    func start() throws(HTTPSignatureError) -> Progress {
        do { return Progress(check: self, hasher: try digest?.hasher()) } catch { throw Self.failure(error) }
    }

    func check(_ content: Data) throws(HTTPSignatureError) {
        let progress = try start()
        try progress.update(content)
        try progress.finish()
    }

    private static func failure(_ error: NetworkError) -> HTTPSignatureError {
        HTTPSignatureError(.undecided, "the content can't be hashed", cause: error)
    }
}

extension HTTPDigest {
    /// Reads the supported members that a signature covers, or those of the whole field with `nil`.
    init(covered keys: Set<String>? = nil, in headers: HTTPHeaders) throws(HTTPSignatureError) {
        let found: HTTPDigest?
        do throws(NetworkError) {
            var lines = headers.values(for: "Content-Digest")
            if let keys {
                let members = try StructuredField.Dictionary(parsing: lines).filter { keys.contains($0.key) }
                lines = [try StructuredField.Dictionary(members.map { ($0.key, $0.value) }).serialized()]
            }
            found = try HTTPDigest(parsing: lines)
        } catch {
            throw HTTPSignatureError(.malformedComponent, "Content-Digest isn't a dictionary of digests", cause: error)
        }
        guard let found else {
            throw HTTPSignatureError(
                .unsupportedDigest,
                "the covered Content-Digest has no digest with SHA-256 or SHA-512"
            )
        }
        self = found
    }
}

extension HTTPBody {
    /// Reads the body if it can be read again; a field of the message must match it.
    func digestField(in headers: HTTPHeaders, _ algorithm: HTTPDigest.Algorithm) async throws -> String {
        let lines = headers.values(for: "Content-Digest")
        guard !lines.isEmpty else {
            guard isReplayable else {
                throw HTTPSignatureError(
                    .bodyNotReadable,
                    "the body can be read only once, so its digest isn't known before it's sent; set Content-Digest, or use "
                        + "a body that can be read twice"
                )
            }
            let hasher = try HTTPDigest.Hasher([algorithm])
            try await read { part in try hasher.update(part) }
            return try hasher.finish().fieldValue
        }
        let check = ContentCheck(digest: try HTTPDigest(in: headers))
        if isReplayable {
            let progress = try check.start()
            try await read { part in try progress.update(part) }
            try progress.finish()
        }
        return lines.joined(separator: ", ")
    }
}

/// A body that is checked while it's read.
///
/// Don't act on its parts before the end: the last call of `next()` throws
/// ``HTTPSignatureError/Code/digestMismatch`` if the content isn't the one that was signed.
///
/// ```swift
/// for try await part in body { try file.write(contentsOf: part) }
/// // Only now is the content verified.
/// ```
public struct DigestCheckedBody<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable
where Base.Element == Data {
    let base: Base
    let checks: [ContentCheck]

    /// Creates an iterator, which must be the only one.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: base.makeAsyncIterator(), checks: checks)
    }

    /// An iterator over the parts of a body.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: Base.AsyncIterator
        fileprivate let checks: [ContentCheck]
        fileprivate var progress: [ContentCheck.Progress]?
        fileprivate var hasEnded = false

        /// Returns the next part.
        ///
        /// - Returns: The part, or `nil` at the end of verified content.
        /// - Throws: The errors of the base sequence; ``HTTPSignatureError`` with the code
        ///   `digestMismatch` at the end, or `insufficientCoverage` before the first part of
        ///   content that must be covered but isn't.
        public mutating func next() async throws -> Data? {
            guard !hasEnded else { return nil }
            let progress = try progress ?? checks.map { try $0.start() }
            self.progress = progress
            guard let part = try await base.next(isolation: #isolation) else {
                hasEnded = true
                for check in progress { try check.finish() }
                return nil
            }
            for check in progress { try check.update(part) }
            return part
        }
    }
}
