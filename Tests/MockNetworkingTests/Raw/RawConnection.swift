import Foundation
import Glibc
import Synchronization

/// A blocking TCP connection to a loopback port, with a timeout for every read.
///
/// Use it inside `offPool`, so that it doesn't block a thread that the server's handlers need.
final class RawConnection {
    struct Failure: Error, CustomStringConvertible {
        let call: String
        let number: Int32
        var description: String { "\(call) failed with errno \(number)" }
        var isReset: Bool { number == ECONNRESET || number == EPIPE }
    }

    private let number: Int32
    private var buffer = Data()

    init(port: Int) throws {
        number = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { throw Failure(call: "socket", number: errno) }
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        _ = unsafe setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr = in_addr(s_addr: INADDR_LOOPBACK.bigEndian)
        address.sin_port = UInt16(port).bigEndian
        let connected = unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw Failure(call: "connect", number: errno) }
    }

    deinit {
        close(number)
    }

    func send(_ text: String) throws {
        try send(Data(text.utf8))
    }

    func send(_ bytes: Data) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure(call: "send", number: errno) }
            rest = rest.dropFirst(count)
        }
    }

    func finishSending() {
        _ = shutdown(number, Int32(SHUT_WR))
    }

    /// Receives everything until the server closes the connection.
    func receiveAll() throws -> String {
        while try receiveMore() {}
        return takeText(buffer.count)
    }

    /// Receives everything up to and including a text.
    func receive(through end: String) throws -> String {
        while true {
            if let range = buffer.range(of: Data(end.utf8)) { return takeText(range.upperBound - buffer.startIndex) }
            guard try receiveMore() else { throw Failure(call: "receive before the end", number: 0) }
        }
    }

    /// Receives an exact number of bytes.
    func receive(octets: Int) throws -> String {
        String(decoding: try receiveData(octets: octets), as: UTF8.self)
    }

    /// Receives an exact number of bytes.
    func receiveData(octets: Int) throws -> Data {
        while buffer.count < octets {
            guard try receiveMore() else { throw Failure(call: "receive before the end", number: 0) }
        }
        return take(octets)
    }

    /// Receives the available or the next bytes; empty if the server has closed the connection.
    func receiveSome() throws -> Data {
        if buffer.isEmpty { _ = try receiveMore() }
        return take(buffer.count)
    }

    /// Receives one response with a `Content-Length`.
    func receiveResponse(hasBody: Bool = true) throws -> RawResponse {
        let head = try receive(through: "\r\n\r\n")
        let length = RawResponse(text: head).headers["content-length"].flatMap { Int($0) } ?? 0
        return RawResponse(text: head + (hasBody ? try receive(octets: length) : ""))
    }

    private func takeText(_ count: Int) -> String {
        String(decoding: take(count), as: UTF8.self)
    }

    private func take(_ count: Int) -> Data {
        defer { buffer = Data(buffer.dropFirst(count)) }
        return Data(buffer.prefix(count))
    }

    private func receiveMore() throws -> Bool {
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe recv(number, $0.baseAddress, $0.count, 0) }
        guard count >= 0 else { throw Failure(call: "recv", number: errno) }
        buffer.append(contentsOf: bytes[..<count])
        return count > 0
    }
}

/// A response, parsed far enough for assertions.
struct RawResponse: Sendable {
    let statusLine: String
    let status: Int
    /// The last value of each field, by its lowercase name.
    let headers: [String: String]
    let body: String

    init(text: String) {
        let end = text.range(of: "\r\n\r\n")
        let lines = text[..<(end?.lowerBound ?? text.endIndex)].components(separatedBy: "\r\n")
        statusLine = lines.first ?? ""
        let parts = statusLine.split(separator: " ", omittingEmptySubsequences: false)
        status = parts.count > 1 ? Int(parts[1]) ?? -1 : -1
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(
                in: .whitespaces
            )
        }
        self.headers = headers
        body = end.map { String(text[$0.upperBound...]) } ?? ""
    }
}

/// A wrapper that keeps a connection open until it's released.
final class Held: @unchecked Sendable {
    // reason: each test passes it from one task to the next, and never uses it in two at a time.
    var value: RawConnection?

    init(_ value: RawConnection) {
        self.value = value
    }
}

/// Runs blocking code on a separate thread.
func offPool<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
            continuation.resume(with: Swift.Result(catching: body))
        }
    }
}

/// Sends a text on a new connection, and returns everything until the server closes it.
func rawExchange(_ server: Int, _ request: String) async throws -> String {
    try await offPool {
        let connection = try RawConnection(port: server)
        try connection.send(request)
        connection.finishSending()
        return try connection.receiveAll()
    }
}

/// A log of entries from any task, in order.
final class Log<Entry: Sendable>: Sendable {
    private let state = Mutex<[Entry]>([])

    var entries: [Entry] { state.withLock { $0 } }

    func note(_ entry: Entry) {
        state.withLock { $0.append(entry) }
    }
}
