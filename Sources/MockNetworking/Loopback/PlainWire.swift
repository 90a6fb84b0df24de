import Foundation
import OpenSSLCrypto
import SystemIO

/// A connection without TLS.
final class PlainWire: Wire {
    private let socket: Socket

    init(_ socket: consuming Socket) {
        self.socket = socket
    }

    var number: Int32 { socket.number }
    var isSecure: Bool { false }
    var session: TLSServerSession? { nil }
    var handshakeFailure: String? { nil }
    var isRefused: Bool { false }
    var isFlushed: Bool { true }

    func receive(into buffer: inout [UInt8]) -> Socket.Outcome { socket.receive(into: &buffer) }

    func send(_ bytes: Data) -> Socket.Outcome { socket.send(bytes.bytes) }

    func flush() -> Socket.Outcome { .transferred(0) }

    func finishSending(isOrderly: Bool) -> Socket.Outcome {
        socket.finishSending()
        return .transferred(0)
    }

    func discard(into buffer: inout [UInt8]) -> Socket.Outcome { socket.receive(into: &buffer) }

    func resetWhenClosed() { socket.resetWhenClosed() }
}
