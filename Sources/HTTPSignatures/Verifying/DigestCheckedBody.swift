public import Foundation
import Networking

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
