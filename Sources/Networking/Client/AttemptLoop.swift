import Foundation
import FoundationNetworking
import Synchronization

/// The attempt loop of one operation, outside of all interceptors; nothing else sends requests.
final class AttemptLoop: Sendable {
    private let settings: Settings
    let resource: Resource
    private let delivery: Delivery
    let observers: [any ClientObserver]
    /// The background operations of the client; `nil` within one of them.
    let renewals: Renewals?

    /// The settings that most operations of a client share.
    final class Settings: Sendable {
        let transport: any HTTPTransport
        let options: NetworkClient.Options
        let chain: InterceptorChain

        init(_ transport: any HTTPTransport, _ options: NetworkClient.Options, _ chain: InterceptorChain) {
            self.transport = transport
            self.options = options
            self.chain = chain
        }
    }

    /// The form in which the caller gets the body of an accepted response.
    enum Delivery: Sendable {
        case collected
        case streamed
        /// A stream that may last forever, so that the deadline applies until the header arrives,
        /// and the client's maximum size doesn't apply.
        case endless
        /// The closure receives the body; an error fails the attempt.
        case received(@Sendable (HTTPResponse) async throws -> Void)
    }

    var transport: any HTTPTransport { settings.transport }
    var options: NetworkClient.Options { settings.options }
    var chain: InterceptorChain { settings.chain }
    var traits: RequestTraits { resource.traits }

    /// Without a chain, the client's interceptors come first, without authenticators if the
    /// resource doesn't require authentication.
    init(
        client: NetworkClient,
        resource: Resource,
        chain: InterceptorChain? = nil,
        delivery: Delivery = .collected
    ) {
        let shared = client.settings
        var chain = chain
        if chain == nil, !resource.requiresAuthentication || !resource.interceptors.isEmpty {
            chain = resource.requiresAuthentication ? shared.chain : shared.chain.withoutAuthenticators
            chain?.add(resource.interceptors)
        }
        let compression = resource.options.requestCompression ?? shared.options.requestCompression
        if let size = compression.minimumSize {
            chain = chain ?? shared.chain
            chain?.prepend(BodyCompression(minimumSize: size, refusals: client.compressionRefusals))
        }
        settings = chain.map { Settings(shared.transport, shared.options, $0) } ?? shared
        observers = shared.options.observers.merging(resource.options.additionalObservers)
        resource.interceptors.report(to: observers)
        renewals = client.renewals
        self.resource = resource
        self.delivery = delivery
    }

    /// Creates the loop of a background operation, whose errors are dropped.
    init(renewing loop: AttemptLoop) {
        var resource = loop.resource
        resource.options.observer = nil
        resource.errorDecoding = nil
        self.resource = resource
        settings = loop.settings
        delivery = loop.delivery
        observers = loop.observers
        renewals = nil
    }

    /// Throws the last error, with the history of the operation.
    func run(_ makeBase: () async throws -> HTTPRequest) async throws -> HTTPResponse {
        let operation = ClientOperation(self)
        operation.reportStart()
        var cost: Int?
        while true {
            do {
                let response = try await pass(makeBase, operation)
                operation.reportEnd(response: response)
                if response.isFromServer { options.retryBudget?.deposit(cost, operation.latestRequest?.url) }
                return response
            } catch {
                let failure = error as? Failure ?? Failure(error: error, isFinal: true)
                operation.endPass(response: failure.response, error: failure.error)
                do { cost = try await prepareNextPass(after: failure, operation) } catch {
                    operation.reportEnd(error: error)
                    throw error
                }
                operation.beginPass()
            }
        }
    }

    /// The error of a failed pass through the chain, with the response that voters evaluate.
    private struct Failure: Error {
        let error: any Error
        var response: HTTPResponse?
        /// A Boolean value that indicates whether no voter is asked for a retry, because the
        /// request couldn't be made or was cancelled.
        let isFinal: Bool
    }

    var timeout: Duration? {
        // At most ten years: adding more to a clock's instant traps.
        (resource.options.timeout ?? options.timeout).map { min($0, .tenYears) }
    }

    // MARK: One pass through the chain

    /// Throws a `Failure`.
    private func pass(
        _ makeBase: () async throws -> HTTPRequest,
        _ operation: ClientOperation
    ) async throws -> HTTPResponse {
        var base: HTTPRequest
        var answer: HTTPResponse
        do {
            if let defect = chain.defect { throw defect }
            try Task.checkCancellation()
            base = try await makeBase()
            if let body = resource.options.body { base.body = body }
            operation.setBase(base)
            answer = try await Next(operation: operation, index: 0)(base)
        } catch {
            throw failure(error, nil, operation)
        }
        do {
            operation.restoreBody(of: &answer)
            try checkSize(ofStored: answer)
            // An interceptor may have made it a failure, whose body isn't received yet.
            if !traits.acceptedStatuses.contains(answer.status) {
                try await collectFailure(&answer, operation.deadline)
                if let error = operation.error(for: answer, to: base) { throw error }
            }
            if case .received(let receive) = delivery { try await receive(answer) }
            return consume answer
        } catch {
            throw failure(error, answer, operation)
        }
    }

    private func failure(_ error: any Error, _ response: HTTPResponse?, _ operation: ClientOperation) -> Failure {
        let endpoint = operation.latestRequest?.endpoint
        if Task.isCancelled { return Failure(error: CancellationError(), response: response, isFinal: true) }
        if response == nil, operation.hasSentNothing {
            return Failure(error: Self.notMade(error).naming(endpoint), isFinal: true)
        }
        if let stored = response, !stored.isFromServer, stored.cacheUse != .staleOnError {
            operation.end(.storedResponse)
        }
        return Failure(error: error.naming(endpoint), response: response, isFinal: false)
    }

    static func notMade(_ error: any Error, isUnprocessed: Bool = true) -> any Error {
        if Task.isCancelled { return CancellationError() }
        if error is any ErrorWithCode { return error }
        return NetworkError(
            .requestNotMade,
            isUnprocessed
                ? "the request could not be made, and nothing was sent"
                : "the request that follows a redirect could not be made",
            isUnprocessed: isUnprocessed,
            cause: error
        )
    }

    private func checkSize(ofStored response: HTTPResponse) throws(NetworkError) {
        guard !response.isFromServer, response.body.count > maximumBodySize else { return }
        throw NetworkError(
            .bodyTooLarge,
            "the stored response's body is larger than \(maximumBodySize) bytes; raise the limit or request less"
        )
    }

    // MARK: The end of the chain

    /// Sends a request, follows redirects, and receives what isn't streamed.
    func exchange(
        _ request: HTTPRequest,
        _ operation: ClientOperation,
        _ metrics: MetricsBox?
    ) async throws -> HTTPResponse {
        let now = options.timeSource.moment
        let deadline = operation.deadline
        if let deadline, now >= deadline {
            throw NetworkError(.operation, .preparing, "the operation timed out before the request was sent")
        }
        var limits = HTTPTransportLimits(
            maximumBodySize: maximumBodySize,
            firstByteTimeout: resource.options.firstByteTimeout,
            idleTimeout: resource.options.idleTimeout,
            maximumDownloadRate: resource.options.maximumDownloadRate,
            maximumUploadRate: resource.options.maximumUploadRate
        )
        limits.streamsBody = streamsBody
        limits.cutsRedirects = !streamsBody && !redirects.isNever
        limits.deadlineEndsWithHeader = isEndless
        (limits.end, limits.deadlineSource) = (deadline, .operation)
        if let end = request.timeout.map({ now + $0 }), deadline.map({ end < $0 }) ?? true {
            (limits.end, limits.deadlineSource) = (end, .attempt)
        }
        var response = try await RedirectFollower(operation, limits, metrics).send(request)
        if !streamsBody {
            if response.unread != nil { try await response.collect(upTo: maximumBodySize) }
        } else if !traits.acceptedStatuses.contains(response.status) {
            try await collectFailure(&response, deadline)
        } else if response.unread == nil {
            // Interceptors see the same response from a transport that doesn't stream.
            (response.unread, response.body, response.trailers) = (response.stream, Data(), [:])
        }
        return response
    }

    private func collectFailure(_ response: inout HTTPResponse, _ deadline: Moment?) async throws {
        guard isEndless, let deadline, let body = response.unread else {
            return try await response.collect(upTo: maximumFailureSize)
        }
        // The transport's deadline ended with the header.
        let alarm = Task {
            try await Task.sleep(until: deadline.instant, clock: .continuous)
            body.cancel()
        }
        defer { alarm.cancel() }
        do {
            try await response.collect(upTo: maximumFailureSize)
        } catch is CancellationError where !Task.isCancelled {
            // The alarm has cancelled the body, not the caller.
            throw NetworkError(.operation, .receiving, "the server didn't complete its error response in time")
        }
    }

    /// A Boolean value that indicates whether interceptors don't see the response's body.
    var streamsBody: Bool { if case .collected = delivery { false } else { true } }
    private var isEndless: Bool { if case .endless = delivery { true } else { false } }
    var redirects: RedirectPolicy { resource.options.redirects ?? options.redirects }
    var maximumBodySize: Int {
        resource.options.maximumBodySize ?? (isEndless ? .max : options.maximumBodySize)
    }
    /// The limit for rejected responses, whose bodies are always kept in memory.
    private var maximumFailureSize: Int {
        switch delivery {
        case .collected, .streamed: maximumBodySize
        case .endless, .received: min(maximumBodySize, options.maximumBodySize)
        }
    }

    // MARK: Between two passes

    /// Returns the cost of the next pass in the retry budget, or `nil` if it's free; throws if the
    /// voters don't want one.
    private func prepareNextPass(after failure: Failure, _ operation: ClientOperation) async throws -> Int? {
        let (state, error) = (operation.retryState, failure.error)
        guard !failure.isFinal, !operation.isEnded, let request = operation.latestRequest else {
            throw error.ending(reason: failure.isFinal ? nil : operation.endReason, state)
        }
        let failed = FailedRequest(request, response: failure.response, error: error, context: operation.latestContext)
        if let answer = error as? ServerError, failure.response?.isFromFirstOrigin == true {
            for voter in chain.authenticationVoters {
                guard case .retry = await voter.evaluateFailedRequest(failed) else { continue }
                if let reason = operation.obstacle(to: request, delay: .zero) {
                    throw error.ending(reason: reason, state)
                }
                try await operation.prepareAuthentication(after: answer, delay: .zero)
                return nil
            }
        }
        var action = Retry.Action.none
        for voter in chain.voters {
            action = options.retryActionPriority(action, await voter.evaluateFailedRequest(failed))
        }
        let delay: Duration
        switch action {
        case .none: throw error.ending(reason: nil, state)
        case .noRetry(let reason): throw error.ending(reason: reason, state)
        case .retry: delay = .zero
        case .retryAfter(let duration): delay = duration
        }
        if let reason = operation.obstacle(to: request, delay: delay) { throw error.ending(reason: reason, state) }
        let cost = options.retryBudget?.withdraw(for: error, request.url)
        if options.retryBudget != nil, cost == nil { throw error.ending(reason: .budget, state) }
        operation.add(error)
        try await operation.pause(delay)
        return cost
    }
}

extension Error {
    /// Returns the last error of an operation, with the operation's history if it has one.
    func ending(reason: Retry.Error?, _ state: Retry.State) -> any Error {
        guard reason != nil || !state.errors.isEmpty || !state.authenticationErrors.isEmpty else { return self }
        let outcome = Retry.Outcome(reason: reason, state: state)
        switch self {
        case var error as ServerError:
            error.retry = outcome
            return error
        case var error as NetworkError:
            error.retry = outcome
            return error
        default:
            return self
        }
    }
}

/// The background operations of a client that renew stored responses.
///
/// There is at most one for each response, and a limited number in total. They're cancelled when
/// the client is released.
final class Renewals: Sendable {
    private static let maximumCount = 8

    private let tasks = Mutex<[String: Task<Void, Never>]>([:])

    deinit {
        for task in tasks.withLock({ $0.values }) { task.cancel() }
    }

    /// Starts a renewal unless one is running for the same response, or too many are running.
    ///
    /// Its errors are dropped, because no caller waits for the response.
    func start(_ name: String, _ work: @escaping @Sendable () async throws -> Void) {
        tasks.withLock { tasks in
            guard tasks[name] == nil, tasks.count < Self.maximumCount else { return }
            // The task can't end before it's in the table, because its end takes the lock.
            tasks[name] = Task.detached { [weak self] in
                try? await work()
                self?.tasks.withLock { $0[name] = nil }
            }
        }
    }
}
