import Dispatch
import Foundation
import Networking
import OAuth2
import Synchronization

/// A world without a network, in which time stands still: every request gets the fuzzed answer.
enum FuzzWorld {
    static let date = Date(timeIntervalSince1970: 1_262_304_000)
    private static let now = ContinuousClock.now

    /// A clock that stands still.
    ///
    /// Delays before retries are over at once. Timeouts and longer delays take a fraction of a
    /// second, in which every operation ends.
    static let time = TimeSource(
        now: { now },
        date: { date },
        sleep: { if $0 >= .seconds(90) { try await Task.sleep(for: .milliseconds(200)) } }
    )

    static let timing = OAuth2Timing(
        timeout: .seconds(1_000),
        attempts: 1,
        lostRequestDelay: .seconds(2_000),
        timeSource: time,
        random: { 0 }
    )

    static func client(_ transport: some HTTPTransport) -> NetworkClient {
        NetworkClient(transport: transport, options: .init(timeout: .seconds(1_000), timeSource: time))
    }

    /// Runs an operation whose errors are no defects, and waits for its end.
    static func run(_ operation: @escaping @Sendable () async throws -> Void) {
        let isOver = DispatchSemaphore(value: 0)
        Task.detached {
            _ = try? await operation()
            isOver.signal()
        }
        isOver.wait()
    }
}

/// A transport whose answers a closure makes.
struct FuzzTransport: HTTPTransport {
    let answer: @Sendable (HTTPRequest) -> HTTPTransportResponse

    init(_ answer: @escaping @Sendable (HTTPRequest) -> HTTPTransportResponse) {
        self.answer = answer
    }

    /// Creates a transport that returns the fuzzed answer.
    init(_ answer: FuzzAnswer) {
        self.init { _ in answer.response }
    }

    func send(_ request: HTTPRequest, limits: HTTPTransportLimits) async throws -> HTTPTransportResponse {
        answer(request)
    }
}

/// A response made from fuzzed bytes.
///
/// If they begin with a digit, they're a status code, header fields and a body, in the form of
/// HTTP/1.1 with line feeds. Otherwise, they're the body of a response with JSON.
struct FuzzAnswer: Sendable {
    let response: HTTPTransportResponse

    init(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        guard let first = bytes.first, (0x30...0x39).contains(first) else {
            response = HTTPTransportResponse(
                status: 200,
                headers: ["Content-Type": "application/json"],
                body: Data(bytes)
            )
            return
        }
        var lines: [String] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: 0x0A) {
            let line = rest[..<end]
            rest = rest[(end + 1)...]
            if line.isEmpty { break }
            lines.append(String(decoding: line, as: UTF8.self))
        }
        let status = lines.first.flatMap { Int($0.prefix(3)) } ?? 200
        let fields = lines.dropFirst().prefix(16).compactMap { line -> HTTPHeaders.Field? in
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, !parts[0].isEmpty else { return nil }
            return HTTPHeaders.Field(name: String(parts[0]), value: parts[1].trimmingCharacters(in: .whitespaces))
        }
        response = HTTPTransportResponse(
            status: min(max(status, 200), 599),
            headers: HTTPHeaders(Array(fields)),
            body: Data(rest)
        )
    }
}
