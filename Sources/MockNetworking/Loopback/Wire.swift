import Foundation
import OpenSSLCrypto
import SystemIO

/// A nonblocking transport of a connection's bytes, plain or with TLS.
protocol Wire: AnyObject {
    /// The descriptor, for the poller.
    var number: Int32 { get }
    /// A Boolean value that indicates whether the connection uses TLS.
    var isSecure: Bool { get }
    /// The session of a completed handshake; `nil` before, and without TLS.
    var session: TLSServerSession? { get }
    /// The reason why the handshake failed.
    var handshakeFailure: String? { get }
    /// A Boolean value that indicates whether the peer violated TLS, which ends the connection
    /// after an alert.
    var isRefused: Bool { get }
    /// A Boolean value that indicates whether the kernel has accepted all bytes.
    var isFlushed: Bool { get }

    /// Reads bytes from the peer.
    func receive(into buffer: inout [UInt8]) -> Socket.Outcome
    /// Sends at least one of the bytes, or none.
    func send(_ bytes: Data) -> Socket.Outcome
    /// Passes pending bytes to the kernel; returns `transferred` when it has accepted all of them.
    func flush() -> Socket.Outcome
    /// Shuts down the sending side.
    ///
    /// - Parameter isOrderly: Whether to end the TLS session as well as the underlying connection.
    /// - Returns: `transferred` when done. After `wouldBlock`, call this again.
    func finishSending(isOrderly: Bool) -> Socket.Outcome
    /// Reads and discards bytes.
    func discard(into buffer: inout [UInt8]) -> Socket.Outcome
    /// Makes closing the connection reset it.
    func resetWhenClosed()
}
