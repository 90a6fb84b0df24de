import Foundation
import Networking
import Testing

/// nginx closes a connection after 1,000 requests, even with requests in progress, which it reports
/// as unprocessed.
@Suite("Connections that nginx drains", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct NginxDrainingTests {
    /// The number of requests, which `INTEROP_POSTS` can raise.
    private static let count = ProcessInfo.processInfo.environment["INTEROP_POSTS"].flatMap { Int($0) } ?? 5000

    @Test("Every POST gets a response and is processed once")
    func posts() async throws {
        let name = UUID().uuidString
        let url = try #require(URL(string: Interop.required("INTEROP_DRAINING") + "/number"))
        var configuration = CurlTransport.Configuration(proxy: .none)
        configuration.tls = TLSConfiguration(trustRoots: try .file(Interop.required("INTEROP_AUTHORITY")))
        let transport = try CurlTransport(configuration: configuration)
        let (connections, failures) = try await withThrowingTaskGroup(of: (Set<String>, [String]).self) { group in
            for task in 0..<32 {
                group.addTask {
                    var (connections, failures) = (Set<String>(), [String]())
                    for number in stride(from: task, to: Self.count, by: 32) {
                        let request = HTTPTransportRequest(
                            method: .post,
                            url: url,
                            headers: ["X-Number": "\(name)-\(number)"],
                            body: .data(Data("{}".utf8))
                        )
                        do {
                            let response = try await transport.send(request, limits: HTTPTransportLimits())
                            #expect(response.status == 200 && response.version == "HTTP/2")
                            connections.insert(String(decoding: response.body, as: UTF8.self))
                        } catch {
                            failures.append("\(error)")
                        }
                    }
                    return (connections, failures)
                }
            }
            return try await group.reduce(into: (Set<String>(), [String]())) { sum, part in
                sum.0.formUnion(part.0)
                sum.1 += part.1
            }
        }
        await transport.close()
        #expect(failures == [])
        #expect(connections.count >= Self.count / 1000, "too few connections were drained")
        let log = URL(filePath: try Interop.required("INTEROP_FOLDER")).appending(path: "numbers.log")
        // nginx logs a request when it has finished, which may be after the response has arrived.
        var lines: [Substring] = []
        for _ in 0..<100 {
            lines = try String(contentsOf: log, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix(name) }
            if lines.count >= Self.count { break }
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(lines.count == Self.count)
        #expect(Set(lines).count == Self.count)
    }
}
