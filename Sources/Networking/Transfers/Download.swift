public import Foundation
import Synchronization

/// A resumable download to a file.
///
/// ```swift
/// let download = client.download(url, to: .file(archive))
/// for await progress in download.progress {
///     print(progress.fractionCompleted ?? 0)
/// }
/// let file = try await download.value
/// ```
///
/// The download begins at once, or when the client's limit permits (see
/// ``NetworkClient/Options/maximumTransfers``). It writes to a hidden file next to the target,
/// which only the process's owner can read. Once all bytes have arrived, and their digest is
/// correct if one is known, the file gets the target's name in a single step. The target never
/// contains an incomplete file.
///
/// After a pause or a failure, or in another process that downloads the same URL to the same
/// target, the download continues where it stopped. This requires that the server supports range
/// requests ([RFC 9110 §14](https://www.rfc-editor.org/rfc/rfc9110#section-14)) and sent the length
/// and a strong validator (an `ETag`, or a `Last-Modified` from a while ago). If the resource has
/// changed or the server doesn't support ranges, the download starts over. If the server rejects a
/// range with 416, the download starts over once. The attempts of the client's ``Retry/Policy``
/// also request only the missing part, including those after a response with less than was asked
/// for. A response with another successful status than 200, 203 or 206 isn't the file, unless the
/// endpoint accepts it.
///
/// The handle owns the download. Releasing its last reference cancels the download, unless a task
/// awaits ``value`` or reads ``progress``. The bytes received so far are kept for a later download.
public final class Download: Transfer {
    /// A number that's unique among the client's transfers and increases with each transfer.
    public var id: UInt64 { core.id }
    private let core: TransferCore<DownloadedFile>
    private let remains: DownloadResumeState

    init(core: TransferCore<DownloadedFile>, remains: DownloadResumeState) {
        self.core = core
        self.remains = remains
    }

    deinit {
        core.cancel()
    }

    /// The file, once the download has completed.
    ///
    /// Canceling the awaiting task cancels the download.
    ///
    /// - Throws: ``ServerError`` for a status that isn't accepted or isn't the file.
    ///   ``NetworkError`` with the code `fileExists`, `cannotUseFile`, `transferInProgress`,
    ///   `rangeMismatch`, `digestMismatch`, `digestMissing` or `digestUnverifiable`, `invalidField`
    ///   if a digest is malformed, or the error of the last attempt. `CancellationError` if the
    ///   download was canceled.
    public var value: DownloadedFile {
        get async throws { try await core.value() }
    }

    /// The current progress.
    public var currentProgress: TransferProgress { core.progress }

    /// The progress from now on.
    public var progress: TransferUpdates { core.updates(of: self) }

    /// Pauses the download until ``resume()``.
    ///
    /// The download gives up its connection and its turn. If it can't be resumed, it starts over.
    /// Has no effect on a paused or finished download.
    public func pause() { core.pause() }

    /// Resumes a paused download; has no effect otherwise.
    public func resume() { core.resume() }

    /// Cancels the download, and waits until it has ended.
    ///
    /// - Returns: The data to resume from in another download, or `nil` if it doesn't exist or the
    ///   file is complete. Discard it when you no longer need it.
    @discardableResult
    public func cancel() async -> ResumeData? {
        await core.end()
        return remains.data
    }

    /// Cancels the download, and waits until it has ended; see ``cancel()``.
    public func end() async { await cancel() }
}

/// A downloaded file.
public struct DownloadedFile: Sendable {
    /// The file's URL.
    public let url: URL
    /// The head of the response that completed the download.
    ///
    /// After an interruption, it has the status 206 and describes a range.
    public let response: HTTPResponse
    /// The length of the file in bytes.
    public let length: Int
    /// The number of bytes that already existed when the download began or was last resumed.
    public let resumedFrom: Int
}

extension Download {
    /// The part of a download that's kept for resuming it later; see
    /// ``DownloadOptions/resumeData``.
    public struct ResumeData: Sendable, Hashable, Codable {
        let partPath: String
        let resource: String
        let count: Int
        let total: Int

        /// The number of bytes received so far.
        public var completedBytes: Int { count }
        /// The total number of bytes.
        public var totalBytes: Int { total }

        /// Removes the files of the partial download.
        public func discard() {
            try? FileManager.default.removeItem(atPath: partPath + ".resume")
            try? FileManager.default.removeItem(atPath: partPath)
        }
    }
}

/// The resume data of a download's last run.
final class DownloadResumeState: Sendable {
    private let state = Mutex<Download.ResumeData?>(nil)

    var data: Download.ResumeData? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
