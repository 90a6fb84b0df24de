import Foundation
import Networking
import TestSupport
import Testing

/// HTTP/2 streams that a server did or didn't process, according to its frames
/// ([RFC 9113 §8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)).
@Suite("Connections that shut down", .limitedConcurrency)
struct DrainingConnectionTests {
    /// The server's reaction to a request.
    enum Answer: String, CaseIterable, CustomTestStringConvertible {
        case refusedStream, goAway, goAwayAndClose, secondGoAway
        /// On a connection that's already shutting down, libcurl 7.88 can't distinguish this from
        /// another reset.
        case goAwayThenRefused
        case reset, resetWithoutError, processedGoAway, close

        var testDescription: String { rawValue }

        /// A Boolean value that indicates whether the server reports that it didn't process the
        /// request.
        var isUnprocessed: Bool {
            switch self {
            case .refusedStream, .goAway, .goAwayAndClose, .secondGoAway: true
            case .goAwayThenRefused, .reset, .resetWithoutError, .processedGoAway, .close: false
            }
        }

        var frames: [HTTP2Frame] {
            switch self {
            case .refusedStream: [.reset(stream: 1, code: 7)]
            case .goAway, .goAwayAndClose: [.goAway(lastStream: 0)]
            case .secondGoAway: [.goAway(lastStream: .max >> 1), .goAway(lastStream: 0)]
            case .goAwayThenRefused: [.goAway(lastStream: .max >> 1), .reset(stream: 1, code: 7)]
            case .reset: [.reset(stream: 1, code: 2)]
            case .resetWithoutError: [.reset(stream: 1, code: 0)]
            case .processedGoAway: [.goAway(lastStream: 1)]
            case .close: []
            }
        }

        var closes: Bool { [.goAwayAndClose, .processedGoAway, .close].contains(self) }
    }

    /// Reads and records a complete request.
    private static func readRequest(_ connection: TCPPeer.Connection) throws {
        try connection.beginHTTP2()
        try connection.readFrames(to: \.endsStream)
        connection.peer.record("request")
    }

    private func send(
        _ method: HTTPMethod,
        body: HTTPBody,
        answers: [Answer],
        _ test: (TCPPeer, Result<HTTPTransportResponse, NetworkError>) -> Void
    ) async throws {
        try await withPeer { connection in
            try Self.readRequest(connection)
            guard connection.number < answers.count else {
                try connection.send([.ok])
                return try connection.waitForClose()
            }
            for frame in answers[connection.number].frames { try connection.send([frame]) }
            if answers[connection.number].closes { return connection.close() }
            try connection.waitForClose()
        } _: { peer in
            var configuration = CurlTransport.Configuration(proxy: .none)
            configuration.protocolVersion = .http2PriorKnowledge
            try await withCurl(configuration) { transport in
                let request = HTTPTransportRequest(method: method, url: peer.url, body: body)
                do {
                    test(peer, .success(try await transport.send(request, limits: .generous())))
                } catch let error as NetworkError {
                    test(peer, .failure(error))
                }
            }
        }
    }

    private static var parts: AsyncStream<Data> {
        AsyncStream { continuation in
            continuation.yield(Data("part".utf8))
            continuation.finish()
        }
    }

    @Test(
        "Resends a request that the server didn't process, with any method",
        arguments: Answer.allCases.filter(\.isUnprocessed),
        [HTTPBody.data(Data("held".utf8)), .stream(length: 4) { parts }, .stream { parts }]
    )
    func unprocessed(_ answer: Answer, _ body: HTTPBody) async throws {
        try await send(.post, body: body, answers: [answer, answer]) { peer, outcome in
            #expect(throws: Never.self) { try #expect(outcome.get().status == 200) }
            #expect(peer.requests.count == 3)
        }
    }

    @Test("Doesn't resend a possibly processed request", arguments: Answer.allCases.filter { !$0.isUnprocessed })
    func perhapsProcessed(_ answer: Answer) async throws {
        try await send(.post, body: .data(Data("held".utf8)), answers: [answer]) { peer, outcome in
            // libcurl 8.23 reports that the server refused the stream, so it didn't process it.
            if answer == .goAwayThenRefused, case .success(let response) = outcome {
                #expect(response.status == 200)
                #expect(peer.requests.count == 2)
                return
            }
            let error = #expect(throws: NetworkError.self) { try outcome.get() }
            #expect(error?.isUnprocessed == false)
            #expect(peer.requests.count == 1)
        }
    }

    @Test("Doesn't resend a body that can be sent only once", arguments: [Answer.refusedStream, .goAway])
    func notReplayable(_ answer: Answer) async throws {
        try await send(.post, body: .once(Self.parts), answers: [answer]) { peer, outcome in
            let error = #expect(throws: NetworkError.self) { try outcome.get() }
            #expect(error?.code == .connectionLost)
            #expect(peer.requests.count == 1)
        }
    }

    @Test("Stops after a few attempts if the server refuses every stream", arguments: [Answer.refusedStream, .goAway])
    func alwaysRefused(_ answer: Answer) async throws {
        let answers = Array(repeating: answer, count: 100)
        try await send(.post, body: .data(Data("held".utf8)), answers: answers) { peer, outcome in
            let error = #expect(throws: NetworkError.self) { try outcome.get() }
            #expect(error?.code == .connectionLost)
            #expect(error?.isUnprocessed == true)
            #expect(peer.requests.count == 6)
        }
    }
}
