import CCurl
import Glibc

/// Watches connections that no exchange uses, and ends those on which something comes.
///
/// It answers no request, and so is no response ([RFC 9112 §9.2](https://www.rfc-editor.org/rfc/rfc9112#section-9.2)): an
/// attacker who can make a server send too much would otherwise choose what the next request is answered with. Newer
/// releases of libcurl look before they use a connection again; 7.88 does not.
///
/// It owns the sockets of its multi handle in that it closes them, so that it never touches one that is somebody else's by now.
final class CurlRestingSockets {
    /// Set in the user of an event for a socket that rests.
    static let mark: UInt32 = 1 << 8

    private let poller: EventPoller
    private let traffic: CurlTraffic
    private var sockets: Set<Int32> = []

    init(poller: EventPoller, traffic: CurlTraffic) {
        self.poller = poller
        self.traffic = traffic
    }

    /// Notes that libcurl waits for a socket.
    func use(_ socket: Int32) {
        sockets.insert(socket)
    }

    /// Closes a socket for libcurl.
    func close(_ socket: Int32) {
        sockets.remove(socket)
        _ = Glibc.close(socket)
    }

    /// Watches the socket of a connection whose exchange is over, if it is open still.
    func rest(_ socket: Int32) {
        guard sockets.contains(socket), !endIfReadable(socket) else { return }
        poller.watch(socket, of: traffic.rawValue | Self.mark, readable: true, writable: false)
    }

    /// Sees what happened on a socket that rests; libcurl itself notices if it is the connection's end.
    func wake(_ socket: Int32) {
        guard sockets.contains(socket) else { return }
        poller.watch(socket, of: traffic.rawValue, readable: false, writable: false)
        _ = endIfReadable(socket)
    }

    /// Ends a connection on which octets wait, so that libcurl finds it dead when it wants to use it again.
    private func endIfReadable(_ socket: Int32) -> Bool {
        var octet: UInt8 = 0
        guard unsafe recv(socket, &octet, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0 else { return false }
        // Dissolves a TCP connection, with a reset, and throws away what waits. Other sockets can't; they are read empty.
        var nobody = sockaddr()
        nobody.sa_family = sa_family_t(AF_UNSPEC)
        if unsafe connect(socket, &nobody, socklen_t(MemoryLayout<sockaddr>.size)) == 0 { return true }
        shutdown(socket, Int32(SHUT_RDWR))
        unsafe withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 1) { buffer in
            while unsafe recv(socket, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)) > 0 {}
        }
        return true
    }
}
