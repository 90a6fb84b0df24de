import Foundation
import FoundationNetworking

/// The attempt loop of one operation; nothing else sends requests.
struct AttemptLoop {
    /// The request before any interceptor runs, and a body that `URLRequest` can't hold.
    typealias Base = (request: URLRequest, body: HTTPBody?)

    private let client: NetworkClient
    let chain: InterceptorChain
    let requestOptions: RequestOptions
    private let traits: RequestTraits
    private let errorDecoding: ErrorDecoding?
    /// A Boolean value that indicates whether an accepted response's body is streamed.
    var isStreamed = false
    /// Receives the body of an accepted response; an error fails the attempt.
    var receiver: ((HTTPResponse) async throws -> Void)?

    init(
        client: NetworkClient,
        chain: InterceptorChain,
        options requestOptions: RequestOptions = RequestOptions(),
        traits: RequestTraits = RequestTraits(),
        errorDecoding: ErrorDecoding? = nil
    ) {
        self.client = client
        self.chain = chain
        self.requestOptions = requestOptions
        self.traits = traits
        self.errorDecoding = errorDecoding
    }

    var options: NetworkClient.Options { client.options }

    /// Makes attempts until one succeeds or the operation fails.
    ///
    /// - Parameter makeBase: Builds the base request. Called for every attempt.
    /// - Returns: The response of the successful attempt.
    /// - Throws: The last error, with the history of the operation.
    func run(_ makeBase: () async throws -> Base) async throws -> HTTPResponse {
        let started = options.timeSource.now()
        let deadline = timeout.map { started + $0 }
        let operation = OperationNumber.next()
        var state = Retry.State(started: started)
        var lastCost: Int?
        var attemptStarted = started
        while true {
            var context = InterceptorContext(
                retryState: state,
                deadline: deadline,
                operation: operation,
                traits: traits,
                isStreamed: isStreamed || receiver != nil
            )
            let metrics = chain.needsMetrics ? MetricsBox() : nil
            let outcome = await attempt(makeBase, context: &context, metrics: metrics)
            report(outcome, started: attemptStarted, metrics: metrics, context: context)
            switch outcome {
            case .success(let success):
                options.retryBudget?.deposit(lastCost, success.request.url)
                return success.response
            case .failure(let failure):
                lastCost = try await prepareNextAttempt(after: failure, state: &state, context: context)
                attemptStarted = options.timeSource.now()
            }
        }
    }

    var timeout: Duration? {
        // At most ten years: adding more to a clock's instant traps.
        (requestOptions.timeout ?? options.timeout).map { min($0, .seconds(86_400 * 3650)) }
    }

    struct Success {
        let request: URLRequest
        let response: HTTPResponse
    }

    /// The error of a failed attempt, with the request and response that interceptors evaluate.
    struct Failure: Error {
        let error: any Error
        var request: URLRequest?
        var response: HTTPResponse?
        /// A Boolean value that indicates whether the response comes from the server that the
        /// request's credentials are for.
        var isFromFirstOrigin = true
        /// A Boolean value that indicates whether no interceptor is asked for a retry, because the
        /// request couldn't be made or was cancelled.
        var isFinal = false

        /// Creates the failure of a request that couldn't be made.
        init(notMade error: any Error) {
            self.error = error
            isFinal = true
        }

        /// Creates the failure of a request that was made.
        init(_ error: any Error, of request: URLRequest, _ response: HTTPResponse?) {
            isFinal = Task.isCancelled || error is CancellationError
            self.error = isFinal ? NetworkError.cancelled(endpoint: request.endpoint) : error.naming(request.endpoint)
            self.request = request
            self.response = response
        }
    }

    // MARK: One attempt

    private func attempt(
        _ makeBase: () async throws -> Base,
        context: inout InterceptorContext,
        metrics: MetricsBox?
    ) async -> Result<Success, Failure> {
        let request: URLRequest
        do {
            request = try await makeRequest(makeBase, context: &context)
        } catch {
            return .failure(Failure(notMade: error))
        }
        chain.scheduled(request, context: context)
        var response: HTTPResponse
        do {
            response = try await send(request, context: context, metrics: metrics)
        } catch {
            return .failure(Failure(error, of: request, nil))
        }
        let isFromFirstOrigin = response.isFromFirstOrigin
        do {
            for link in chain.links {
                response.replace(
                    with: try await link.interceptor.interceptResponse(response, for: request, context: context)
                )
            }
            // An interceptor may have made it a failure, whose body isn't received yet.
            guard traits.acceptedStatuses.contains(response.status) else {
                try await response.collect(upTo: maximumFailureSize)
                let decoding = errorDecoding ?? options.errorDecoding
                throw ServerError(response, to: request, traits: traits, decoding: decoding)
            }
            try await receiver?(response)
            chain.succeeded(request, response: response, context: context)
            return .success(Success(request: request, response: response))
        } catch {
            var failure = Failure(error, of: request, response)
            failure.isFromFirstOrigin = isFromFirstOrigin
            return .failure(failure)
        }
    }

    /// Makes the request; a body that `URLRequest` can't hold goes into the context.
    private func makeRequest(
        _ makeBase: () async throws -> Base,
        context: inout InterceptorContext
    ) async throws -> URLRequest {
        if Task.isCancelled { throw NetworkError.cancelled(endpoint: nil) }
        var result: Result<URLRequest, any Error>
        do {
            var base = try await makeBase()
            if let body = requestOptions.body {
                base.body = body
                base.request.httpBody = nil
            }
            switch base.body?.source {
            case .data(let data): base.request.httpBody = data
            case .file, .stream: context.body = base.body
            case nil, .some(.none): break
            }
            result = .success(base.request)
        } catch {
            result = .failure(error)
        }
        for link in chain.links {
            do {
                result = .success(try await link.interceptor.interceptRequest(result, context: context))
            } catch {
                result = .failure(error)
            }
        }
        do {
            return try result.get()
        } catch let error as any ErrorWithCode {
            throw error
        } catch {
            if Task.isCancelled || error is CancellationError { throw NetworkError.cancelled(endpoint: nil) }
            throw NetworkError(.requestNotMade, "the request could not be made, and nothing was sent", cause: error)
        }
    }

    private func send(
        _ request: URLRequest,
        context: InterceptorContext,
        metrics: MetricsBox?
    ) async throws -> HTTPResponse {
        let now = options.timeSource.now()
        if let deadline = context.deadline, now >= deadline {
            throw NetworkError(.operation, .preparing, "the operation timed out before the request was sent")
        }
        var limits = HTTPTransportLimits(
            deadline: context.deadline,
            maximumBodySize: maximumBodySize,
            firstByteTimeout: requestOptions.firstByteTimeout,
            idleTimeout: requestOptions.idleTimeout
        )
        limits.streamsBody = context.isStreamed
        limits.deadlineSource = .operation
        if let end = request.attemptTimeout.map({ now + $0 }), context.deadline.map({ end < $0 }) ?? true {
            limits.deadline = end
            limits.deadlineSource = .attempt
        }
        var message = try HTTPTransportRequest(request, body: context.body, userAgent: options.userAgent)
        message.observer = requestOptions.observer
        metrics?.observe(&message)
        let follower = RedirectFollower(
            transport: client.transport,
            policy: requestOptions.redirects ?? options.redirects,
            credentialFields: chain.credentialFields
        )
        var response = try await follower.send(message, limits: limits)
        if !context.isStreamed {
            try await response.collect(upTo: maximumBodySize)
        } else if !traits.acceptedStatuses.contains(response.status) {
            try await response.collect(upTo: maximumFailureSize)
        } else if response.unread == nil {
            // Interceptors see the same response from a transport that doesn't stream.
            (response.unread, response.body, response.trailers) = (response.stream, Data(), [:])
        }
        return response
    }

    private var maximumBodySize: Int { requestOptions.maximumBodySize ?? options.maximumBodySize }
    /// The limit for rejected responses, whose bodies are always kept in memory.
    private var maximumFailureSize: Int {
        receiver == nil ? maximumBodySize : min(maximumBodySize, options.maximumBodySize)
    }
}
