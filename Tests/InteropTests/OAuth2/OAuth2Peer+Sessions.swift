import Foundation
import FoundationNetworking
import Networking
import Testing
import TokenGeneration

/// Sessions of the user `ada`, as values of the `Cookie` header field.
extension OAuth2Peer {
    func djangoSession() async throws -> String {
        let login = try #require(URL(string: try base + "/login"))
        return Self.cookie(try await client.response(for: URLRequest(url: login), options: RequestOptions()).headers)
    }

    /// Signs in the user at Glewlwyd, and grants the access that the tests request.
    func glewlwydSession(clientID: String? = nil) async throws -> String {
        func call(_ method: String, _ path: String, _ body: JSONObject, cookie: String?) async throws -> HTTPHeaders {
            var request = URLRequest(url: try #require(URL(string: try base + "/api" + path)))
            request.httpMethod = method
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            if let cookie { request.setValue(cookie, forHTTPHeaderField: "Cookie") }
            request.httpBody = body.serializedData()
            return try await client.response(for: request, options: RequestOptions()).headers
        }
        let login: JSONObject = ["username": "ada", "password": "engine-1843"]
        let cookie = Self.cookie(try await call("POST", "/auth/", login, cookie: nil))
        _ = try await call("PUT", "/auth/grant/\(clientID ?? web)", ["scope": "openid read"], cookie: cookie)
        return cookie
    }

    private static func cookie(_ headers: HTTPHeaders) -> String {
        headers.values(for: "Set-Cookie").compactMap { $0.split(separator: ";").first.map(String.init) }
            .joined(separator: "; ")
    }
}
