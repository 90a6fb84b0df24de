import Foundation
import Networking
import Testing

@Suite("Transport conformance")
struct ConformanceTests {
    @Test("CurlTransport has the one right outcome", arguments: ConformanceCase.all)
    func curl(_ row: ConformanceCase) async throws {
        try await check(row, .curl)
    }

    @Test("URLSessionTransport has the same outcome where it can", arguments: ConformanceCase.onURLSession)
    func urlSession(_ row: ConformanceCase) async throws {
        try await check(row, .urlSession)
    }

    private func check(_ row: ConformanceCase, _ transport: TransportUnderTest) async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send(row.answer)
            switch row.ending {
            case .close: connection.close()
            case .reset: connection.reset()
            case .keepOpen: try connection.waitForClose()
            }
        } _: { peer in
            try await transport.run { transport in
                let outcome: ConformanceCase.Expectation
                do {
                    let response = try await transport.send(
                        HTTPTransportRequest(method: row.method, url: peer.url),
                        limits: .generous(maximumBodySize: row.maximumBodySize)
                    )
                    outcome = .response(
                        status: response.status,
                        body: String(decoding: response.body, as: UTF8.self)
                    )
                    let expected = row.headers.sorted { $0.name < $1.name }
                    if !expected.isEmpty {
                        let isOrdered = transport is CurlTransport
                        #expect(Array(response.headers) == (isOrdered ? row.headers : expected))
                    }
                } catch let error as NetworkError {
                    #expect(error.message.contains("127.0.0.1:\(peer.port)"))
                    outcome = .failure(error.code)
                }
                #expect(outcome == row.expectation)
            }
        }
    }
}
