import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("The client's verbs", .limitedConcurrency)
struct VerbTests {
    private struct Order: Codable, Equatable { var id: Int }

    private func client(_ transport: MockTransport, base: String? = "https://api.example/v1") throws -> NetworkClient {
        NetworkClient(baseURL: try base.map { try #require(URL(string: $0)) }, transport: transport)
    }

    @Test("Sends each verb with its path, query, fields and JSON, and decodes the response")
    func models() async throws {
        let transport = MockTransport { _ in
            HTTPTransportResponse(status: 200, body: Data(#"{"id":7}"#.utf8))
        }
        let client = try client(transport)
        let (order, id) = (Order(id: 1), "a/b?c")
        #expect(try await client.get("orders/\(id)", query: ["page": 2], as: Order.self) == Order(id: 7))
        #expect(try await client.post("/orders", json: order, headers: ["X-A": "1"], as: Order.self).id == 7)
        #expect(try await client.put("orders/1", json: order, as: Order.self).id == 7)
        #expect(try await client.patch("orders/1", json: order, as: Order.self).id == 7)
        #expect(try await client.delete("orders/1", as: Order.self).id == 7)
        let sent = transport.requests
        #expect(sent.map(\.method) == [.get, .post, .put, .patch, .delete])
        #expect(
            sent.map(\.url.absoluteString) == [
                "https://api.example/v1/orders/a%2Fb%3Fc?page=2", "https://api.example/v1/orders",
                "https://api.example/v1/orders/1", "https://api.example/v1/orders/1", "https://api.example/v1/orders/1",
            ]
        )
        #expect(
            sent.map { String(decoding: $0.body, as: UTF8.self) } == ["", #"{"id":1}"#, #"{"id":1}"#, #"{"id":1}"#, ""]
        )
        #expect(sent[1].headers["Content-Type"] == "application/json" && sent[1].headers["X-A"] == "1")
    }

    @Test("Returns the response without a model, and sends any body")
    func responses() async throws {
        let transport = MockTransport { _ in HTTPTransportResponse(status: 204) }
        let client = try client(transport)
        #expect(try await client.get("a").status == 204)
        try await client.post("jobs/1/cancel")
        try await client.post("login", body: .form(["user": "ada"]))
        try await client.put("a", body: .data(Data("x".utf8), contentType: "text/plain"))
        try await client.patch("a", body: .json([1]))
        try await client.delete("a")
        #expect(transport.requests.map(\.method) == [.get, .post, .post, .put, .patch, .delete])
        #expect(
            transport.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["", "", "user=ada", "x", "[1]", ""]
        )
        #expect(transport.requests[2].headers["Content-Type"] == "application/x-www-form-urlencoded")
    }

    @Test("Rejects a path without a base URL, and one that leaves the base URL, before sending")
    func refusals() async throws {
        let transport = MockTransport()
        let error = await expectFailure(.invalidRequest) { try await client(transport, base: nil).get("orders/1") }
        #expect(error?.message.contains("NetworkClient(baseURL: …)") == true)
        await expectFailure(.invalidRequest) { try await client(transport).get("../admin") }
        await expectFailure(.invalidRequest) { try await client(transport).get("orders/\("..")") }
        #expect(transport.requests.isEmpty)
    }

    @Test("Sends every description of a request")
    func descriptions() async throws {
        let transport = MockTransport { _ in HTTPTransportResponse(status: 200, body: Data(#"{"id":7}"#.utf8)) }
        let client = try client(transport)
        let url = try #require(URL(string: "https://api.example/orders"))
        try await client.response(for: url)
        try await client.response(for: URLRequest(url: url))
        try await client.response(for: HTTPRequest(method: .post, url: url, headers: ["X-A": "1", "x-a": "2"]))
        try await client.response(for: Resource(SampleEndpoint("https://api.example/orders")))
        #expect(try await client.fetch(url, as: Order.self) == Order(id: 7))
        let streamed = try await client.stream(url)
        #expect(try await streamed.stream.collect(upTo: 99) == Data(#"{"id":7}"#.utf8))
        #expect(transport.requests.count == 6 && transport.requests.allSatisfy { $0.url == url })
        #expect(transport.requests[2].headers.values(for: "X-A") == ["1", "2"])
    }
}
