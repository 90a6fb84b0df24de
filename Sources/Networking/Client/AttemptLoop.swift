import Foundation
import FoundationNetworking

/// The attempt loop of one operation.
///
/// Every request goes through it, and nothing else sends one.
struct AttemptLoop {
    /// A request before the interceptors have seen it, and the body that a `URLRequest` has no room for.
    typealias Base = (request: URLRequest, body: HTTPBody?)

    private let client: NetworkClient
    let chain: InterceptorChain
    let requestOptions: RequestOptions
    private let traits: RequestTraits
    private let errorDecoding: ErrorDecoding?
    /// Whether the body of a response that is accepted is received while it is read.
    var isStreamed = false
    /// Receives the body of a response that is accepted, as a part of the attempt: what it throws is a failed attempt.
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

    /// Makes, sends and judges a request until there is an outcome.
    ///
    /// - Parameter makeBase: Builds the base request; called again for every attempt.
    /// - Returns: The response of the attempt that succeeded.
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
        // A clock's instants end, and adding what goes beyond traps.
        (requestOptions.timeout ?? options.timeout).map { min($0, .seconds(86_400 * 3650)) }
    }

    struct Success {
        let request: URLRequest
        let response: HTTPResponse
    }

    /// Why an attempt failed, and what interceptors are told about it.
    struct Failure: Error {
        let error: any Error
        var request: URLRequest?
        var response: HTTPResponse?
        /// Whether the request's credentials were for the server that responded.
        var isFromFirstOrigin = true
        /// Whether there is nothing to ask interceptors about: the request could not be made, or was cancelled.
        var isFinal = false

        /// The failure of a request that was not made.
        init(notMade error: any Error) {
            self.error = error
            isFinal = true
        }

        /// The failure of a request that was made.
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
            // An interceptor may have turned a response into a failure whose body is still to come.
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

    /// Makes the request, and puts the body that it has no room for into the context.
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
            throw NetworkError(.operation, .preparing, "the operation's time was up before the request was sent")
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
            // A transport that receives the whole body first makes no difference to interceptors.
            (response.unread, response.body, response.trailers) = (response.stream, Data(), [:])
        }
        return response
    }

    private var maximumBodySize: Int { requestOptions.maximumBodySize ?? options.maximumBodySize }
    /// What is not accepted is held in memory, also where what is accepted goes somewhere else.
    private var maximumFailureSize: Int {
        receiver == nil ? maximumBodySize : min(maximumBodySize, options.maximumBodySize)
    }
}
