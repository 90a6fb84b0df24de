import Foundation
import Synchronization

/// What an upload sends, which knows how much of it was read.
final class UploadSource: Sendable {
    /// The octets to send.
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

    /// How many octets of a stream were read, the last time it was.
    var readCount: Int { reading.count }

    /// Checks that nothing was read yet of what can be read only once.
    func checkIsReadable() throws(NetworkError) {
        guard content.isReplayable || !reading.hasBegun else { throw Self.isUsedUp }
    }

    private static var isUsedUp: NetworkError {
        NetworkError(
            .bodyNotReplayable,
            "the upload's source can be read only once, and was; begin another upload with a new source"
        )
    }

    /// How far a stream was read.
    private final class Reading: Sendable {
        private let state = Mutex<Int?>(nil)

        var hasBegun: Bool { state.withLock { $0 != nil } }
        var count: Int { state.withLock { $0 ?? 0 } }

        /// Begins at the first octet; false if that is not possible any more.
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
