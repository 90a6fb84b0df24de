import Foundation
import Synchronization

/// A response's body that throws at its end if its digest is wrong.
final class VerifiedBody: HTTPResponseBodySource {
    /// Compares the digest of all bytes, with the trailer fields.
    typealias Check = @Sendable (_ computed: HTTPDigest, _ trailers: HTTPHeaders) throws -> Void

    private let body: HTTPResponseBody
    private let hasher: HTTPDigest.Hasher
    private let check: Check
    private let end = Mutex<Result<Void, any Error>?>(nil)

    init(_ body: HTTPResponseBody, hasher: HTTPDigest.Hasher, check: @escaping Check) {
        self.body = body
        self.hasher = hasher
        self.check = check
    }

    var trailers: HTTPHeaders { body.trailers }

    func next() async throws -> Data? {
        if let end = end.withLock({ $0 }) {
            try end.get()
            return nil
        }
        var parts = body.makeAsyncIterator()
        if let part = try await parts.next() {
            try hasher.update(part)
            return part
        }
        // Read by one task at a time.
        let result = Result { try check(try hasher.finish(), body.trailers) }
        end.withLock { $0 = result }
        try result.get()
        return nil
    }

    func cancel() {
        body.cancel()
    }
}
