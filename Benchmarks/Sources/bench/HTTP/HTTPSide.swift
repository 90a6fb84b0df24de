import AsyncHTTPClient
import Foundation
import FoundationNetworking
import NIOCore
import NIOHTTP1
import Networking
import OAuth2

/// One of the compared clients, which sends a request and checks the response.
struct HTTPSide: Sendable {
    let name: String
    let exchange: @Sendable () async throws -> Void
    let stop: @Sendable () async throws -> Void

    /// The size of the server's response body, in bytes.
    static let bodySize = 78

    /// Returns `CurlTransport` alone.
    ///
    /// - Parameters:
    ///   - url: The URL to request.
    ///   - headers: The header fields. Empty by default, as for the other clients.
    ///   - engines: The number of engines, or `nil` for the default.
    /// - Returns: The side.
    /// - Throws: The errors of `CurlTransport`.
    static func transport(_ url: URL, headers: Networking.HTTPHeaders = [:], engines: Int? = nil) throws -> Self {
        var configuration = CurlTransport.Configuration()
        if let engines { configuration.engineCount = engines }
        let transport = try CurlTransport(configuration: configuration)
        let request = HTTPRequest(url: url, headers: headers)
        return Self(name: "ours") {
            let limits = HTTPTransportLimits(deadline: .now + .seconds(60))
            let response = try await transport.send(request, limits: limits)
            try check(response.status, response.body.count)
        } stop: {
            await transport.close()
        }
    }

    /// The header fields that ``client(_:_:)`` sends.
    static func clientFields(_ token: FixedToken) -> Networking.HTTPHeaders {
        ["Authorization": "Bearer \(token.text)", "User-Agent": UserAgent().description]
    }

    /// Returns `NetworkClient` with an authenticator and a retry policy.
    static func client(_ url: URL, _ token: FixedToken = .short) throws -> Self {
        let transport = try CurlTransport()
        let client = NetworkClient(
            transport: transport,
            interceptors: [token.authenticator(url), Retry.Policy.maxRetries(2)]
        )
        return Self(name: "client") {
            let response = try await client.response(for: url)
            try check(response.status, response.body.count)
        } stop: {
            await transport.close()
        }
    }

    /// Returns async-http-client, called as in its documentation.
    ///
    /// - Parameters:
    ///   - url: The URL to request.
    ///   - headers: The header fields.
    ///   - connections: The maximum number of connections. The default is `nil`, which means 8.
    /// - Returns: The side.
    static func asyncHTTPClient(_ url: URL, _ headers: Networking.HTTPHeaders, connections: Int? = nil) -> Self {
        var configuration = HTTPClient.Configuration()
        if let connections { configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections }
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let text = url.absoluteString
        let fields = NIOHTTP1.HTTPHeaders(headers.map { ($0.name, $0.value) })
        return Self(name: "async-http-client") {
            var request = HTTPClientRequest(url: text)
            request.headers = fields
            let response = try await client.execute(request, timeout: .seconds(60))
            let body = try await response.body.collect(upTo: 1 << 20)
            try check(Int(response.status.code), body.readableBytes)
        } stop: {
            try await client.shutdown()
        }
    }

    /// Returns `URLSession`.
    static func urlSession(_ url: URL, _ headers: Networking.HTTPHeaders) -> Self {
        let session = URLSession(configuration: .ephemeral)
        let request = URLRequest(HTTPRequest(url: url, headers: headers))
        return Self(name: "URLSession") {
            let (body, response) = try await session.data(for: request)
            try check((response as? HTTPURLResponse)?.statusCode ?? 0, body.count)
        } stop: {
            session.finishTasksAndInvalidate()
        }
    }

    private static func check(_ status: Int, _ size: Int) throws {
        guard status == 200, size == bodySize else {
            throw UsageError(text: "bench: Unexpected response with status \(status) and \(size) bytes.")
        }
    }

    /// Sends requests with a number of tasks for a duration.
    ///
    /// - Returns: The figures.
    func run(tasks: Int, nanoseconds: UInt64) async throws -> HTTPFigures {
        let (wall, processor) = (WallClock.now, CPUClock.now)
        let end = wall + nanoseconds
        let latencies = try await withThrowingTaskGroup(of: [UInt32].self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    var latencies: [UInt32] = []
                    var now = WallClock.now
                    repeat {
                        try await exchange()
                        let then = now
                        now = WallClock.now
                        latencies.append(UInt32(clamping: (now - then) / 1000))
                    } while now < end
                    return latencies
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let processorTime = CPUClock.now - processor
        return HTTPFigures(
            perSecond: Double(latencies.count) * 1e9 / Double(WallClock.now - wall),
            perProcessorSecond: Double(latencies.count) * 1e9 / Double(processorTime),
            medianLatency: Double(latencies.sorted()[latencies.count / 2])
        )
    }
}

/// The figures of one turn of a side.
struct HTTPFigures {
    var perSecond: Double
    var perProcessorSecond: Double
    /// The median latency, in microseconds.
    var medianLatency: Double
}

extension HTTPFigures {
    /// Creates the mean of the middle half of each figure, because the median misrepresents a
    /// client that is either fast or slow.
    ///
    /// - Parameter turns: The turns, at least one.
    init(middleOf turns: [HTTPFigures]) {
        self.init(
            perSecond: Self.middle(turns.map(\.perSecond)),
            perProcessorSecond: Self.middle(turns.map(\.perProcessorSecond)),
            medianLatency: Self.middle(turns.map(\.medianLatency))
        )
    }

    /// Returns the mean of the middle half of figures.
    static func middle(_ figures: [Double]) -> Double {
        let sorted = figures.sorted().dropFirst(figures.count / 4).dropLast(figures.count / 4)
        return sorted.reduce(0, +) / Double(sorted.count)
    }
}

/// A token that doesn't expire.
struct FixedToken {
    /// The token of RFC 6749's examples, with 22 bytes.
    static let short = Self(text: "2YotnFZFEjr1zCsicMWpAA")
    /// A token of 1,000 bytes, the size of a signed JWT.
    static let long = Self(text: String(repeating: "2YotnFZFEjr1zCsicMWp", count: 50))

    let text: String

    /// Returns the authenticator that services use, for an origin.
    func authenticator(_ origin: URL) -> OAuth2Authenticator {
        OAuth2Authenticator(
            source: StaticTokenSource(AccessToken(value: Secret(text), requested: .now)),
            resources: [origin]
        )
    }
}
