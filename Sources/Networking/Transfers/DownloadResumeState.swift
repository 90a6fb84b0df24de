import Synchronization

/// The resume data of a download's last run.
final class DownloadResumeState: Sendable {
    private let state = Mutex<Download.ResumeData?>(nil)

    var data: Download.ResumeData? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
