import Networking

/// Interceptors that change what passes them.
enum Changing {
    static func request(_ change: @escaping @Sendable (inout HTTPRequest) async throws -> Void) -> some Interceptor {
        Around(changeRequest: change)
    }

    static func response(_ change: @escaping @Sendable (inout HTTPResponse) async throws -> Void) -> some Interceptor {
        Around(changeResponse: change)
    }

    /// Returns an interceptor that changes each request on the wire.
    static func wire(_ change: @escaping @Sendable (inout HTTPRequest) async throws -> Void) -> some Interceptor {
        OnWire(change: change)
    }

    private struct Around: RequestInterceptor {
        var changeRequest: @Sendable (inout HTTPRequest) async throws -> Void = { _ in }
        var changeResponse: @Sendable (inout HTTPResponse) async throws -> Void = { _ in }

        func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse {
            var request = request
            try await changeRequest(&request)
            var response = try await next(request)
            try await changeResponse(&response)
            return response
        }
    }

    private struct OnWire: WireInterceptor {
        let change: @Sendable (inout HTTPRequest) async throws -> Void

        func intercept(_ request: HTTPRequest, next: Wire) async throws -> HTTPTransportResponse {
            var request = request
            try await change(&request)
            return try await next(request)
        }
    }
}
