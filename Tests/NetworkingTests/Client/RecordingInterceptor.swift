import Foundation
import FoundationNetworking
import Networking
import Synchronization

/// An interceptor that logs its calls and runs closures.
final class RecordingInterceptor: RequestInterceptor {
    let name: String
    private let log: EventLog
    private let makingRequest: @Sendable (Result<URLRequest, any Error>) throws -> URLRequest
    private let replacingResponse: @Sendable (HTTPResponse) throws -> HTTPResponse
    private let action: @Sendable (Retry.State) -> Retry.Action

    init(
        _ name: String,
        log: EventLog = EventLog(),
        makingRequest: @escaping @Sendable (Result<URLRequest, any Error>) throws -> URLRequest = { try $0.get() },
        replacingResponse: @escaping @Sendable (HTTPResponse) throws -> HTTPResponse = { $0 },
        action: @escaping @Sendable (Retry.State) -> Retry.Action = { _ in .none }
    ) {
        self.name = name
        self.log = log
        self.makingRequest = makingRequest
        self.replacingResponse = replacingResponse
        self.action = action
    }

    func interceptRequest(
        _ request: Result<URLRequest, any Error>,
        context: InterceptorContext
    ) async throws -> URLRequest {
        log.append("\(name) request")
        return try makingRequest(request)
    }

    func requestScheduled(_ request: URLRequest, context: InterceptorContext) {
        log.append("\(name) scheduled")
    }

    func interceptResponse(
        _ response: HTTPResponse,
        for request: URLRequest,
        context: InterceptorContext
    ) async throws -> HTTPResponse {
        log.append("\(name) response \(response.status)")
        return try replacingResponse(response)
    }

    func requestSucceeded(_ request: URLRequest, response: HTTPResponse, context: InterceptorContext) {
        log.append("\(name) success")
    }

    func evaluateFailedRequest(
        _ request: URLRequest,
        response: HTTPResponse?,
        error: any Error,
        context: InterceptorContext
    ) -> Retry.Action {
        log.append("\(name) failure \(context.retryState.retryCount)")
        return action(context.retryState)
    }
}

/// An ordered log of events.
final class EventLog: Sendable {
    private let events = Mutex<[String]>([])

    var all: [String] { events.withLock { $0 } }

    func append(_ event: String) {
        events.withLock { $0.append(event) }
    }
}

/// An authenticator with numbered credentials and a closure that decides about retries.
final class CountingAuthenticator: URLRequestAuthenticator {
    let credentialFields: Set = ["Authorization"]
    private let count = Mutex(0)
    private let action: @Sendable (Int?, Retry.State) -> Retry.Action

    init(action: @escaping @Sendable (Int?, Retry.State) -> Retry.Action) {
        self.action = action
    }

    func authenticateRequest(_ request: URLRequest, context: InterceptorContext) async throws -> URLRequest {
        var request = request
        let number = count.withLock { count in
            count += 1
            return count
        }
        request.setValue("Bearer \(number)", forHTTPHeaderField: "Authorization")
        return request
    }

    func evaluateFailedRequest(
        _ request: URLRequest,
        response: HTTPResponse?,
        error: any Error,
        context: InterceptorContext
    ) -> Retry.Action {
        action(response?.status, context.retryState)
    }
}
