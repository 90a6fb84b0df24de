import Foundation
import Glibc
import Synchronization

/// A peer that sends exactly the bytes that a test specifies, on a loopback port that the kernel
/// chooses.
///
/// Each accepted connection runs the script on a separate thread. A script ends when it returns or
/// when the client has disconnected. ``stop()`` ends the peer and its connections.
final class TCPPeer: Sendable {
    struct Gone: Error {}

    private struct State {
        /// The sockets by connection number.
        ///
        /// The kernel may reuse the descriptor of a closed connection.
        var sockets: [Int: Int32] = [:]
        var requests: [String] = []
        var acceptedCount = 0
        var hasStopped = false
        /// The kernel may reuse the listener's descriptor once it's closed.
        var isListening = true
    }

    let port: Int
    private let listener: Int32
    private let state = Mutex(State())

    /// Starts listening.
    ///
    /// The script receives each connection, numbered from 0.
    init(script: @escaping @Sendable (Connection) throws -> Void) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        listener = try Self.listener(&address)
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [self] in accept(script) }
    }

    /// Starts listening on a port of IPv6's loopback address.
    init(ipv6Port: Int, script: @escaping @Sendable (Connection) throws -> Void) throws {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_addr = in6addr_loopback
        address.sin6_port = UInt16(ipv6Port).bigEndian
        listener = try Self.listener(&address)
        port = ipv6Port
        Thread.detachNewThread { [self] in accept(script) }
    }

    /// Starts listening at a path, without a port.
    init(unixSocketPath: String, script: @escaping @Sendable (Connection) throws -> Void) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { path in
            unsafe path.copyBytes(from: unixSocketPath.utf8.prefix(path.count - 1))
        }
        listener = try Self.listener(&address)
        port = 0
        Thread.detachNewThread { [self] in accept(script) }
    }

    private static func listener<Address>(_ address: inout Address) throws -> Int32 {
        var length = socklen_t(MemoryLayout<Address>.size)
        return try unsafe withUnsafeMutablePointer(to: &address) { pointer in
            try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                let listener = socket(
                    Int32(unsafe address.pointee.sa_family),
                    Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue),
                    0
                )
                guard unsafe bind(listener, address, length) == 0, listen(listener, 1024) == 0,
                    unsafe getsockname(listener, address, &length) == 0
                else { throw Gone() }
                return listener
            }
        }
    }

    var url: URL { url("/") }

    func url(_ path: String) -> URL { URL(string: "http://127.0.0.1:\(port)\(path)")! }

    var acceptedCount: Int { state.withLock(\.acceptedCount) }

    var openCount: Int { state.withLock(\.sockets.count) }

    var requests: [String] { state.withLock(\.requests) }

    func stop() {
        state.withLock { state in
            state.hasStopped = true
            for socket in state.sockets.values { shutdown(socket, Int32(SHUT_RDWR)) }
            if state.isListening { shutdown(listener, Int32(SHUT_RDWR)) }
        }
    }

    private func accept(_ script: @escaping @Sendable (Connection) throws -> Void) {
        while true {
            let socket = Glibc.accept(listener, nil, nil)
            guard socket >= 0 else { break }
            // The processes of exit tests must not keep connections open.
            _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
            let number: Int? = state.withLock { state in
                guard !state.hasStopped else { return nil }
                state.sockets[state.acceptedCount] = socket
                state.acceptedCount += 1
                return state.acceptedCount - 1
            }
            guard let number else {
                Glibc.close(socket)
                break
            }
            let connection = Connection(socket: socket, number: number, peer: self)
            Thread.detachNewThread { [self] in
                try? script(connection)
                forget(number)
            }
        }
        state.withLock { state in
            state.isListening = false
            Glibc.close(listener)
        }
    }

    func record(_ request: String) {
        state.withLock { $0.requests.append(request) }
    }

    fileprivate func forget(_ number: Int) {
        state.withLock { state in
            guard let socket = state.sockets.removeValue(forKey: number) else { return }
            Glibc.close(socket)
        }
    }
}

extension TCPPeer {
    struct Connection: Sendable {
        fileprivate let socket: Int32
        /// The connection's number, starting from 0.
        let number: Int
        let peer: TCPPeer

        /// Reads and records a request with a body of `Content-Length` bytes.
        @discardableResult
        func readRequest() throws -> String {
            var octets: [UInt8] = []
            let end = Array("\r\n\r\n".utf8)
            while octets.suffix(4) != end[...] { octets += try read(1) }
            let head = String(decoding: octets, as: UTF8.self)
            let length =
                head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
                .flatMap { Int($0.drop { $0 != ":" }.dropFirst().trimmingCharacters(in: .whitespaces)) } ?? 0
            while octets.count < head.utf8.count + length {
                octets += try read(min(65536, head.utf8.count + length - octets.count))
            }
            let request = String(decoding: octets, as: UTF8.self)
            peer.record(request)
            return request
        }

        func send(_ text: String) throws {
            try send(Array(text.utf8))
        }

        func send(_ octets: [UInt8]) throws {
            var rest = octets[...]
            while !rest.isEmpty {
                let count = unsafe rest.withUnsafeBytes { bytes in
                    unsafe Glibc.send(socket, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { throw Gone() }
                rest = rest.dropFirst(count)
            }
        }

        func waitForClose() throws {
            while true { _ = try read(4096) }
        }

        func read(_ count: Int) throws -> [UInt8] {
            var buffer = [UInt8](repeating: 0, count: count)
            let received = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe recv(socket, bytes.baseAddress, bytes.count, 0)
            }
            guard received > 0 else { throw Gone() }
            return Array(buffer.prefix(received))
        }

        var clientAddress: String {
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            _ = unsafe withUnsafeMutableBytes(of: &address) { bytes in
                unsafe getpeername(socket, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
            }
            return unsafe withUnsafeBytes(of: address.sin_addr) { octets in
                unsafe octets.map { "\($0)" }.joined(separator: ".")
            }
        }

        /// Makes the kernel discard everything that the client sends from now on, without
        /// acknowledging it, as if the network were gone.
        func vanish() {
            // A packet filter with the instruction “return 0”.
            var instruction = (code: UInt16(0x06), jt: UInt8(0), jf: UInt8(0), k: UInt32(0))
            unsafe withUnsafeMutablePointer(to: &instruction) { start in
                // The layout of struct sock_fprog.
                let program = (count: UInt16(1), start: UnsafeMutableRawPointer(start))
                let size = socklen_t(unsafe MemoryLayout.size(ofValue: program))
                _ = unsafe withUnsafeBytes(of: program) { bytes in
                    unsafe setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, bytes.baseAddress, size)
                }
            }
        }

        func finishSending() {
            shutdown(socket, Int32(SHUT_WR))
        }

        func close() {
            peer.forget(number)
        }

        /// Ends the connection with a reset instead of an orderly close.
        func reset() {
            var option = linger(l_onoff: 1, l_linger: 0)
            _ = unsafe setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
            peer.forget(number)
        }
    }
}
