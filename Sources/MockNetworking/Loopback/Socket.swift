import CSocket
import Foundation
import Glibc
import System

/// A TCP socket that never blocks and never raises SIGPIPE.
struct Socket: ~Copyable {
    /// What a read or write achieved.
    enum Outcome {
        case transferred(Int)
        case wouldBlock
        case ended
        case failed
        /// What came is not TLS as it was agreed on; the peer is told, and then the connection ends.
        case refused
    }

    private let descriptor: Descriptor

    /// Its number, for epoll.
    var number: Int32 { descriptor.number }

    private init(_ descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }

    /// Listens on 127.0.0.1, on a port that the kernel chooses.
    ///
    /// - Parameter port: Where the port is put.
    /// - Returns: The socket.
    /// - Throws: What the operating system refused.
    static func listening(port: inout Int) throws(SystemFailure) -> Socket {
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { throw SystemFailure("socket") }
        let descriptor = Descriptor(takingOwnershipOf: number)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr = in_addr(s_addr: INADDR_LOOPBACK.bigEndian)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(number, $0, length) }
        }
        guard bound == 0 else { throw SystemFailure("bind") }
        guard listen(number, 4096) == 0 else { throw SystemFailure("listen") }
        let named = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(number, $0, &length)
            }
        }
        guard named == 0 else { throw SystemFailure("getsockname") }
        port = Int(UInt16(bigEndian: address.sin_port))
        return Socket(descriptor)
    }

    /// Accepts a connection; `nil` if none waits.
    func accept() throws(SystemFailure) -> Socket? {
        while true {
            let flags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
            let accepted = accept4(number, nil, nil, flags)
            if accepted >= 0 {
                let connection = Socket(Descriptor(takingOwnershipOf: accepted))
                // A response is written in as few pieces as it has; waiting for more would only delay it.
                connection.setOption(Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
                return connection
            }
            switch errno {
            case EAGAIN: return nil
            // The peer gave up before it was accepted.
            case EINTR, ECONNABORTED, EPROTO: continue
            default: throw SystemFailure("accept4")
            }
        }
    }

    func receive(into buffer: inout [UInt8]) -> Outcome {
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe recv(number, $0.baseAddress, $0.count, 0) }
            if count > 0 { return .transferred(count) }
            if count == 0 { return .ended }
            if errno != EINTR { return errno == EAGAIN ? .wouldBlock : .failed }
        }
    }

    func send(_ bytes: Data) -> Outcome {
        while true {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 { return .transferred(count) }
            if errno != EINTR { return errno == EAGAIN ? .wouldBlock : .failed }
        }
    }

    /// Tells the peer that nothing more will come.
    func finishSending() {
        _ = shutdown(number, Int32(SHUT_WR))
    }

    /// Makes closing the socket reset the connection instead of ending it in order.
    func resetWhenClosed() {
        setOption(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    }

    private func setOption<Value: BitwiseCopyable>(_ level: Int32, _ name: Int32, _ value: Value) {
        // None of these options can fail on a TCP socket, and none is needed for correctness.
        unsafe withUnsafeBytes(of: value) {
            _ = unsafe setsockopt(number, level, name, $0.baseAddress, socklen_t($0.count))
        }
    }
}
