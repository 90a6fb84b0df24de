import Foundation
import Networking
import TestSupport
import Testing

@Suite("Transport conformance", .limitedConcurrency)
struct ConformanceTests {
    /// The method that receives the response.
    enum Way: String, CaseIterable, CustomTestStringConvertible {
        case send, open

        var testDescription: String { rawValue }
    }

    @Test("CurlTransport produces the only correct outcome", arguments: ConformanceCase.all, Way.allCases)
    func curl(_ row: ConformanceCase, _ way: Way) async throws {
        try await check(row, .curl, way)
    }

    @Test(
        "URLSessionTransport produces the same outcome where it's supported",
        arguments: ConformanceCase.onURLSession,
        Way.allCases
    )
    func urlSession(_ row: ConformanceCase, _ way: Way) async throws {
        try await check(row, .urlSession, way)
    }

    @Test("Each case has a unique name and states its rule")
    func names() {
        let rows = ConformanceCase.all
        #expect(Set(rows.map(\.name)).count == rows.count)
        for row in rows { #expect(row.rule.hasPrefix("RFC 911") || row.rule.hasPrefix("a limit of"), "\(row.name)") }
    }

    private func check(_ row: ConformanceCase, _ transport: TransportUnderTest, _ way: Way) async throws {
        try await withPeer { connection in
            try connection.readRequest()
            switch row.pace {
            case .atOnce: try connection.send(row.answer)
            case .octetByOctet: for octet in row.answer { try connection.send([octet]) }
            }
            switch row.ending {
            case .close: connection.close()
            case .reset: connection.reset()
            case .keepOpen: try connection.waitForClose()
            }
        } _: { peer in
            try await transport.run { transport in
                let request = HTTPTransportRequest(method: row.method, url: peer.url)
                let outcome: ConformanceCase.Expectation
                var message = ""
                do {
                    let response = try await way.response(
                        to: request,
                        by: transport,
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
                    message = error.message
                }
                #expect(outcome == row.expectation, "\(message)")
            }
        }
    }
}

extension ConformanceTests.Way {
    /// Receives the whole response.
    func response(
        to request: HTTPTransportRequest,
        by transport: any HTTPTransport,
        limits: HTTPTransportLimits = .generous()
    ) async throws -> HTTPTransportResponse {
        switch self {
        case .send: return try await transport.send(request, limits: limits)
        case .open:
            let stream = try await transport.open(request, limits: limits)
            var body = Data()
            for try await part in stream.body { body += part }
            return HTTPTransportResponse(
                status: stream.status,
                version: stream.version,
                headers: stream.headers,
                body: body,
                trailers: stream.body.trailers
            )
        }
    }
}
