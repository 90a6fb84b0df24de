internal import OpenSSLCrypto

/// The parsed headers of tokens that a verifier has accepted.
///
/// Tokens of one issuer usually have identical headers. The parsed header and the matching keys
/// depend only on the header's bytes and on the verifier. A header is kept only after a signature
/// over it was verified, so that attackers can't fill the cache with other headers.
final class KnownHeaders: Sendable {
    /// A well-formed header without extensions, and the keys that match it.
    final class Entry: Sendable {
        let header: ProtectedHeader
        let keys: [VerificationKey]
        private let text: [UInt8]
        private let next = SetOnce<Entry>()

        init(_ header: ProtectedHeader, _ keys: [VerificationKey], text: [UInt8]) {
            self.header = header
            self.keys = keys
            self.text = text
        }

        /// Passes this or a following entry to a closure, if it's the entry of a token's header.
        fileprivate func find<Result>(_ token: CompactToken, _ body: (Entry) -> Result) -> Result? {
            if token.hasHeader(text) { return body(self) }
            return next.withObject { $0.find(token, body) } ?? nil
        }

        fileprivate func append(_ new: Entry, capacity: Int) {
            guard capacity > 0, text != new.text, !next.set(new) else { return }
            next.withObject { $0.append(new, capacity: capacity - 1) }
        }
    }

    /// The maximum number of headers, which is more than a rotation of keys uses at a time.
    private static let capacity = 4
    private let first = SetOnce<Entry>()

    /// Lends the entry of a token's header to a closure, if there is one, and returns its result.
    func withEntry<Result>(for token: CompactToken, _ body: (Entry) -> Result) -> Result? {
        first.withObject { $0.find(token, body) } ?? nil
    }

    /// Keeps the entry of a token with a valid signature, if there is room.
    func keep(_ new: Entry) {
        if !first.set(new) { first.withObject { $0.append(new, capacity: Self.capacity - 1) } }
    }
}
