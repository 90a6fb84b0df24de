import Foundation

/// A server on loopback whose responses are expensive or never end.
///
/// It runs in a separate process.
enum HostileServer {
    /// The kind of data that the server sends after the request, in most cases endlessly.
    enum Behavior: String, CaseIterable {
        case nothing = "no other server"
        case chunks = "one-byte chunks"
        case extensions = "chunk extensions"
        case interim = "interim responses"
        case headers = "header fields"
        case blocks = "empty gzip blocks"
        case codings = "codings of codings"
        case chain = "a TLS chain"
        case bytes = "a long body"

        /// The bytes that the server sends once, and those that it repeats.
        var parts: (head: [UInt8], body: [UInt8]) {
            let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
            func many(_ text: String) -> [UInt8] {
                Array(String(repeating: text, count: 65_536 / text.utf8.count).utf8)
            }
            switch self {
            case .nothing: return ([], [])
            case .chunks: return (Array("\(chunked)\r\n".utf8), many("1\r\na\r\n"))
            case .extensions: return (Array("\(chunked)\r\n1".utf8), many(";a=b"))
            case .interim: return ([], many("HTTP/1.1 102 Processing\r\n\r\n"))
            case .headers: return (Array("HTTP/1.1 200 OK\r\n".utf8), many("X-Field: a\r\n"))
            case .blocks:
                let magic: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]
                let head = Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".utf8)
                // A stored block of length zero.
                return (head + magic, Array(repeatElement([0, 0, 0, 0xFF, 0xFF], count: 13_000).joined()))
            case .codings:
                let head = "HTTP/1.1 200 OK\r\nContent-Encoding: br, br\r\n\r\n"
                return (Array(head.utf8) + HostileInput.nestedCodings, many("a"))
            case .chain: return (HostileInput.certificateMessage(count: 20), [])
            case .bytes: return (Array("HTTP/1.1 200 OK\r\n\r\n".utf8), many("a"))
            }
        }
    }

    /// The scheme of the server's URL.
    static func scheme(_ behavior: Behavior) -> String { behavior == .chain ? "https" : "http" }

    /// Runs in the child: listens on a free port, prints it, and serves until the process is ended.
    static func run(_ name: String) -> Never {
        guard let behavior = Behavior(rawValue: name), let listener = try? LoopbackSocket() else { exit(64) }
        signal(SIGPIPE, SIG_IGN)
        print(listener.port)
        fflush(nil)
        let parts = behavior.parts
        while true {
            let connection = accept(listener.descriptor, nil, nil)
            guard connection >= 0 else { exit(0) }
            Thread.detachNewThread {
                defer { close(connection) }
                var buffer = [UInt8](repeating: 0, count: 4_096)
                guard recv(connection, &buffer, buffer.count, 0) > 0 else { return }
                guard parts.head.isEmpty || send(connection, parts.head, parts.head.count, 0) > 0 else { return }
                guard !parts.body.isEmpty else {
                    // Waits for the client to end the connection.
                    while recv(connection, &buffer, buffer.count, 0) > 0 {}
                    return
                }
                while send(connection, parts.body, parts.body.count, 0) > 0 {}
            }
        }
    }
}

/// A listening socket on loopback, on a port that the system chooses.
struct LoopbackSocket {
    let descriptor: Int32
    let port: Int

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr = in_addr(s_addr: in_addr_t(0x7F00_0001).bigEndian)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        guard isBound else { throw UsageError(text: "bench: No free port.") }
        descriptor = listener
        port = Int(in_port_t(bigEndian: address.sin_port))
    }
}
