internal import OpenSSLCrypto
internal import Synchronization

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
        fileprivate let text: [UInt8]
        fileprivate let next = AtomicLazyReference<Entry>()

        init(_ header: ProtectedHeader, _ keys: [VerificationKey], text: [UInt8]) {
            self.header = header
            self.keys = keys
            self.text = text
        }
    }

    /// More headers than a rotation of keys has at a time.
    private static let capacity = 4
    private let first = AtomicLazyReference<Entry>()

    /// The entry of a token's header, if there is one.
    func entry(for token: CompactToken) -> Entry? {
        var candidate = first.load()
        while let entry = candidate {
            if token.hasHeader(entry.text) { return entry }
            candidate = entry.next.load()
        }
        return nil
    }

    /// Keeps what was read of a token whose signature is good, while there is room.
    func keep(_ new: Entry) {
        var entry = first.storeIfNil(new)
        for _ in 1..<Self.capacity where entry !== new && entry.text != new.text {
            entry = entry.next.storeIfNil(new)
        }
    }
}
