import Foundation
import Synchronization

/// The body of an upload, which tracks how much of it was read.
final class UploadSource: Sendable {
    /// The body.
    let content: HTTPBody
    /// The value of `Content-Type`.
    let contentType: String?
    private let reading: Reading

    init(_ body: EndpointBody) {
        let reading = Reading()
        self.reading = reading
        contentType = body.contentType
        guard case .stream(let length, let isReplayable, let producer) = body.content.source else {
            content = body.content
            return
        }
        content = HTTPBody(
            source: .stream(length: length, isReplayable: isReplayable) { deliver in
                guard reading.begin(isReplayable: isReplayable) else { throw Self.isUsedUp }
                try await producer { part in
                    reading.add(part.count)
                    try await deliver(part)
                }
            }
        )
    }

    /// The number of bytes of a stream that the latest attempt has read.
    var readCount: Int { reading.count }

    /// Throws an error if the source can be read only once and was already read.
    func checkIsReadable() throws(NetworkError) {
        guard content.isReplayable || !reading.hasBegun else { throw Self.isUsedUp }
    }

    private static var isUsedUp: NetworkError {
        NetworkError(
            .bodyNotReplayable,
            "the upload's source can be read only once and was already read; start another upload with a new source"
        )
    }

    /// The progress of reading a stream.
    private final class Reading: Sendable {
        private let state = Mutex<Int?>(nil)

        var hasBegun: Bool { state.withLock { $0 != nil } }
        var count: Int { state.withLock { $0 ?? 0 } }

        /// Starts at the first byte; returns `false` if that's no longer possible.
        func begin(isReplayable: Bool) -> Bool {
            state.withLock { state in
                guard isReplayable || state == nil else { return false }
                state = 0
                return true
            }
        }

        func add(_ count: Int) {
            state.withLock { $0 = ($0 ?? 0) + count }
        }
    }
}
