internal import OpenSSLCrypto

/// The headers of tokens that a verifier has accepted, as they were read.
///
/// The tokens of one issuer mostly have one header, the same to the byte. What it says, and which keys it can mean, depends
/// on these bytes and on what the verifier was made with, and on nothing else. A header is kept only when a signature over
/// it was good, so that nobody can fill the places with headers of his own.
final class KnownHeaders: Sendable {
    /// A header that was found well formed and without extensions, and the keys that it can mean.
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

        /// Uses the entry of a token's header, if it is this one or one behind it.
        fileprivate func find<Result>(_ token: CompactToken, _ body: (Entry) -> Result) -> Result? {
            if token.hasHeader(text) { return body(self) }
            return next.withObject { $0.find(token, body) } ?? nil
        }

        fileprivate func append(_ new: Entry, capacity: Int) {
            guard capacity > 0, text != new.text, !next.set(new) else { return }
            next.withObject { $0.append(new, capacity: capacity - 1) }
        }
    }

    /// More headers than a rotation of keys has at a time.
    private static let capacity = 4
    private let first = SetOnce<Entry>()

    /// Uses the entry of a token's header, if there is one.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - body: Uses the entry, which is lent to it.
    /// - Returns: What `body` returns, or `nil` if there is no entry.
    func withEntry<Result>(for token: CompactToken, _ body: (Entry) -> Result) -> Result? {
        first.withObject { $0.find(token, body) } ?? nil
    }

    /// Keeps what was read of a token whose signature is good, while there is room.
    func keep(_ new: Entry) {
        if !first.set(new) { first.withObject { $0.append(new, capacity: Self.capacity - 1) } }
    }
}
