import Foundation
import FoundationNetworking
import MockNetworking
import Synchronization
import TestSupport
import Testing

@Suite(.limitedConcurrency, .tags(.concurrency)) struct MockURLProtocolTests {
    private let url = URL(string: "https://api.example/path?secret=x")!

    private func makeSession() -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [MockURLProtocol.self]
        return URLSession(configuration: configuration)
    }

    @Test("Responds with a handler that receives the request", .shows("3.34"))
    func requestHandler() async throws {
        let session = makeSession()
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data("hello".utf8)
        request.setValue("v", forHTTPHeaderField: "X-K")
        let (data, response) = try await MockURLProtocol.withHandler { request in
            let body = request.httpBodyData() ?? Data()
            let headers = ["X-K": request.value(forHTTPHeaderField: "X-K") ?? ""]
            let response = request.url.flatMap {
                HTTPURLResponse(url: $0, statusCode: 201, httpVersion: "HTTP/1.1", headerFields: headers)
            }
            return (Data("\(request.httpMethod ?? "") ".utf8) + body, response ?? HTTPURLResponse(statusCode: 500))
        } perform: {
            let result = try await session.data(for: request)
            #expect(MockURLProtocol.requests.count == 1)
            #expect(MockURLProtocol.requests.first?.url == url)
            #expect(MockURLProtocol.canonicalRequest(for: request) == request)
            #expect(MockURLProtocol.requests.first?.httpBodyData() == Data("hello".utf8))
            return result
        }
        #expect(String(decoding: data, as: UTF8.self) == "POST hello")
        let http = try #require(response as? HTTPURLResponse)
        #expect(http.statusCode == 201)
        #expect(http.value(forHTTPHeaderField: "X-K") == "v")
        session.invalidateAndCancel()
    }

    @Test("Responds with a handler without a request, for every call, without caching")
    func plainHandler() async throws {
        let session = makeSession()
        try await MockURLProtocol.withHandler { _ in
            throw URLError(.unknown)
        } perform: {
            #expect(MockURLProtocol.requestHandler != nil)
            MockURLProtocol.requestHandler = nil
            for text in ["one", "two"] {
                MockURLProtocol.handler = { (Data(text.utf8), HTTPURLResponse(statusCode: 200)) }
                #expect(MockURLProtocol.handler != nil)
                let (data, response) = try await session.data(from: url)
                #expect(String(decoding: data, as: UTF8.self) == text)
                #expect((response as? HTTPURLResponse)?.statusCode == 200)
            }
            #expect(MockURLProtocol.requests.count == 2)
            MockURLProtocol.clear()
            #expect(MockURLProtocol.requests.isEmpty)
            #expect(MockURLProtocol.handler == nil)
        }
        session.invalidateAndCancel()
    }

    @Test("Fails the task once for a handler's error or a missing handler")
    func failures() async throws {
        let outcomes = Outcomes()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [MockURLProtocol.self]
        let session = URLSession(configuration: configuration, delegate: outcomes, delegateQueue: nil)
        try await MockURLProtocol.withHandler { _ in
            throw URLError(.networkConnectionLost)
        } perform: {
            session.dataTask(with: url).resume()
            try await outcomes.gate.waitForOutcomes(1)
            MockURLProtocol.requestHandler = nil
            session.dataTask(with: url).resume()
            try await outcomes.gate.waitForOutcomes(2)
        }
        await withCheckedContinuation { continuation in
            outcomes.atInvalidation.withLock { $0 = { continuation.resume() } }
            session.finishTasksAndInvalidate()
        }
        let errors = outcomes.gate.errors
        #expect(errors.map(\.?.code) == [.networkConnectionLost, .resourceUnavailable])
        let message = try #require(errors.last??.localizedDescription)
        #expect(message.contains("no handler for GET /path;"))
        #expect(!message.contains("secret"))
        #expect(outcomes.responses.withLock { $0 } == 0)
    }

    @Test("Gives only one test at a time access to the handler", .shows("3.34"))
    func exclusive() async throws {
        let log = Log<String>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    try await MockURLProtocol.withHandler { _ in
                        (Data(), HTTPURLResponse(statusCode: 200))
                    } perform: {
                        log.note("enter")
                        await Task.yield()
                        log.note("leave")
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(log.entries == (0..<20).flatMap { _ in ["enter", "leave"] })
    }

    @Test("Creates a response from only a status code")
    func statusCode() {
        let response = HTTPURLResponse(statusCode: 404)
        #expect(response.statusCode == 404)
        #expect(response.url?.absoluteString == "https://example.com")
        #expect(response.allHeaderFields.isEmpty)
    }

    @Test("Reads a body from the data or the stream, completely or not at all", .shows("3.34"))
    func bodyData() {
        var request = URLRequest(url: url)
        #expect(request.httpBodyData() == nil)
        request.httpBody = Data("data".utf8)
        #expect(request.httpBodyData() == Data("data".utf8))
        #expect(request.httpBodyData() == Data("data".utf8))

        let long = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
        var streamed = URLRequest(url: url)
        streamed.httpBodyStream = InputStream(data: long)
        #expect(streamed.httpBodyData() == long)
        streamed.httpBodyStream = InputStream(data: Data())
        #expect(streamed.httpBodyData() == Data())
        streamed.httpBodyStream = InputStream(fileAtPath: "/nowhere/at/all")
        #expect(streamed.httpBodyData() == nil)
        streamed.httpBodyStream = InputStream(fileAtPath: "/")
        #expect(streamed.httpBodyData() == nil)
    }
}

/// A counter of the outcomes that a session reports.
private final class Outcomes: NSObject, URLSessionDataDelegate, Sendable {
    final class Gate: Sendable {
        private let state = Mutex<[URLError?]>([])
        private let arrivals = (0..<2).map { _ in ResponseGate() }

        var errors: [URLError?] { state.withLock { $0 } }

        func add(_ error: (any Error)?) {
            let count = state.withLock { state in
                state.append(error as? URLError)
                return state.count
            }
            if count <= arrivals.count { arrivals[count - 1].open() }
        }

        func waitForOutcomes(_ count: Int) async throws {
            try await arrivals[count - 1].wait()
        }
    }

    let gate = Gate()
    let responses = Mutex(0)
    let atInvalidation = Mutex<(@Sendable () -> Void)?>(nil)

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        responses.withLock { $0 += 1 }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        gate.add(error)
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        atInvalidation.withLock { $0.take() }?()
    }
}
