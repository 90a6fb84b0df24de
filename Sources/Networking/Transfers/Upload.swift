/// An upload of data, a file, a stream or a form.
///
/// ```swift
/// let upload = client.upload(try .file(archive), to: url)
/// for await progress in upload.progress { print(progress.completedBytes) }
/// let response = try await upload.value
/// ```
///
/// The upload begins at once, or when the client's limit permits (see
/// ``NetworkClient/Options/maximumTransfers``). It reads files and streams while sending them, and
/// checks the status even if the response has no body. Retries, authenticators and redirects send
/// the source again if it can be read again. Otherwise, the upload fails before sending anything
/// twice.
///
/// The handle owns the upload. Releasing its last reference cancels the upload, unless a task
/// awaits ``value`` or reads ``progress``.
public final class Upload<Value: Sendable>: Transfer {
    /// A number that's unique among the client's transfers and increases with each transfer.
    public var id: UInt64 { core.id }
    private let core: TransferCore<Value>
    private let source: UploadSource

    init(core: TransferCore<Value>, source: UploadSource) {
        self.core = core
        self.source = source
    }

    deinit {
        core.cancel()
    }

    /// The response or the model decoded from it, once the upload has completed.
    ///
    /// Canceling the awaiting task cancels the upload.
    ///
    /// - Throws: ``ServerError`` for a status that isn't accepted. ``NetworkError`` with the code
    ///   `decoding`, `noData`, `bodyNotReplayable` or `digestMismatch`, or the error of the last
    ///   attempt. `CancellationError` if the upload was canceled.
    public var value: Value {
        get async throws { try await core.value() }
    }

    /// The current progress.
    public var currentProgress: TransferProgress { core.progress }

    /// The progress from now on.
    public var progress: TransferUpdates { core.updates(of: self) }

    /// Cancels the upload, if it hasn't ended, and waits for its end.
    public func cancel() async { await core.end() }

    /// Cancels the upload, and waits until it has ended; see ``cancel()``.
    public func end() async { await cancel() }

    /// Sends everything again after a failure or a cancellation.
    ///
    /// ``value`` and ``progress`` then belong to the new attempt. Has no effect on an upload that
    /// is in progress or has succeeded.
    ///
    /// - Throws: ``NetworkError`` with the code `bodyNotReplayable` if the source can be read only
    ///   once and was already read.
    public func retry() throws(NetworkError) {
        guard currentProgress.state != .completed else { return }
        try source.checkIsReadable()
        core.restart(self)
    }
}
