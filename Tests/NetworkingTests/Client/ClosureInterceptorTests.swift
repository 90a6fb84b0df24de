import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("ClosureInterceptor", .limitedConcurrency)
struct ClosureInterceptorTests {
    private let request = URLRequest(url: URL(string: "http://a.example/")!)

    @Test("Closures replace STRV's adapters and processors, in order")
    func chain() async throws {
        let transport = MockTransport(.text("ok", status: 404))
        let client = NetworkClient(
            transport: transport,
            interceptors: [
                ClosureInterceptor.changingRequest { $0.setValue("1", forHTTPHeaderField: "X-A") },
                ClosureInterceptor.changingRequest { $0.addValue("2", forHTTPHeaderField: "X-A") },
                ClosureInterceptor.changingResponse { $0.status = 200 },
                ClosureInterceptor.changingResponse { $0.body += Data("!".utf8) },
            ]
        )
        #expect(try await client.makeRequest(request) == Data("ok!".utf8))
        #expect(transport.requests.first?.headers["X-A"] == "1,2")
    }

    @Test("An error of a closure fails the operation or the attempt")
    func throwing() async throws {
        struct Refusal: Error {}
        let transport = MockTransport(.text("ok"))
        let refusing = ClosureInterceptor.changingRequest { _ in throw Refusal() }
        let error = await #expect(throws: NetworkError.self) {
            try await NetworkClient(transport: transport, interceptors: [refusing]).makeRequest(request)
        }
        #expect(error?.code == .requestNotMade && error?.cause is Refusal && transport.requests.isEmpty)
        let distrusting = ClosureInterceptor.changingResponse { _ in throw Refusal() }
        await #expect(throws: Refusal.self) {
            try await NetworkClient(transport: transport, interceptors: [distrusting]).makeRequest(request)
        }
    }
}
