/// A download or an upload of a client.
public protocol Transfer: AnyObject, Sendable {
    /// A number that's unique among the client's transfers and increases with each transfer.
    var id: UInt64 { get }
    /// The current progress.
    var currentProgress: TransferProgress { get }
    /// The progress from now on.
    var progress: TransferUpdates { get }
    /// Cancels the transfer, if it hasn't ended, and waits for its end.
    func end() async
}

extension NetworkClient {
    /// The waiting, running and paused downloads and uploads, oldest first.
    ///
    /// A transfer is listed as long as its handle exists. Without a handle, it has ended.
    public var transfers: [any Transfer] { transferQueue.all }
}
