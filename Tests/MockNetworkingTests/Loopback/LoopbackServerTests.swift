import Foundation
import MockNetworking
import Networking
import Testing

@Suite struct LoopbackServerTests {
    @Test("a request is answered and recorded")
    func answersAndRecords() async throws {
        try await withLoopbackServer { server in
            server.on(.post, "/users") { request in
                .json(#"{"size":\#(request.body.count)}"#, status: 201, headers: ["X-Path": request.path])
            }
            let port = server.port
            let text = try await rawExchange(
                port,
                "POST /users?a=1&b=x+y%2B HTTP/1.1\r\nHost: here\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 5\r\n\r\nhello"
            )
            let response = RawResponse(text: text)
            #expect(response.statusLine == "HTTP/1.1 201 Created")
            #expect(response.body == #"{"size":5}"#)
            #expect(response.headers["x-path"] == "/users")
            #expect(response.headers["content-type"] == "application/json")
            let request = try #require(server.requests.first)
            #expect(server.requests.count == 1)
            #expect(request.method == .post)
            #expect(request.target == "/users?a=1&b=x+y%2B")
            #expect(
                request.queryItems == [URLQueryItem(name: "a", value: "1"), URLQueryItem(name: "b", value: "x y+")]
            )
            #expect(request.headers.map(\.name) == ["Host", "X-A", "x-a", "Content-Length"])
            #expect(request.headers.values(for: "X-A") == ["1", "2"])
            #expect(request.body == Data("hello".utf8))
            #expect(request.connection == 1)
        }
    }
}
