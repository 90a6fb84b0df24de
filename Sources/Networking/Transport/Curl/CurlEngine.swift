import Glibc
import Synchronization

/// The engine's thread and the way to it.
///
/// The thread ends when the last reference goes; the transport has one, and so has each response that is still being read.
final class CurlEngine: Sendable {
    let mailbox: CurlMailbox
    /// Where the octets of streamed responses wait for their readers.
    let streamBlocks: BlockPool
    /// How many octets of a streamed response libcurl receives at once.
    let receivingSize: Int
    private let thread: EngineThread
    private let lastIdentifier = Atomic<UInt64>(0)
    /// `fork()` copies this object into a process that has no such thread.
    private let process = getpid()

    init(configuration: CurlTransport.Configuration) throws(NetworkError) {
        let mailbox = CurlMailbox(poller: try EventPoller())
        self.mailbox = mailbox
        streamBlocks = BlockPool(blockSize: configuration.streamBufferSize)
        receivingSize = configuration.receivingSize
        thread = try EngineThread { CurlLoop(mailbox: mailbox, configuration: configuration).run() }
    }

    deinit {
        if process == getpid() { mailbox.close() }
    }

    /// A number that no other exchange of this engine has.
    func nextIdentifier() -> UInt64 { lastIdentifier.add(1, ordering: .relaxed).newValue }

    /// Checks that the thread exists.
    ///
    /// - Parameter current: The process that asks.
    /// - Throws: ``NetworkError`` with the code `transportUnavailable` in a process that was forked after the thread was started.
    func validateProcess(_ current: pid_t = getpid()) throws(NetworkError) {
        guard process == current else {
            throw NetworkError(
                .transportUnavailable,
                "the transport was made before this process was forked; make a new one in the child"
            )
        }
    }

    /// Stops the thread and returns when it has ended.
    ///
    /// - Parameter patience: How long exchanges may still run.
    func close(after patience: Duration) async {
        guard process == getpid() else { return }
        // More than a year is for ever, and an instant has an end.
        let patience = min(max(patience, .zero), .seconds(31_536_000))
        await withCheckedContinuation { continuation in
            mailbox.close(at: .now + patience, continuation)
        }
        thread.join()
    }
}
