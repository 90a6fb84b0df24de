import Foundation
import Synchronization

/// The body of an upload, which tracks how much of it was read.
final class UploadSource: Sendable {
    let contentType: String?
    private let body: HTTPBody
    /// The number of bytes of a stream that the latest attempt has read; `nil` before the first.
    private let count = Mutex<Int?>(nil)

    init(_ body: EndpointBody) {
        self.body = body.content
        contentType = body.contentType
    }

    /// The body, which counts the bytes of a stream.
    var content: HTTPBody {
        guard case .stream(let length, let isReplayable, let producer) = body.source else { return body }
        return HTTPBody(length: length, isReplayable: isReplayable) { [self] deliver in
            try begin()
            try await producer { [self] part in
                count.withLock { $0 = ($0 ?? 0) + part.count }
                try await deliver(part)
            }
        }
    }

    var readCount: Int { count.withLock { $0 ?? 0 } }

    /// Throws an error if the source can be read only once and was already read.
    func checkIsReadable() throws(NetworkError) {
        guard count.withLock({ $0 == nil }) || body.isReplayable else { throw Self.isUsedUp }
    }

    /// Starts at the first byte, if that's still possible.
    private func begin() throws(NetworkError) {
        let isReadable = count.withLock { count in
            guard count == nil || body.isReplayable else { return false }
            count = 0
            return true
        }
        guard isReadable else { throw Self.isUsedUp }
    }

    private static var isUsedUp: NetworkError {
        NetworkError(
            .bodyNotReplayable,
            "the upload's source can be read only once and was already read; start another upload with a new source"
        )
    }
}
