public import Foundation
import Synchronization

/// A download to a file, which survives interruptions.
///
/// ```swift
/// let download = client.download(url, to: .file(archive))
/// for await progress in download.progress { print(progress.fractionCompleted ?? 0) }
/// let file = try await download.value
/// ```
///
/// It begins at once, or when it is its turn (see ``NetworkClient/Options/maximumTransfers``). The octets go to a hidden file beside the
/// target, which only the owner of the process can read. When they are whole, and their digest is right if one is known, they get the
/// target's name in one step: under that name there is never anything incomplete.
///
/// After a pause, a failure, or in another process that downloads the same URL to the same target, the download goes on where it stopped, if
/// the server gave a strong validator (`ETag`, or `Last-Modified` of a while ago), the length, and takes ranges
/// ([RFC 9110 §14](https://www.rfc-editor.org/rfc/rfc9110#section-14)). If the resource has changed meanwhile, or the server takes no ranges,
/// it starts over. So do the attempts that a ``Retry/Policy`` of the client asks for: they ask for what is missing only.
///
/// The handle holds the download: when its last reference goes, and nobody waits for ``value`` or reads ``progress``, the download is
/// cancelled. What there is by then is kept for a later one.
public final class Download: Transfer {
    /// A number that no other transfer of the client has; later ones have higher numbers.
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

    /// The file, once it is there.
    ///
    /// If the task that waits for it is cancelled, so is the download.
    ///
    /// - Throws: ``ServerError`` for a status that is not accepted; ``NetworkError``: `cancelled`, `fileExists`, `cannotUseFile`,
    ///   `transferInProgress`, `rangeMismatch`, `digestMismatch`, or what ended the last attempt.
    public var value: DownloadedFile {
        get async throws { try await core.value() }
    }

    /// How far the download is now.
    public var currentProgress: TransferProgress { core.monitor.progress }

    /// How far the download is from now on.
    public var progress: TransferUpdates { core.updates(of: self) }

    /// Stops receiving until ``resume()``; harmless if the download is paused or over.
    ///
    /// The connection is given up, and the place among those in progress. What can't be gone on with starts over.
    public func pause() { core.pause() }

    /// Goes on after a ``pause()``; harmless otherwise.
    public func resume() { core.resume() }

    /// Ends the download, and waits until it has ended.
    ///
    /// - Returns: With what another download can go on; `nil` if there is nothing, or the file is there already. What is not needed any
    ///   more should be discarded.
    @discardableResult
    public func cancel() async -> ResumeData? {
        await core.end()
        return remains.data
    }

    /// Ends the download, and waits until it has ended; see ``cancel()``.
    public func end() async { await cancel() }
}

/// A file that was downloaded.
public struct DownloadedFile: Sendable {
    /// Where it is.
    public let url: URL
    /// The head of the response that completed it: one to a range, of status 206, if the download was interrupted.
    public let response: HTTPResponse
    /// How many octets it has.
    public let length: Int
    /// How many octets were there already when the download began, or was resumed for the last time.
    public let resumedFrom: Int
}

extension Download {
    /// What a download left, to go on with it later; see ``DownloadOptions/resumeData``.
    public struct ResumeData: Sendable, Hashable, Codable {
        let partPath: String
        let resource: String
        let count: Int
        let total: Int

        /// How many octets there are.
        public var completedBytes: Int { count }
        /// How many octets there will be.
        public var totalBytes: Int { total }

        /// Removes what there is.
        public func discard() {
            try? FileManager.default.removeItem(atPath: partPath + ".resume")
            try? FileManager.default.removeItem(atPath: partPath)
        }
    }
}
