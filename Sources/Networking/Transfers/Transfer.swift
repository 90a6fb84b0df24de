/// A download or an upload that a client has begun.
public protocol Transfer: AnyObject, Sendable {
    /// A number that no other transfer of the client has; later ones have higher numbers.
    var id: UInt64 { get }
    /// How far it is now.
    var currentProgress: TransferProgress { get }
    /// How far it is from now on.
    var progress: TransferUpdates { get }
    /// Ends it, and waits until it has ended; harmless if it is over.
    func end() async
}

extension NetworkClient {
    /// The downloads and uploads that are waiting, in progress or paused, oldest first.
    ///
    /// Only those count whose handle somebody still has: the others have ended.
    public var transfers: [any Transfer] { transferQueue.all }
}
