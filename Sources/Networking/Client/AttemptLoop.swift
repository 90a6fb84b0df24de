import Foundation
import FoundationNetworking
import Synchronization

/// The attempt loop of one operation; nothing else sends requests.
struct AttemptLoop: Sendable {
    private static let operationCount = Atomic<UInt64>(0)

    /// The request before any interceptor runs, and a body that `URLRequest` can't hold.
    typealias Base = (request: URLRequest, body: HTTPBody?)

    let transport: any HTTPTransport
    let options: NetworkClient.Options
    let chain: InterceptorChain
    /// The observers of the client and of the request.
    let observers: [any ClientObserver]
    var requestOptions: RequestOptions
    let traits: RequestTraits
    var errorDecoding: ErrorDecoding?
    /// The background operations of the client; `nil` within one of them.
    var renewals: Renewals?
    private let compressionRefusals: CompressionRefusals
    /// A Boolean value that indicates whether an accepted response's body is streamed.
    var isStreamed = false
    /// A Boolean value that indicates whether a streamed body may last forever, so that the
    /// deadline applies until the header arrives, and the client's maximum size doesn't apply.
    var isEndless = false
    /// Receives the body of an accepted response; an error fails the attempt.
    var receiver: (@Sendable (HTTPResponse) async throws -> Void)?

    init(
        client: NetworkClient,
        chain: InterceptorChain,
        options requestOptions: RequestOptions = RequestOptions(),
        traits: RequestTraits = RequestTraits(),
        errorDecoding: ErrorDecoding? = nil
    ) {
        transport = client.transport
        options = client.options
        renewals = client.renewals
        compressionRefusals = client.compressionRefusals
        self.chain = chain
        observers = client.options.observers.merging(requestOptions.additionalObservers)
        self.requestOptions = requestOptions
        self.traits = traits
        self.errorDecoding = errorDecoding
    }

    /// Makes attempts until one succeeds or the operation fails.
    ///
    /// - Parameter makeBase: Builds the base request. Called for every attempt.
    /// - Returns: The response of the successful attempt.
    /// - Throws: The last error, with the history of the operation.
    func run(_ makeBase: () async throws -> Base) async throws -> HTTPResponse {
        let started = options.timeSource.now()
        let deadline = timeout.map { started + $0 }
        let operation = Self.operationCount.wrappingAdd(1, ordering: .relaxed).newValue
        let credentialFields = credentialFields
        var state = Retry.State(started: started)
        var compression = BodyCompression(
            requestOptions.requestCompression ?? options.requestCompression,
            refusals: compressionRefusals
        )
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
            context.isRenewal = renewals == nil
            context.credentialFields = credentialFields
            if context.attempt == 1 { reportStart(context) }
            let metrics = metricsBox()
            let outcome = await attempt(makeBase, context: &context, compression: &compression, metrics: metrics)
            let reported = report(outcome, started: attemptStarted, metrics: metrics, context: context)
            switch outcome {
            case .success(let success):
                reportEnd(reported, started: started)
                if success.response.isFromServer { options.retryBudget?.deposit(lastCost, success.request.url) }
                return success.response
            case .failure(let failure) where compression.mustRepeatPlain(failure):
                state.wasRepeatedPlain = true
                state.latestError = failure.error
                attemptStarted = options.timeSource.now()
            case .failure(let failure):
                do {
                    lastCost = try await prepareNextAttempt(after: failure, state: &state, context: context)
                } catch {
                    reportEnd(reported, error: error, started: started)
                    throw error
                }
                attemptStarted = options.timeSource.now()
            }
        }
    }

    var timeout: Duration? {
        // At most ten years: adding more to a clock's instant traps.
        (requestOptions.timeout ?? options.timeout).map { min($0, .seconds(86_400 * 3650)) }
    }

    typealias Success = (request: URLRequest, response: HTTPResponse)

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
        compression: inout BodyCompression,
        metrics: MetricsBox?
    ) async -> Result<Success, Failure> {
        var request: URLRequest
        let stored: InterceptorChain.Answer?
        do {
            (request, stored) = try await makeRequest(makeBase, context: &context, compression: &compression)
        } catch {
            return .failure(Failure(notMade: error))
        }
        let answer: InterceptorChain.Answer
        do {
            if let stored {
                answer = stored
            } else {
                reportRequest(&request, context: context)
                answer = try await exchange(request, context: context, metrics: metrics)
            }
        } catch let error as RedirectFollower.Incomplete {
            return .failure(Failure(notMade: Self.notMade(error.cause, isUnprocessed: !error.isAfterRedirect)))
        } catch {
            return .failure(Failure(error, of: request, nil))
        }
        var response = answer.response
        let isFromFirstOrigin = response.isFromFirstOrigin
        do {
            for link in answer.links {
                response.replace(
                    with: try await link.interceptor.interceptResponse(response, for: request, context: context)
                )
            }
            // An interceptor may have made it a failure, whose body isn't received yet.
            let isRefusal = compression.isRefused(by: response)
            guard traits.acceptedStatuses.contains(response.status), !isRefusal else {
                try await collectFailure(&response, context)
                let decoding = errorDecoding ?? options.errorDecoding
                throw ServerError(response, to: request, traits: traits, decoding: decoding)
            }
            try await receiver?(response)
            for link in chain.links {
                link.interceptor.requestSucceeded(request, response: response, context: context)
            }
            return .success((request, response))
        } catch {
            var failure = Failure(error, of: request, response)
            failure.isFromFirstOrigin = isFromFirstOrigin
            return .failure(failure)
        }
    }

    /// Makes the request, unless an interceptor has a stored response for it.
    ///
    /// A body that `URLRequest` can't hold goes into the context.
    private func makeRequest(
        _ makeBase: () async throws -> Base,
        context: inout InterceptorContext,
        compression: inout BodyCompression
    ) async throws -> (URLRequest, InterceptorChain.Answer?) {
        if Task.isCancelled { throw NetworkError.cancelled(endpoint: nil) }
        // An observer that keeps the context must not keep itself, by way of the client's options.
        defer { context.renew = nil }
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
            try await compression.apply(to: &base.request)
            result = .success(base.request)
            context.renew = renewal(of: base.request, context: context)
        } catch {
            result = .failure(error)
        }
        var last: URLRequest?
        for (index, link) in chain.links.enumerated() {
            do {
                let request = try await link.interceptor.interceptRequest(result, context: context)
                if let response = await link.interceptor.storedResponse(for: request, after: nil, context: context) {
                    return (request, try answer(response, from: index))
                }
                result = .success(request)
                last = request
            } catch {
                result = .failure(error)
            }
        }
        do {
            return (try result.get(), nil)
        } catch {
            guard let last, let answer = try await storedAnswer(for: last, after: error, context: context) else {
                throw Self.notMade(error)
            }
            return (last, answer)
        }
    }

    private static func notMade(_ error: any Error, isUnprocessed: Bool = true) -> any Error {
        if error is any ErrorWithCode { return error }
        if Task.isCancelled || error is CancellationError { return NetworkError.cancelled(endpoint: nil) }
        return NetworkError(
            .requestNotMade,
            isUnprocessed
                ? "the request could not be made, and nothing was sent"
                : "the request that follows a redirect could not be made",
            isUnprocessed: isUnprocessed,
            cause: error
        )
    }

    /// Sends the request, or returns a stored response if that fails.
    private func exchange(
        _ request: URLRequest,
        context: InterceptorContext,
        metrics: MetricsBox?
    ) async throws -> InterceptorChain.Answer {
        for link in chain.links { link.interceptor.requestScheduled(request, context: context) }
        do {
            let response = try await send(request, context: context, metrics: metrics)
            return InterceptorChain.Answer(response: response, links: chain.links[...])
        } catch let error as RedirectFollower.Incomplete {
            throw error
        } catch {
            guard let answer = try await storedAnswer(for: request, after: error, context: context) else {
                throw error
            }
            return answer
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
            idleTimeout: requestOptions.idleTimeout,
            maximumDownloadRate: requestOptions.maximumDownloadRate,
            maximumUploadRate: requestOptions.maximumUploadRate
        )
        limits.streamsBody = context.isStreamed
        limits.deadlineEndsWithHeader = isEndless
        limits.deadlineSource = .operation
        if let end = request.attemptTimeout.map({ now + $0 }), context.deadline.map({ end < $0 }) ?? true {
            limits.deadline = end
            limits.deadlineSource = .attempt
        }
        var message = try HTTPTransportRequest(request, body: context.body, userAgent: options.userAgent)
        message.observer = requestOptions.observer
        let follower = RedirectFollower(
            transport: transport,
            policy: requestOptions.redirects ?? options.redirects,
            interceptors: chain,
            context: context,
            metrics: metrics
        )
        var response = try await follower.send(message, limits: limits)
        if !context.isStreamed {
            try await response.collect(upTo: maximumBodySize)
        } else if !traits.acceptedStatuses.contains(response.status) {
            try await collectFailure(&response, context)
        } else if response.unread == nil {
            // Interceptors see the same response from a transport that doesn't stream.
            (response.unread, response.body, response.trailers) = (response.stream, Data(), [:])
        }
        return response
    }

    /// Receives the body of a rejected response.
    private func collectFailure(_ response: inout HTTPResponse, _ context: InterceptorContext) async throws {
        guard isEndless, let deadline = context.deadline, let body = response.unread else {
            return try await response.collect(upTo: maximumFailureSize)
        }
        // The transport's deadline ended with the header.
        let alarm = Task {
            try await Task.sleep(until: deadline, clock: .continuous)
            body.cancel()
        }
        defer { alarm.cancel() }
        do {
            try await response.collect(upTo: maximumFailureSize)
        } catch let error as NetworkError where error.code == .cancelled && !Task.isCancelled {
            throw NetworkError(.operation, .receiving, "the server didn't complete its error response in time")
        }
    }

    var maximumBodySize: Int {
        requestOptions.maximumBodySize ?? (isEndless ? .max : options.maximumBodySize)
    }
    /// The limit for rejected responses, whose bodies are always kept in memory.
    private var maximumFailureSize: Int {
        receiver == nil && !isEndless ? maximumBodySize : min(maximumBodySize, options.maximumBodySize)
    }
}
