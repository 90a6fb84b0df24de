internal import CSocket
import Glibc

/// A nonblocking TCP socket that never raises SIGPIPE and closes its descriptor when destroyed.
package struct Socket: ~Copyable {
    package enum Outcome {
        case transferred(Int)
        case wouldBlock
        case ended
        case failed
    }

    package let number: Int32

    private init(takingOwnershipOf number: Int32) { self.number = number }

    deinit { _ = close(number) }

    package static func listening(port: UInt16 = 0) throws(SystemFailure) -> Socket {
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { throw SystemFailure("socket") }
        let socket = Socket(takingOwnershipOf: number)
        // Connections that ended a moment ago don't keep the port; another listener still does. A
        // port that the system selects needs to be unused.
        if port != 0 { socket.setOption(SOL_SOCKET, SO_REUSEADDR, Int32(1)) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr = in_addr(s_addr: INADDR_LOOPBACK.bigEndian)
        let bound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard bound == 0 else { throw SystemFailure("bind") }
        guard listen(number, SOMAXCONN) == 0 else { throw SystemFailure("listen") }
        return socket
    }

    package func port() throws(SystemFailure) -> UInt16 {
        guard let port = Self.localPort(of: number) else { throw SystemFailure("getsockname") }
        return port
    }

    /// Returns the local port of a connection, or `nil` for a Unix-domain socket.
    package static func localPort(of socket: Int32) -> UInt16? {
        var address = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let code = unsafe withUnsafeMutableBytes(of: &address) { bytes in
            guard let start = bytes.baseAddress else { return Int32(-1) }
            return unsafe getsockname(socket, start.assumingMemoryBound(to: sockaddr.self), &size)
        }
        // The port has the same offset for IPv4 and IPv6.
        guard code == 0, [AF_INET, AF_INET6].contains(Int32(address.sin6_family)) else { return nil }
        return UInt16(bigEndian: address.sin6_port)
    }

    package func accept() throws(SystemFailure) -> Socket? {
        while true {
            let flags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
            let accepted = accept4(number, nil, nil, flags)
            if accepted >= 0 {
                let connection = Socket(takingOwnershipOf: accepted)
                // Responses are written in few pieces, so Nagle's algorithm would only delay them.
                connection.setOption(Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
                return connection
            }
            switch errno {
            case EAGAIN: return nil
            // The peer disconnected before the connection was accepted.
            case EINTR, ECONNABORTED, EPROTO: continue
            default: throw SystemFailure("accept4")
            }
        }
    }

    package func receive(into buffer: inout [UInt8]) -> Outcome {
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe recv(number, $0.baseAddress, $0.count, 0) }
            if count > 0 { return .transferred(count) }
            if count == 0 { return .ended }
            if errno != EINTR { return errno == EAGAIN ? .wouldBlock : .failed }
        }
    }

    package func send(_ bytes: RawSpan) -> Outcome {
        while true {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 { return .transferred(count) }
            if errno != EINTR { return errno == EAGAIN ? .wouldBlock : .failed }
        }
    }

    package func finishSending() { _ = shutdown(number, Int32(SHUT_WR)) }

    /// Makes closing the socket reset the connection instead of closing it gracefully.
    package func resetWhenClosed() { setOption(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0)) }

    private func setOption<Value: BitwiseCopyable>(_ level: Int32, _ name: Int32, _ value: Value) {
        // These options can't fail on a TCP socket, and correctness doesn't depend on them.
        unsafe withUnsafeBytes(of: value) {
            _ = unsafe setsockopt(number, level, name, $0.baseAddress, socklen_t($0.count))
        }
    }
}

package struct SystemFailure: Error, CustomStringConvertible {
    package let call: String
    package let number: Int32

    package init(_ call: String, number: Int32 = errno) {
        self.call = call
        self.number = number
    }

    package var description: String {
        let text = unsafe strerror(number).map { unsafe String(cString: $0) } ?? "unknown"
        return "\(call): \(text) (errno \(number))"
    }
}
