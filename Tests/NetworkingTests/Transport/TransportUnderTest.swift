import Foundation
import FoundationNetworking
import Networking
import Testing

/// The transports that run the same tests.
enum TransportUnderTest: String, CaseIterable, CustomTestStringConvertible {
    case curl, urlSession

    var testDescription: String { rawValue }

    /// Runs a test with a transport, which is closed afterward.
    ///
    /// - Parameter connections: The maximum number of concurrent requests per host. The default is
    ///   the transport's.
    func run<Result>(
        connections: Int? = nil,
        _ test: (any HTTPTransport) async throws -> Result
    ) async throws -> Result {
        switch self {
        case .curl:
            var configuration = CurlTransport.Configuration(proxy: .none)
            if let connections { configuration.maximumConnectionsPerHost = connections }
            return try await withCurl(configuration) { try await test($0) }
        case .urlSession:
            let configuration = URLSessionConfiguration.ephemeral
            if let connections { configuration.httpMaximumConnectionsPerHost = connections }
            return try await closing(URLSessionTransport(configuration: configuration), test) { await $0.close() }
        }
    }
}

/// Runs a test with a transport without a proxy, which is closed afterward.
func withCurl<Result>(
    _ configuration: CurlTransport.Configuration = CurlTransport.Configuration(proxy: .none),
    _ test: (CurlTransport) async throws -> Result
) async throws -> Result {
    try await closing(CurlTransport(configuration: configuration), test) { await $0.close() }
}

private func closing<Transport, Result>(
    _ transport: Transport,
    _ test: (Transport) async throws -> Result,
    _ close: (Transport) async -> Void
) async throws -> Result {
    do {
        let result = try await test(transport)
        await close(transport)
        return result
    } catch {
        await close(transport)
        throw error
    }
}

extension HTTPTransportLimits {
    /// Returns limits with a deadline so distant that only a hang reaches it.
    static func generous(maximumBodySize: Int = 64 << 20) -> Self {
        Self(deadline: .now + .seconds(120), maximumBodySize: maximumBodySize)
    }

    static func milliseconds(_ count: Int) -> Self {
        Self(deadline: .now + .milliseconds(count))
    }
}

/// A response with a stream of its body.
struct StreamedResponse {
    let status: Int
    let version: String
    let headers: HTTPHeaders
    let body: HTTPResponseBody

    init(_ response: HTTPTransportResponse) {
        (status, version, headers) = (response.status, response.version, response.headers)
        body = response.stream ?? HTTPResponseBody(response.body, trailers: response.trailers)
    }
}

extension HTTPTransport {
    /// Sends a request and returns when the response's header arrives.
    func open(_ request: HTTPTransportRequest, limits: HTTPTransportLimits) async throws -> StreamedResponse {
        var limits = limits
        limits.streamsBody = true
        return StreamedResponse(try await send(request, limits: limits))
    }

    func get(_ url: URL, _ limits: HTTPTransportLimits = .generous()) async throws -> HTTPTransportResponse {
        try await send(HTTPTransportRequest(url: url), limits: limits)
    }
}

/// Returns the error that an operation throws, or `nil` if it succeeds.
func failure(_ operation: () async throws -> Void) async -> NetworkError? {
    do {
        try await operation()
        return nil
    } catch {
        return error as? NetworkError ?? NetworkError(.unknown, "not a NetworkError: \(error)")
    }
}
