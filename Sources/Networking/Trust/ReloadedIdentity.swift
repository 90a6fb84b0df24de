internal import Glibc
internal import OpenSSLCrypto
internal import Synchronization

/// An identity that's read again when its files change.
final class ReloadedIdentity: Sendable {
    /// The state of a file: replacing it changes the inode number, and rewriting it the time.
    private struct Stamp: Equatable {
        let device: dev_t
        let number: ino_t
        let size: off_t
        let seconds: Int
        let nanoseconds: Int

        init?(_ path: String) {
            var status = stat()
            guard unsafe stat(path, &status) == 0 else { return nil }
            device = status.st_dev
            number = status.st_ino
            size = status.st_size
            seconds = status.st_mtim.tv_sec
            nanoseconds = status.st_mtim.tv_nsec
        }
    }

    private struct State {
        var stamps: [Stamp?]
        var identity: TLSIdentity
    }

    private let source: IdentitySource
    private let onFailure: (@Sendable (any Error) -> Void)?
    private let state: Mutex<State>

    /// Reads the files for the first time.
    init(_ source: IdentitySource, onFailure: (@Sendable (any Error) -> Void)?) throws {
        self.source = source
        self.onFailure = onFailure
        // The stamps come first, so that a change during the reading is detected the next time.
        let stamps = source.paths.map(Stamp.init)
        state = Mutex(State(stamps: stamps, identity: try source.load()))
    }

    /// Returns the current identity of the files, or the last valid one.
    ///
    /// While certificate and key are being replaced, they don't match. The previous identity is
    /// returned then, and the next call tries again.
    func current() -> TLSIdentity {
        let (identity, failure) = state.withLock { state -> (TLSIdentity, (any Error)?) in
            let stamps = source.paths.map(Stamp.init)
            guard stamps != state.stamps else { return (state.identity, nil) }
            do {
                state = State(stamps: stamps, identity: try source.load())
                return (state.identity, nil)
            } catch {
                return (state.identity, error)
            }
        }
        if let failure { onFailure?(failure) }
        return identity
    }
}
