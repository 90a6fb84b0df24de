import Foundation
import OpenSSLCrypto
import SystemIO

/// A TLS connection.
final class TLSWire: Wire {
    /// The size of a TLS record; with a slow peer, larger parts would only wait in memory.
    private static let pieceSize = 16 << 10

    private let socket: Socket
    private let tls: TLSServerConnection
    /// The encrypted bytes that the kernel hasn't accepted yet.
    private var pending = Data()
    private(set) var handshakeFailure: String?
    private(set) var isRefused = false

    init(_ socket: consuming Socket, _ context: TLSServerContext) throws {
        self.socket = socket
        tls = try TLSServerConnection(context)
    }

    var number: Int32 { socket.number }
    var isSecure: Bool { true }
    var isFlushed: Bool { pending.isEmpty }
    var session: TLSServerSession? { tls.session }

    func receive(into buffer: inout [UInt8]) -> Socket.Outcome {
        while true {
            let outcome = tls.read(into: &buffer)
            // Part of a handshake, a ticket or an alert. The next `flush()` sends the rest.
            if case .failed = flush() { return .failed }
            switch outcome {
            case .transferred(let count): return .transferred(count)
            case .ended: return ended()
            case .failed(let error):
                if !tls.isHandshakeFinished { handshakeFailure = error.description }
                isRefused = true
                return .failed
            case .needsInput: break
            }
            switch socket.receive(into: &buffer) {
            case .transferred(let count): buffer.withBytes { tls.receive($0.extracting(0..<count)) }
            case .ended: return ended()
            case let other: return other
            }
        }
    }

    func send(_ bytes: Data) -> Socket.Outcome {
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

    func flush() -> Socket.Outcome {
        pending.append(contentsOf: tls.takeCiphertext())
        while !pending.isEmpty {
            switch socket.send(pending.bytes) {
            case .transferred(let count): pending = count == pending.count ? Data() : pending.dropFirst(count)
            case let other: return other
            }
        }
        return .transferred(0)
    }

    func finishSending(isOrderly: Bool) -> Socket.Outcome {
        if isOrderly { tls.finish() }
        switch flush() {
        case .transferred: socket.finishSending()
        case let other: return other
        }
        return .transferred(0)
    }

    func discard(into buffer: inout [UInt8]) -> Socket.Outcome { socket.receive(into: &buffer) }

    func resetWhenClosed() { socket.resetWhenClosed() }

    private func ended() -> Socket.Outcome {
        if !tls.isHandshakeFinished {
            handshakeFailure = "the client closed the connection before the handshake was complete"
        }
        return .ended
    }
}
