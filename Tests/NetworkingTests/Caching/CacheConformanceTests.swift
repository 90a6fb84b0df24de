import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import TestVectors
import Testing

@Suite("Cases of http-tests/cache-tests", .limitedConcurrency)
struct CacheConformanceTests {
    @Test("Every case applies or has a reason why it doesn't")
    func completeness() throws {
        let all = try CacheCases.all.get()
        let ids = all.cases.map(\.id) + all.notApplicable.values.flatMap(\.self)
        #expect(ids.count == 370 && Set(ids).count == 370)
        #expect(all.cases.count == 297)
    }

    @Test("Stores, validates and replaces responses as the case requires", .shows("RFC 9111"))
    func scripted() async throws {
        // A scripted transport has no interim responses.
        for test in try CacheCases.all.get().cases where test.steps.allSatisfy({ $0.interim == nil }) {
            let server = CacheCaseServer(test)
            let transport = MockTransport(time: server.time.timeSource) { request in
                guard let response = server.respond(to: request.headers) else {
                    throw NetworkError(.connectionLost, "closed")
                }
                return response
            }
            try await server.run(client(server, transport), try #require(URL(string: "http://a.example")))
        }
    }

    /// The cases with invalid codings, which the transport rejects.
    private static let rejected: Set = [
        "headers-store-Transfer-Encoding", "headers-store-Content-Encoding",
        "304-etag-update-response-Content-Encoding",
    ]

    @Test("Stores, validates and replaces responses of a server as the case requires", .shows("P14", "RFC 9111"))
    func loopback() async throws {
        for test in try CacheCases.all.get().cases where !Self.rejected.contains(test.id) {
            let server = CacheCaseServer(test)
            try await withLoopbackServer { loopback in
                loopback.fallback { request in
                    guard let response = server.respond(to: request.headers) else {
                        return .status(200).cut(.after(octets: 0))
                    }
                    let final = LoopbackResponse(
                        status: response.status,
                        headers: response.headers,
                        body: response.body
                    )
                    guard let interim = server.interimResponse(to: request.headers) else { return final }
                    return final.preceded(by: interim.status, headers: interim.headers)
                }
                try await server.run(client(server, CurlTransport()), loopback.baseURL)
            }
        }
    }

    private func client(_ server: CacheCaseServer, _ transport: some HTTPTransport) -> NetworkClient {
        var options = NetworkClient.Options()
        options.timeSource = server.time.timeSource
        options.timeout = nil
        options.redirects = .never
        return NetworkClient(
            transport: transport,
            interceptors: [CacheInterceptor(timeSource: server.time.timeSource)],
            options: options
        )
    }
}

/// A case of http-tests/cache-tests, in the form of `Vectors/cache-tests.json`.
struct CacheCase: Decodable, Sendable, CustomTestStringConvertible {
    struct Step: Decodable, Sendable {
        enum Expectation: String, Decodable {
            /// The server receives the request and sends the whole response.
            case sent
            /// The response is an earlier one, without the server's help or despite its failure.
            case stored
            /// The server receives the validators of the previous response and confirms it.
            case validated
            /// The request fails without a response.
            case failed
        }

        let method: String?
        let path: String?
        let request: [String]?
        let status: Int?
        let response: [String]?
        /// The status code and the fields of an interim response.
        let interim: [String]?
        let bodySize: Int?
        let closes: Bool?
        let expect: Expectation?
        let expectStatus: Int?
        let has: [String]?
        let lacks: [String]?
        let minimumAge: Int?
        let sends: [String]?
        let pause: Int?
    }

    let id: String
    let steps: [Step]

    var testDescription: String { id }
}

struct CacheCases: Decodable {
    let notApplicable: [String: [String]]
    let cases: [CacheCase]

    static var all: Result<CacheCases, any Error> {
        Result { try Vector.decode("cache-tests", as: CacheCases.self) }
    }
}

/// The server's side of a case, and the clock of both sides.
final class CacheCaseServer: Sendable {
    let time = ManualTime()
    private let test: CacheCase
    /// The fields of the latest response of each step.
    private let responses = Mutex<[Int: HTTPHeaders]>([:])
    private let requests = Mutex<[Int: HTTPHeaders]>([:])

    init(_ test: CacheCase) {
        self.test = test
    }

    /// Returns the response to a request, or `nil` to close the connection.
    func respond(to headers: HTTPHeaders) -> HTTPTransportResponse? {
        guard let number = headers["Step"].flatMap({ Int($0) }), test.steps.indices.contains(number) else { return nil }
        let step = test.steps[number]
        requests.withLock { $0[number] = headers }
        if step.closes == true { return nil }
        let date = time.date
        var fields = HTTPHeaders((step.response ?? []).map { Self.field($0, at: date) })
        let previous = responses.withLock { responses in
            responses[number] = fields
            return responses[number - 1] ?? [:]
        }
        fields.append(name: "Number", value: "\(number)")
        if step.expect == .validated {
            let isConfirmed = [("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified")].contains {
                headers[$0.0] != nil && headers[$0.0] == previous[$0.1]
            }
            guard !isConfirmed else {
                return HTTPTransportResponse(status: 304, headers: fields, body: Data())
            }
        }
        let body = step.status == 204 ? Data() : Data(repeating: 0x61, count: step.bodySize ?? 20)
        return HTTPTransportResponse(status: step.status ?? 200, headers: fields, body: body)
    }

    /// Returns the interim response before the response to a request.
    func interimResponse(to headers: HTTPHeaders) -> (status: Int, headers: HTTPHeaders)? {
        guard let number = headers["Step"].flatMap({ Int($0) }), let lines = test.steps[number].interim,
            let status = lines.first.flatMap({ Int($0) })
        else { return nil }
        return (status, HTTPHeaders(lines.dropFirst().map { Self.field($0, at: time.date) }))
    }

    func run(_ client: NetworkClient, _ url: URL) async throws {
        var last = time.date
        for (number, step) in test.steps.enumerated() {
            var request = URLRequest(url: try #require(URL(string: url.absoluteString + (step.path ?? "/"))))
            request.httpMethod = step.method ?? "GET"
            if let method = step.method, method != "HEAD" { request.httpBody = Data("abc".utf8) }
            request.setValue("\(number)", forHTTPHeaderField: "Step")
            for field in (step.request ?? []).map({ Self.field($0, at: last) }) {
                request.addValue(field.value, forHTTPHeaderField: field.name)
            }
            last = time.date
            let response = await Self.response(to: request, client)
            check(response, of: step, number)
            time.advance(by: .seconds(step.pause ?? 0))
        }
    }

    private static func response(to request: URLRequest, _ client: NetworkClient) async -> (Int, HTTPHeaders)? {
        do {
            let response = try await client.response(for: request)
            return (response.status, response.headers)
        } catch let error as ServerError {
            return (error.errorCode, error.headers)
        } catch {
            return nil
        }
    }

    private func check(_ response: (status: Int, headers: HTTPHeaders)?, of step: CacheCase.Step, _ number: Int) {
        let sent = requests.withLock { $0[number] }
        guard let response else {
            #expect(step.expect == .failed, "\(test.id) \(number): no response")
            return
        }
        let source = response.headers["Number"].flatMap { Int($0) }
        switch step.expect {
        case .sent: #expect(source == number, "\(test.id) \(number): from step \(source ?? -1)")
        case .stored: #expect(source != number, "\(test.id) \(number): from the server")
        case .validated:
            #expect(sent?["If-None-Match"] != nil || sent?["If-Modified-Since"] != nil, "\(test.id) \(number)")
        case .failed: Issue.record("\(test.id) \(number): succeeded")
        case nil: break
        }
        #expect(
            response.status == step.expectStatus ?? step.status ?? 200 || step.expect == .stored,
            "\(test.id) \(number)"
        )
        if let status = step.expectStatus { #expect(response.status == status, "\(test.id) \(number)") }
        for field in (step.has ?? []).map({ Self.field($0, at: time.date) }) {
            #expect(response.headers[field.name] == field.value, "\(test.id) \(number): \(field.name)")
        }
        for name in step.lacks ?? [] { #expect(response.headers[name] == nil, "\(test.id) \(number): \(name)") }
        for field in (step.sends ?? []).map({ Self.field($0, at: time.date) }) {
            #expect(sent?[field.name] == field.value, "\(test.id) \(number): \(field.name)")
        }
        if let minimum = step.minimumAge {
            #expect(response.headers["Age"].flatMap { Int($0) } ?? -1 >= minimum, "\(test.id) \(number): Age")
        }
    }

    /// Parses `Name: value`, where a value such as `@-60` is a date relative to now.
    private static func field(_ text: String, at now: Date) -> HTTPHeaders.Field {
        let parts = text.split(separator: ": ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let value = parts.count == 2 ? parts[1] : ""
        guard value.hasPrefix("@"), let offset = Int(value.dropFirst().prefix { $0 != " " }) else {
            return HTTPHeaders.Field(name: parts[0], value: value)
        }
        let date = HTTPDate.format(now + TimeInterval(offset))
        return HTTPHeaders.Field(name: parts[0], value: value.hasSuffix("rfc850") ? obsolete(date) : date)
    }

    /// Returns `Sunday, 06-Nov-94 08:49:37 GMT` for `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func obsolete(_ date: String) -> String {
        let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
        let parts = date.split(separator: " ")
        let weekday = weekdays.first { $0.hasPrefix(parts[0].prefix(3)) } ?? ""
        return "\(weekday), \(parts[1])-\(parts[2])-\(parts[3].suffix(2)) \(parts[4]) GMT"
    }
}
