import Foundation
import OpenSSLCrypto
import System

/// How the octets of a connection travel: as they are, or in TLS.
///
/// Nothing here ever waits.
protocol Wire: AnyObject {
    /// The descriptor's number, for the poller.
    var number: Int32 { get }
    /// Whether there is a handshake.
    var isSecure: Bool { get }
    /// What a handshake agreed on; `nil` before it is finished, and without TLS.
    var session: TLSServerSession? { get }
    /// Why the handshake did not succeed.
    var handshakeFailure: String? { get }
    /// Whether the peer broke TLS: it is told, and then the connection ends.
    var isRefused: Bool { get }
    /// Whether the kernel has everything that was taken.
    var isFlushed: Bool { get }

    /// Reads what the peer said.
    func receive(into buffer: inout [UInt8]) -> Socket.Outcome
    /// Takes some octets, at least one of them or none.
    func send(_ bytes: Data) -> Socket.Outcome
    /// Gives the kernel what it did not take before; `transferred` if it has everything.
    func flush() -> Socket.Outcome
    /// Tells the peer that nothing more will come.
    ///
    /// - Parameter isOrderly: Whether TLS is ended too, and not only the connection under it.
    /// - Returns: `transferred` when that is done; after `wouldBlock` it is to be called again.
    func finishSending(isOrderly: Bool) -> Socket.Outcome
    /// Reads what nobody wants to know any more.
    func discard(into buffer: inout [UInt8]) -> Socket.Outcome
    /// Makes closing the connection reset it.
    func resetWhenClosed()
}
