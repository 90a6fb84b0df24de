import Foundation
import FoundationNetworking
import Networking
import Testing

/// The nginx server that `Tests/Interop/run` started with `Tests/Interop/nginx.conf`.
enum Nginx {
    static func request(_ path: String, method: String = "GET", body: Data? = nil) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: Interop.required("INTEROP_HTTP") + path)))
        request.httpMethod = method
        request.httpBody = body
        return request
    }

    static func secureURL(_ path: String) throws -> URL {
        try #require(URL(string: Interop.required("INTEROP_HTTPS") + path))
    }

    /// The 10 MiB body of nginx's `/large`.
    static func large() throws -> Data {
        try Data(contentsOf: URL(filePath: Interop.required("INTEROP_LARGE_FILE")))
    }
}

/// A transport to test.
enum Engine: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case curl
    case urlSession

    var testDescription: String { rawValue }

    func client(options: NetworkClient.Options = NetworkClient.Options()) -> NetworkClient {
        switch self {
        case .curl: NetworkClient(options: options)
        case .urlSession: NetworkClient(configuration: .ephemeral, options: options)
        }
    }
}
