import Foundation
import OpenSSLCrypto
import SystemIO

/// A nonblocking transport of a connection's bytes, plain or with TLS.
final class Wire {
    /// The size of a TLS record; with a slow peer, larger parts would only wait in memory.
    private static let pieceSize = 16 << 10

    private let socket: Socket
    private let tls: TLSServerConnection?
    /// The encrypted bytes that the kernel hasn't accepted yet.
    private var pending = Data()
    /// The reason why the handshake failed.
    private(set) var handshakeFailure: String?
    /// A Boolean value that indicates whether the peer violated TLS, which ends the connection
    /// after an alert.
    private(set) var isRefused = false

    init(_ socket: consuming Socket, _ context: TLSServerContext?) throws {
        self.socket = socket
        tls = try context.map { try TLSServerConnection($0) }
    }

    /// The descriptor, for the poller.
    var number: Int32 { socket.number }
    /// A Boolean value that indicates whether the connection uses TLS.
    var isSecure: Bool { tls != nil }
    /// A Boolean value that indicates whether the kernel has accepted all bytes.
    var isFlushed: Bool { pending.isEmpty }
    /// The session of a completed handshake; `nil` before, and without TLS.
    var session: TLSServerSession? { tls?.session }

    /// Reads bytes from the peer.
    func receive(into buffer: inout [UInt8]) -> Socket.Outcome {
        guard let tls else { return socket.receive(into: &buffer) }
        while true {
            let outcome = tls.read(into: &buffer)
            // Part of a handshake, a ticket or an alert. The next `flush()` sends the rest.
            if case .failed = flush() { return .failed }
            switch outcome {
            case .transferred(let count): return .transferred(count)
            case .ended: return ended(tls)
            case .failed(let error):
                if !tls.isHandshakeFinished { handshakeFailure = error.description }
                isRefused = true
                return .failed
            case .needsInput: break
            }
            switch socket.receive(into: &buffer) {
            case .transferred(let count): buffer.withBytes { tls.receive($0.extracting(0..<count)) }
            case .ended: return ended(tls)
            case let other: return other
            }
        }
    }

    /// Sends at least one of the bytes, or none.
    func send(_ bytes: Data) -> Socket.Outcome {
        guard let tls else { return socket.send(bytes.bytes) }
        switch flush() {
        case .transferred: break
        case let other: return other
        }
        switch tls.write(bytes.prefix(Self.pieceSize).bytes) {
        case .transferred(let count):
            if case .failed = flush() { return .failed }
            return .transferred(count)
        case .needsInput: return .wouldBlock
        case .ended, .failed: return .failed
        }
    }

    /// Passes pending bytes to the kernel; returns `transferred` when it has accepted all of them.
    func flush() -> Socket.Outcome {
        if let tls { pending.append(contentsOf: tls.takeCiphertext()) }
        while !pending.isEmpty {
            switch socket.send(pending.bytes) {
            case .transferred(let count): pending = count == pending.count ? Data() : pending.dropFirst(count)
            case let other: return other
            }
        }
        return .transferred(0)
    }

    /// Shuts down the sending side.
    ///
    /// - Parameter isOrderly: Whether to end the TLS session as well as the underlying connection.
    /// - Returns: `transferred` when done. After `wouldBlock`, call this again.
    func finishSending(isOrderly: Bool) -> Socket.Outcome {
        if isOrderly { tls?.finish() }
        switch flush() {
        case .transferred: socket.finishSending()
        case let other: return other
        }
        return .transferred(0)
    }

    /// Reads and discards bytes.
    func discard(into buffer: inout [UInt8]) -> Socket.Outcome { socket.receive(into: &buffer) }

    /// Makes closing the connection reset it.
    func resetWhenClosed() { socket.resetWhenClosed() }

    private func ended(_ tls: TLSServerConnection) -> Socket.Outcome {
        if !tls.isHandshakeFinished {
            handshakeFailure = "the client closed the connection before the handshake was complete"
        }
        return .ended
    }
}
