import Foundation
import FoundationNetworking

/// The attempt loop of one operation.
///
/// Every request goes through it, and nothing else sends one.
struct AttemptLoop {
    private let client: NetworkClient
    let chain: InterceptorChain
    let requestOptions: RequestOptions
    private let traits: RequestTraits
    private let errorDecoding: ErrorDecoding?
    /// Receives the body of a response that is accepted, as a part of the attempt: what it throws is a failed attempt.
    var receiver: ((HTTPResponseStream) async throws -> Void)?

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
    func run(_ makeBase: () async throws -> URLRequest) async throws -> HTTPResponse {
        try await run(makeBase, isStreamed: false).response
    }

    /// The same up to the response's header: the body of a response that the client accepts is received while it is read.
    ///
    /// - Parameter makeBase: Builds the base request; called again for every attempt.
    /// - Returns: The response of the attempt that succeeded.
    /// - Throws: The last error, with the history of the operation.
    func open(_ makeBase: () async throws -> URLRequest) async throws -> HTTPResponseStream {
        HTTPResponseStream(try await run(makeBase, isStreamed: true))
    }

    /// The same, with all of the body received by the ``receiver``.
    ///
    /// - Parameter makeBase: Builds the base request; called again for every attempt.
    /// - Returns: The head of the response of the attempt that succeeded.
    /// - Throws: The last error, with the history of the operation.
    func receive(_ makeBase: () async throws -> URLRequest) async throws -> HTTPResponse {
        try await run(makeBase, isStreamed: true).response
    }

    private func run(_ makeBase: () async throws -> URLRequest, isStreamed: Bool) async throws -> Received {
        let started = options.timeSource.now()
        let deadline = timeout.map { started + $0 }
        let operation = OperationNumber.next()
        var state = Retry.State(started: started)
        var lastCost: Int?
        var attemptStarted = started
        while true {
            let context = InterceptorContext(
                retryState: state,
                deadline: deadline,
                operation: operation,
                traits: traits,
                isStreamed: isStreamed
            )
            let metrics = chain.needsMetrics ? MetricsBox() : nil
            let outcome = await attempt(makeBase, isStreamed: isStreamed, context: context, metrics: metrics)
            report(outcome, started: attemptStarted, metrics: metrics, context: context)
            switch outcome {
            case .success(let success):
                options.retryBudget?.deposit(lastCost, success.request.url)
                return success.received
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
        let received: Received
    }

    /// Why an attempt failed, and what interceptors are told about it.
    struct Failure: Error {
        let error: any Error
        var request: URLRequest?
        var received: Received?
        /// Whether there is nothing to ask interceptors about: the request could not be made, or was cancelled.
        var isFinal = false
    }

    // MARK: One attempt

    private func attempt(
        _ makeBase: () async throws -> URLRequest,
        isStreamed: Bool,
        context: InterceptorContext,
        metrics: MetricsBox?
    ) async -> Result<Success, Failure> {
        let request: URLRequest
        var authentication = Authentication()
        do {
            request = try await makeRequest(makeBase, authentication: &authentication, context: context)
        } catch {
            return .failure(Failure(error: error, isFinal: true))
        }
        chain.scheduled(request, context: context)
        var received: Received?
        do {
            var current = try await send(
                request,
                isStreamed: isStreamed,
                authentication: authentication,
                deadline: context.deadline,
                metrics: metrics
            )
            do {
                // A span lends them, where a loop counts references to each.
                let links = chain.participants.span
                for index in links.indices {
                    current.replace(
                        with: try await links[index].interceptor.interceptResponse(
                            current.response,
                            for: request,
                            context: context
                        )
                    )
                }
            } catch {
                received = current
                throw error
            }
            // An interceptor may have turned a response into a failure whose body is still to come.
            guard traits.acceptedStatuses.contains(current.response.status) else {
                received = current
                try await current.collectFailure(unless: traits.acceptedStatuses, upTo: maximumFailureSize)
                received = current
                let decoding = errorDecoding ?? options.errorDecoding
                throw ServerError(current.response, to: request, traits: traits, decoding: decoding)
            }
            if let receiver {
                received = current
                try await receiver(HTTPResponseStream(current))
            }
            chain.succeeded(request, response: current.response, context: context)
            return .success(Success(request: request, received: current))
        } catch {
            if Task.isCancelled || error is CancellationError {
                let error = NetworkError.cancelled(endpoint: request.endpoint)
                return .failure(Failure(error: error, request: request, received: received, isFinal: true))
            }
            return .failure(Failure(error: error.naming(request.endpoint), request: request, received: received))
        }
    }

    /// Makes the request, and notes what authenticators did to it.
    private func makeRequest(
        _ makeBase: () async throws -> URLRequest,
        authentication: inout Authentication,
        context: InterceptorContext
    ) async throws -> URLRequest {
        if Task.isCancelled { throw NetworkError.cancelled(endpoint: nil) }
        var result: Result<URLRequest, any Error>
        do { result = .success(try await makeBase().carrying(requestOptions.body)) } catch { result = .failure(error) }
        // A span lends them, where a loop counts references to each.
        let links = chain.participants.span
        for index in links.indices {
            do {
                let request = try await links[index].interceptor.interceptRequest(result, context: context)
                if links[index].isAuthenticator { authentication.note(request, madeFrom: result) }
                result = .success(request)
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
        isStreamed: Bool,
        authentication: Authentication,
        deadline: ContinuousClock.Instant?,
        metrics: MetricsBox?
    ) async throws -> Received {
        let now = options.timeSource.now()
        if let deadline, now >= deadline {
            throw NetworkError(.operation, .preparing, "the operation's time was up before the request was sent")
        }
        var limits = HTTPTransportLimits(
            deadline: deadline,
            maximumBodySize: maximumBodySize,
            firstByteTimeout: requestOptions.firstByteTimeout,
            idleTimeout: requestOptions.idleTimeout
        )
        limits.deadlineSource = .operation
        if let end = request.attemptTimeout.map({ now + $0 }), deadline.map({ end < $0 }) ?? true {
            limits.deadline = end
            limits.deadlineSource = .attempt
        }
        let request = try HTTPTransportRequest(
            request,
            userAgent: options.userAgent,
            options: requestOptions,
            metrics: metrics
        )
        if isStreamed {
            let follower = follower(keeping: authentication)
            var received = Received(try await follower.open(request, limits: limits))
            try await received.collectFailure(unless: traits.acceptedStatuses, upTo: maximumFailureSize)
            return received
        }
        if case .never = (requestOptions.redirects ?? options.redirects).rule {} else { limits.cutsRedirects = true }
        let response = try await client.transport.send(request, limits: limits)
        guard RedirectFollower.concerns(response.status) else { return Received(response, from: request.url) }
        return Received(try await follower(keeping: authentication).follow(response, to: request, limits: limits))
    }

    private func follower(keeping authentication: Authentication) -> RedirectFollower {
        RedirectFollower(
            transport: client.transport,
            policy: requestOptions.redirects ?? options.redirects,
            authentication: authentication
        )
    }

    private var maximumBodySize: Int { requestOptions.maximumBodySize ?? options.maximumBodySize }
    /// What is not accepted is held in memory, also where what is accepted goes somewhere else.
    private var maximumFailureSize: Int {
        receiver == nil ? maximumBodySize : min(maximumBodySize, options.maximumBodySize)
    }
}
