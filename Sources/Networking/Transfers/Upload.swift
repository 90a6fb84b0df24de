/// An upload of data, a file, a stream or a form.
///
/// ```swift
/// let upload = client.upload(try .file(archive), to: url)
/// for await progress in upload.progress { print(progress.completedBytes) }
/// let response = try await upload.value
/// ```
///
/// It begins at once, or when it is its turn (see ``NetworkClient/Options/maximumTransfers``). Files and streams are read while they are
/// sent. The status is checked whether or not the answer has a body. What retry policies and authenticators ask for, and redirects, send the
/// source again if it can be read again; otherwise the upload fails before anything is sent a second time.
///
/// The handle holds the upload: when its last reference goes, and nobody waits for ``value`` or reads ``progress``, the upload is
/// cancelled.
public final class Upload<Value: Sendable>: Transfer {
    /// A number that no other transfer of the client has; later ones have higher numbers.
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

    /// The answer, once it is there: the response, or what was decoded from it.
    ///
    /// If the task that waits for it is cancelled, so is the upload.
    ///
    /// - Throws: ``ServerError`` for a status that is not accepted; ``NetworkError``: `cancelled`, `decoding`, `noData`,
    ///   `bodyNotReplayable`, or what ended the last attempt.
    public var value: Value {
        get async throws { try await core.value() }
    }

    /// How far the upload is now.
    public var currentProgress: TransferProgress { core.monitor.progress }

    /// How far the upload is from now on.
    public var progress: TransferUpdates { core.updates(of: self) }

    /// Ends the upload, and waits until it has ended; harmless if it is over.
    public func cancel() async { await core.end() }

    /// Ends the upload, and waits until it has ended; see ``cancel()``.
    public func end() async { await cancel() }

    /// Sends everything again after a failure or a cancellation; ``value`` and ``progress`` then are those of the new try.
    ///
    /// It is harmless if the upload is in progress or has succeeded.
    ///
    /// - Throws: ``NetworkError`` with the code `bodyNotReplayable` if the source can be read only once, and has been.
    public func retry() throws(NetworkError) {
        guard currentProgress.state != .completed else { return }
        try source.checkIsReadable()
        _ = core.restart(self)
    }
}
