import Foundation
import FoundationNetworking
import Networking
import TestSupport
import Testing

@Suite("URLRequest.setAuthorization", .limitedConcurrency)
struct URLRequestAuthorizationTests {
    private let url: URL

    init() throws {
        url = try #require(URL(string: "https://api.example.com/v1/status"))
    }

    @Test("Sets the field like Foundation's setter")
    func sameAsSetter() {
        var ours = URLRequest(url: url)
        ours.setValue("application/json", forHTTPHeaderField: "Accept")
        var theirs = ours
        ours.setAuthorization("Bearer abc")
        theirs.setValue("Bearer abc", forHTTPHeaderField: "Authorization")
        #expect(ours.allHTTPHeaderFields == ["Accept": "application/json", "Authorization": "Bearer abc"])
        #expect(ours.allHTTPHeaderFields == theirs.allHTTPHeaderFields)
        #expect(ours.value(forHTTPHeaderField: "authorization") == "Bearer abc")
    }

    @Test("Replaces another value, regardless of the name's case", arguments: ["Authorization", "AUTHORIZATION"])
    func replaces(_ name: String) {
        var request = URLRequest(url: url)
        request.allHTTPHeaderFields = [name: "Basic YTpi", "Accept": "text/plain"]
        request.setAuthorization("Bearer abc")
        #expect(request.allHTTPHeaderFields == ["Accept": "text/plain", "Authorization": "Bearer abc"])
    }

    @Test("Doesn't change a copy of the request")
    func value() {
        let request = URLRequest(url: url)
        var copy = request
        copy.setAuthorization("Bearer abc")
        #expect(request.value(forHTTPHeaderField: "Authorization") == nil)
    }

    @Test("Sending rejects credentials with a line break")
    func lineBreak() async throws {
        let client = NetworkClient(transport: try CurlTransport())
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:1/")))
        request.setAuthorization("Bearer a\r\nX-Injected: 1")
        let sent = request
        await #expect(throws: NetworkError(.invalidRequest, "")) { try await client.makeRequest(sent) }
    }
}
