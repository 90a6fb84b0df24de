import Synchronization

/// What the last run of a download left on the disk.
final class DownloadResumeState: Sendable {
    private let state = Mutex<Download.ResumeData?>(nil)

    var data: Download.ResumeData? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
