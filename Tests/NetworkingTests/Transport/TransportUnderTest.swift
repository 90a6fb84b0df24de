import Dispatch
import Foundation
import FoundationNetworking
import Networking
import Synchronization
import Testing

enum TransportUnderTest: String, CaseIterable {
    case curl, urlSession

    /// Runs a test with a transport, which is closed afterward.
    ///
    /// - Parameter connections: The maximum number of concurrent requests per host. The default is
    ///   the transport's.
    func run<Result>(
        connections: Int? = nil,
        _ test: (any HTTPTransport) async throws -> Result
    ) async throws -> Result {
        switch self {
        case .curl:
            var configuration = CurlTransport.Configuration(proxy: .none)
            if let connections { configuration.maximumConnectionsPerHost = connections }
            return try await withCurl(configuration) { try await test($0) }
        case .urlSession:
            let configuration = URLSessionConfiguration.ephemeral
            if let connections { configuration.httpMaximumConnectionsPerHost = connections }
            return try await closing(URLSessionTransport(configuration: configuration), test) { await $0.close() }
        }
    }
}

/// Runs a test with a transport without a proxy, which is closed afterward.
func withCurl<Result>(
    _ configuration: CurlTransport.Configuration = CurlTransport.Configuration(proxy: .none),
    _ test: (CurlTransport) async throws -> Result
) async throws -> Result {
    try await closing(CurlTransport(configuration: configuration), test) { await $0.close() }
}

private func closing<Transport, Result>(
    _ transport: Transport,
    _ test: (Transport) async throws -> Result,
    _ close: (Transport) async -> Void
) async throws -> Result {
    do {
        let result = try await test(transport)
        await close(transport)
        return result
    } catch {
        await close(transport)
        throw error
    }
}

extension HTTPTransportLimits {
    /// Returns limits with a deadline so distant that only a hang reaches it.
    static func generous(maximumBodySize: Int = 64 << 20) -> Self {
        Self(deadline: .now + .seconds(900), maximumBodySize: maximumBodySize)
    }

    static func milliseconds(_ count: Int) -> Self {
        Self(deadline: .now + .milliseconds(count))
    }
}

struct StreamedResponse {
    let status: Int
    let version: String
    let headers: HTTPHeaders
    let body: HTTPResponseBody

    init(_ response: HTTPTransportResponse) {
        (status, version, headers) = (response.status, response.version, response.headers)
        body = response.stream ?? HTTPResponseBody(response.body, trailers: response.trailers)
    }
}

extension HTTPTransport {
    /// Sends a request and returns when the response's header arrives.
    func open(
        _ request: HTTPRequest,
        limits: HTTPTransportLimits = .generous()
    ) async throws -> StreamedResponse {
        var limits = limits
        limits.streamsBody = true
        return StreamedResponse(try await send(request, limits: limits))
    }

    func open(_ url: URL, _ limits: HTTPTransportLimits = .generous()) async throws -> StreamedResponse {
        try await open(HTTPRequest(url: url), limits: limits)
    }

    func send(_ request: HTTPRequest) async throws -> HTTPTransportResponse {
        try await send(request, limits: .generous())
    }

    func get(_ url: URL, _ limits: HTTPTransportLimits = .generous()) async throws -> HTTPTransportResponse {
        try await send(HTTPRequest(url: url), limits: limits)
    }
}

extension TCPPeer {
    typealias Script = @Sendable (Connection) throws -> Void

    /// Responses with status 200, with the body “hello” and without one.
    static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    static let empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

    static let silence: Script = { try $0.waitForClose() }

    /// Sends the same response to every request, each when the gate opens once.
    static func answering(_ text: String, _ gate: AsyncGate? = nil) -> Script {
        { connection in
            while true {
                try connection.readRequest()
                gate?.waitBlocking()
                try connection.send(text)
            }
        }
    }
}

func withPeer<Result>(
    _ script: @escaping TCPPeer.Script,
    _ test: (TCPPeer) async throws -> Result
) async throws -> Result {
    let peer = try TCPPeer(script: script)
    defer { peer.stop() }
    return try await test(peer)
}

func withPeer<Result>(answering text: String, _ test: (TCPPeer) async throws -> Result) async throws -> Result {
    try await withPeer(TCPPeer.answering(text), test)
}

/// Runs a test with a peer that answers every request with 200 and “hello”, each when the gate
/// opens once.
func withHelloPeer<Result>(_ gate: AsyncGate? = nil, _ test: (TCPPeer) async throws -> Result) async throws -> Result {
    try await withPeer(TCPPeer.answering(TCPPeer.hello, gate), test)
}

func withCurl<Result>(
    _ configuration: CurlTransport.Configuration = CurlTransport.Configuration(proxy: .none),
    serving script: @escaping TCPPeer.Script,
    _ test: (CurlTransport, TCPPeer) async throws -> Result
) async throws -> Result {
    try await withPeer(script) { peer in try await withCurl(configuration) { try await test($0, peer) } }
}

func withCurl<Result>(
    _ configuration: CurlTransport.Configuration = CurlTransport.Configuration(proxy: .none),
    answering text: String,
    _ test: (CurlTransport, TCPPeer) async throws -> Result
) async throws -> Result {
    try await withCurl(configuration, serving: TCPPeer.answering(text), test)
}

extension TransportUnderTest {
    func run<Result>(
        _ script: @escaping TCPPeer.Script,
        _ test: (any HTTPTransport, TCPPeer) async throws -> Result
    ) async throws -> Result {
        try await withPeer(script) { peer in try await run { try await test($0, peer) } }
    }

    func run<Result>(
        answering text: String,
        _ test: (any HTTPTransport, TCPPeer) async throws -> Result
    ) async throws -> Result {
        try await run(TCPPeer.answering(text), test)
    }
}

extension TCPPeer.Connection {
    @discardableResult
    func readHead() throws -> String {
        var head = ""
        while !head.hasSuffix("\r\n\r\n") { head += try readLine() + "\r\n" }
        return head
    }

    func readLine() throws -> String {
        var octets: [UInt8] = []
        while octets.suffix(2) != [13, 10] { octets += try read(1) }
        return String(decoding: octets.dropLast(2), as: UTF8.self)
    }

    func readExactly(_ count: Int) throws -> [UInt8] {
        var octets: [UInt8] = []
        while octets.count < count { octets += try read(min(65_536, count - octets.count)) }
        return octets
    }

    func discard(_ count: Int) throws {
        var rest = count
        while rest > 0 { rest -= try read(min(1 << 18, rest)).count }
    }

    /// Reads and records a chunked request, with its body decoded.
    @discardableResult
    func readChunkedRequest() throws -> String {
        let head = try readHead()
        var body: [UInt8] = []
        while true {
            guard let size = Int(try readLine(), radix: 16) else { throw TCPPeer.Gone() }
            body += try readExactly(size)
            guard try readLine().isEmpty else { throw TCPPeer.Gone() }
            if size == 0 { break }
        }
        let request = head + String(decoding: body, as: UTF8.self)
        peer.record(request)
        return request
    }
}

/// A gate at which a peer's thread waits for a test.
///
/// Each opening lets one waiter pass.
struct AsyncGate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func open() { semaphore.signal() }

    /// Blocks the thread, for less than the time limit of a test: a gate that opened by itself on a
    /// busy machine would fail the test for no reason.
    ///
    /// Call this in a peer's script.
    func waitBlocking() { _ = semaphore.wait(timeout: .now() + 900) }
}

final class RunningCount: Sendable {
    private let count = Mutex((now: 0, most: 0))

    var most: Int { count.withLock(\.most) }

    func begin() { count.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }
    func end() { count.withLock { $0.now -= 1 } }
}

final class Collected<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    var all: [Element] { elements.withLock { $0 } }

    func append(_ element: Element) { elements.withLock { $0.append(element) } }
}
