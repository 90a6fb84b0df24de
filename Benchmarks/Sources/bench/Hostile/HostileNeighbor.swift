import Foundation
import FoundationNetworking
import Networking

/// The latency of requests to a healthy server while the same client receives a hostile response.
enum HostileNeighbor {
    /// The results of a measurement.
    struct Figures {
        /// The median latency of a healthy request, in milliseconds.
        let median: Double
        /// The latency that 99 of 100 healthy requests stay below, in milliseconds.
        let highest: Double
        /// The longest time that a hostile request lasted beyond its timeout, in milliseconds.
        let lateness: Double
        /// The outcome of the hostile requests.
        let end: String
    }

    /// The timeout of a hostile request.
    private static let timeout = Duration.seconds(1)
    /// The duration of the measurement of healthy requests.
    private static let length = Duration.seconds(4)

    static func measure(beside behavior: HostileServer.Behavior) async throws -> Figures {
        let healthy = try BenchmarkServer()
        defer { healthy.stop() }
        let hostile = try HostileChild.start(["hostile-server", behavior.rawValue])
        defer { HostileChild.end(hostile.process) }
        let line = String(decoding: hostile.output.availableData, as: UTF8.self)
        let url = try BenchmarkServer.url("\(HostileServer.scheme(behavior))://127.0.0.1:\(line.filter(\.isNumber))/")
        let client = NetworkClient(transport: try CurlTransport())
        let request = URLRequest(url: healthy.plain)
        for _ in 0..<100 { _ = try await client.response(for: request) }

        let hostileRequests = Task { () -> (lateness: Double, ends: Set<String>) in
            var (lateness, ends) = (0.0, Set<String>())
            guard behavior != .nothing else { return (0, ["–"]) }
            let options = RequestOptions(timeout: timeout, maximumBodySize: 64 << 20)
            while !Task.isCancelled {
                let start = ContinuousClock.now
                do {
                    _ = try await client.response(for: URLRequest(url: url), options: options)
                    ends.insert("a response")
                } catch {
                    guard !Task.isCancelled else { break }
                    ends.insert((error as? NetworkError).map { "\($0.code)" } ?? "\(type(of: error))")
                }
                lateness = max(lateness, (ContinuousClock.now - start - timeout) / .milliseconds(1))
                // Avoids a storm of new connections.
                try? await Task.sleep(for: .milliseconds(20))
            }
            return (lateness, ends)
        }
        // Waits until the hostile response has started.
        try await Task.sleep(for: .milliseconds(200))
        var latencies: [Double] = []
        let end = ContinuousClock.now + length
        while ContinuousClock.now < end {
            let start = ContinuousClock.now
            _ = try await client.response(for: request)
            latencies.append((ContinuousClock.now - start) / .milliseconds(1))
            try await Task.sleep(for: .milliseconds(1))
        }
        hostileRequests.cancel()
        let (lateness, ends) = await hostileRequests.value
        latencies.sort()
        return Figures(
            median: latencies[latencies.count / 2],
            highest: latencies[latencies.count * 99 / 100],
            lateness: lateness,
            end: ends.sorted().joined(separator: ", ")
        )
    }
}
