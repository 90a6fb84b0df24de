import Glibc
import SystemIO
import TestSupport
import Testing

@Suite(.limitedConcurrency, .tags(.concurrency)) struct EventPollerTests {
    @Test("Reports an event with its user's number until its cause is gone")
    func levels() throws {
        let (poller, peer) = (try EventPoller(), try Peer())
        let socket = try peer.accept()
        #expect(poller.watch(socket.number, of: 7, for: .readable))
        #expect(Self.events(of: poller, atOnce: true).isEmpty)
        peer.send("hello")
        for _ in 1...2 {
            let event = try #require(Self.events(of: poller).first)
            #expect(event.socket == socket.number)
            #expect(event.user == 7)
            #expect(event.conditions == .readable)
        }
        var buffer = [UInt8](repeating: 0, count: 16)
        guard case .transferred(5) = socket.receive(into: &buffer) else {
            Issue.record("the data wasn't received")
            return
        }
        #expect(Self.events(of: poller, atOnce: true).isEmpty)
    }

    @Test("Watches a socket for the last conditions that were set, and for none after its removal")
    func changes() throws {
        let (poller, peer) = (try EventPoller(), try Peer())
        let socket = try peer.accept()
        peer.send("hello")
        poller.watch(socket.number, for: .writable)
        #expect(Self.events(of: poller).map(\.conditions) == [.writable])
        poller.watch(socket.number, for: [.readable, .writable])
        #expect(Self.events(of: poller).map(\.conditions) == [[.readable, .writable]])
        poller.watch(socket.number, for: [])
        #expect(Self.events(of: poller, atOnce: true).isEmpty)
    }

    @Test("Reports a hang-up, but not a broken connection, when the peer has finished sending")
    func hangUp() throws {
        let (poller, peer) = (try EventPoller(), try Peer())
        let socket = try peer.accept()
        poller.watch(socket.number, for: .hangUp)
        peer.finishSending()
        #expect(Self.events(of: poller).map(\.conditions) == [.hangUp])
    }

    @Test("Reports a reset connection as broken under any watched condition")
    func reset() throws {
        let (poller, peer) = (try EventPoller(), try Peer())
        let socket = try peer.accept()
        poller.watch(socket.number, for: .hangUp)
        peer.reset()
        let event = try #require(Self.events(of: poller).first)
        #expect(event.conditions.isSuperset(of: [.readable, .writable, .hangUp, .broken]))
    }

    private static func events(of poller: EventPoller, atOnce: Bool = false) -> [EventPoller.Event] {
        var events: [EventPoller.Event] = []
        poller.wait(milliseconds: atOnce ? 0 : -1, &events)
        return events
    }
}

/// A socket connected to a listening socket.
private final class Peer {
    private let listener: Socket
    private let number: Int32

    init() throws {
        listener = try Socket.listening()
        number = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = try listener.port().bigEndian
        address.sin_addr = in_addr(s_addr: INADDR_LOOPBACK.bigEndian)
        let number = number
        let connected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(connected == 0)
    }

    deinit { _ = close(number) }

    /// Returns the listener's end of the connection.
    func accept() throws -> Socket {
        while true {
            if let socket = try listener.accept() { return socket }
        }
    }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    func finishSending() { _ = shutdown(number, Int32(SHUT_WR)) }

    /// Resets the connection by connecting the socket to an unspecified address.
    func reset() {
        var nobody = sockaddr()
        nobody.sa_family = sa_family_t(AF_UNSPEC)
        _ = unsafe connect(number, &nobody, socklen_t(MemoryLayout<sockaddr>.size))
    }
}
