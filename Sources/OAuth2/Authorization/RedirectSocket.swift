import CSocket
import Glibc
import System

/// A TCP socket on 127.0.0.1 that never blocks and never raises SIGPIPE; whoever has it closes it, once.
struct RedirectSocket: Sendable {
    /// What a look for octets has found.
    enum Outcome {
        case octets(Int)
        case nothing
        case end
    }

    let number: Int32
    /// The port, if it listens.
    let port: UInt16

    /// Listens.
    ///
    /// - Parameter port: The port; 0 for one that is free.
    /// - Returns: The socket.
    /// - Throws: ``SystemFailure``.
    static func listening(port: UInt16) throws(SystemFailure) -> Self {
        let flags = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        let number = socket(AF_INET, Int32(flags), 0)
        guard number >= 0 else { throw SystemFailure("socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr = in_addr(s_addr: INADDR_LOOPBACK.bigEndian)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let call = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> String? in
                guard unsafe bind(number, address, length) == 0 else { return "bind" }
                guard listen(number, SOMAXCONN) == 0 else { return "listen" }
                return unsafe getsockname(number, address, &length) == 0 ? nil : "getsockname"
            }
        }
        if let call {
            let failure = SystemFailure(call)
            _ = Glibc.close(number)
            throw failure
        }
        return Self(number: number, port: UInt16(bigEndian: address.sin_port))
    }

    /// Accepts a connection; `nil` if none waits.
    func accept() -> Self? {
        let flags = SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        let accepted = accept4(number, nil, nil, Int32(flags))
        guard accepted >= 0 else { return nil }
        return Self(number: accepted, port: 0)
    }

    func receive(into buffer: inout [UInt8]) -> Outcome {
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe recv(number, $0.baseAddress, $0.count, 0) }
            if count > 0 { return .octets(count) }
            if count < 0, errno == EINTR { continue }
            return count < 0 && errno == EAGAIN ? .nothing : .end
        }
    }

    /// Sends what the connection takes at once.
    func send(_ octets: [UInt8]) {
        _ = unsafe octets.withUnsafeBytes {
            unsafe Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
    }

    /// Tells the other side that nothing more will come.
    func finishSending() { _ = shutdown(number, Int32(SHUT_WR)) }

    func close() {
        _ = shutdown(number, Int32(SHUT_RDWR))
        _ = Glibc.close(number)
    }
}
