import Foundation

/// A server on loopback that sends a number of bytes or discards what it receives, without a disk.
///
/// Each connection has its own thread and carries one message.
final class TransferServer: Sendable {
    let url: URL
    private let listener: Int32
    private static let partSize = 1 << 20

    /// Starts the server.
    init(octets: Int) throws {
        let loopback = try LoopbackSocket()
        let listener = loopback.descriptor
        guard let url = URL(string: "http://127.0.0.1:\(loopback.port)/file") else {
            throw UsageError(text: "bench: No free port.")
        }
        self.url = url
        self.listener = listener
        signal(SIGPIPE, SIG_IGN)
        Thread.detachNewThread {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                Thread.detachNewThread {
                    Self.serve(connection, octets)
                    close(connection)
                }
            }
        }
    }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func serve(_ connection: Int32, _ octets: Int) {
        var head = ""
        var byte: UInt8 = 0
        while !head.hasSuffix("\r\n\r\n") {
            guard recv(connection, &byte, 1, 0) == 1 else { return }
            head.unicodeScalars.append(Unicode.Scalar(byte))
        }
        var rest = octets
        if head.hasPrefix("GET") {
            send(connection, "HTTP/1.1 200 OK\r\nContent-Length: \(octets)\r\nETag: \"a\"\r\nConnection: close\r\n\r\n")
            let part = [UInt8](repeating: 0x61, count: partSize)
            while rest > 0 {
                let count = write(connection, part, min(part.count, rest))
                guard count > 0 else { return }
                rest -= count
            }
        } else {
            if head.lowercased().contains("expect:") { send(connection, "HTTP/1.1 100 Continue\r\n\r\n") }
            while rest > 0 {
                // The kernel discards the bytes.
                let count = recv(connection, nil, min(partSize, rest), Int32(MSG_TRUNC))
                guard count > 0 else { return }
                rest -= count
            }
            send(connection, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        }
    }

    private static func send(_ connection: Int32, _ text: String) {
        _ = write(connection, text, text.utf8.count)
    }
}
