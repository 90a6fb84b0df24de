import Foundation
import FoundationNetworking

final class CurlTransport: HTTPTransport {
    init() throws(NetworkError) {}
    func send(_ request: HTTPTransportRequest, limits: HTTPTransportLimits) async throws -> HTTPTransportResponse {
        throw NetworkError(.closed, "")
    }
}
final class URLSessionTransport: HTTPTransport {
    init(configuration: URLSessionConfiguration) {}
    func send(_ request: HTTPTransportRequest, limits: HTTPTransportLimits) async throws -> HTTPTransportResponse {
        throw NetworkError(.closed, "")
    }
}
