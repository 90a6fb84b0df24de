import Synchronization

/// A member of a client's list of interceptors.
///
/// Conform to one or more of the protocols that refine this one, each of which has one requirement:
///
/// - ``RequestInterceptor`` runs around each attempt;
/// - ``WireInterceptor`` runs around each request that is sent, also for redirects;
/// - ``RetryVoter`` decides whether to repeat a failed attempt.
///
/// A type that only groups others adds them in ``add(to:)``.
public protocol Interceptor: Sendable {
    /// Adds the interceptor to a chain.
    ///
    /// - Parameter chain: The chain of a client or a resource.
    func add(to chain: inout InterceptorChain)
}

/// An interceptor around each attempt of a request.
///
/// ```swift
/// struct Timing: RequestInterceptor {
///     func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse {
///         let start = ContinuousClock.now
///         let response = try await next(request)
///         print(response.status, ContinuousClock.now - start)
///         return response
///     }
/// }
/// ```
///
/// The first interceptor of a list is the outermost: it sees the request first and the response
/// last. A response arrives with any status; the client checks the status after the chain.
/// A failure's body has been received.
///
/// - Return without calling `next` to answer the request yourself.
/// - Call `next` again to repeat the request at once, for example with another field. To leave the
///   decision to the client's policies, let the failure pass.
/// - Throw before calling `next` to end the operation: nothing is sent, and no voter is asked.
public protocol RequestInterceptor: InterceptorRole {
    /// Answers a request, usually with the response of the rest of the chain.
    ///
    /// - Parameters:
    ///   - request: The request, with the changes of the interceptors before this one.
    ///   - next: The rest of the chain.
    /// - Returns: The response.
    /// - Throws: Any error. If nothing was sent, the operation fails with it, or with
    ///   ``NetworkError/Code/requestNotMade`` if it isn't an ``ErrorWithCode``. Otherwise the
    ///   attempt has failed, and each ``RetryVoter`` is asked.
    func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse
}

/// An interceptor around each request on the wire, as signatures and digests need it.
///
/// It runs after all ``RequestInterceptor``s, for each attempt and for each redirect that the
/// client follows. A redirect is derived from the request as it was before this interceptor, so
/// nothing that it adds goes to another server.
public protocol WireInterceptor: InterceptorRole {
    /// Sends a request and returns its response, before a redirect is followed.
    ///
    /// - Parameters:
    ///   - request: The request. The transport may still add fields such as `Host`.
    ///   - next: The rest of the chain, which ends with the transport.
    /// - Returns: The response, whose body may be a stream.
    /// - Throws: Any error, as for ``RequestInterceptor/intercept(_:next:)``.
    func intercept(_ request: HTTPRequest, next: Wire) async throws -> HTTPTransportResponse
}

/// An interceptor that decides whether a failed attempt is repeated, such as ``Retry/Policy``.
///
/// The client asks every voter, and the action with the highest priority wins
/// (``NetworkClient/Options/retryActionPriority``). It waits, and starts the chain again.
public protocol RetryVoter: InterceptorRole {
    /// Returns the action after a failed attempt.
    ///
    /// The client doesn't ask after a cancellation, for a request that couldn't be made, about a
    /// response that a cache has instead of the server's, or if an authenticator has ended the
    /// operation.
    ///
    /// - Parameter failure: The failed attempt.
    /// - Returns: The action; `none` leaves the decision to the other voters.
    func evaluateFailedRequest(_ failure: FailedRequest) async -> Retry.Action
}

/// An interceptor with a place in the chain for each of its roles: ``RequestInterceptor``,
/// ``WireInterceptor`` and ``RetryVoter``.
public protocol InterceptorRole: Interceptor {}

extension InterceptorRole {
    /// Adds the interceptor in each of its roles.
    public func add(to chain: inout InterceptorChain) { chain.addRoles(of: self) }
}

/// A failed attempt, for a decision about the next one.
public struct FailedRequest: Sendable {
    /// The request as the interceptors left it, or as the caller made it if nothing was sent.
    public let request: HTTPRequest
    /// The response; `nil` if none arrived.
    public let response: HTTPResponse?
    /// The reason: a ``ServerError`` for a status that isn't accepted, a ``NetworkError``, or an
    /// interceptor's error.
    public let error: any Error
    /// The operation, whose `retryState` lacks this failure.
    public let context: InterceptorContext

    /// Creates a failure, for testing.
    public init(
        _ request: HTTPRequest,
        response: HTTPResponse? = nil,
        error: any Error,
        context: InterceptorContext = InterceptorContext()
    ) {
        self.request = request
        self.response = response
        self.error = error
        self.context = context
    }

    /// A Boolean value that indicates whether sending the request twice has the same effect as
    /// sending it once.
    ///
    /// The operation's ``RequestTraits`` decide. If they don't, the method or an `Idempotency-Key`
    /// header field does.
    public var isIdempotent: Bool {
        context.traits.isIdempotent ?? (request.method.isIdempotent || request.headers["Idempotency-Key"] != nil)
    }
}

/// A running operation, as interceptors and observers see it.
public struct InterceptorContext: Sendable {
    /// The failures and delays so far.
    public let retryState: Retry.State
    /// The deadline of the whole operation, including all attempts and delays; `nil` for none.
    ///
    /// An interceptor that waits must stop by then.
    public var deadline: ContinuousClock.Instant? { end?.instant }
    private let end: Moment?
    /// A number shared by all attempts of the operation, and unique in this process.
    public let operation: UInt64
    /// The number of the attempt, starting at 1.
    ///
    /// For ``Next`` it's the attempt that a call makes; for a failure, the failed one. Each request
    /// that reaches the end of the chain is an attempt, also those that an authenticator repeats;
    /// redirects aren't.
    public let attempt: Int
    /// The traits of the operation's requests.
    public let traits: RequestTraits
    /// A Boolean value that indicates whether the response's body is streamed, unseen by
    /// interceptors.
    public let isStreamed: Bool

    /// Creates a context, for testing interceptors; the attempt is one more than the failures by
    /// default.
    public init(
        retryState: Retry.State = Retry.State(),
        deadline: ContinuousClock.Instant? = nil,
        operation: UInt64 = 0,
        attempt: Int? = nil,
        traits: RequestTraits = RequestTraits(),
        isStreamed: Bool = false
    ) {
        self.init(
            retryState: retryState,
            end: deadline.map(Moment.init),
            operation: operation,
            attempt: attempt ?? retryState.errors.count + retryState.authenticationErrors.count + 1,
            traits: traits,
            isStreamed: isStreamed
        )
    }

    init(
        retryState: Retry.State,
        end: Moment?,
        operation: UInt64,
        attempt: Int,
        traits: RequestTraits,
        isStreamed: Bool
    ) {
        self.retryState = retryState
        self.end = end
        self.operation = operation
        self.attempt = attempt
        self.traits = traits
        self.isStreamed = isStreamed
    }
}

/// The interceptors of an operation, in their order.
///
/// An ``Interceptor`` adds itself.
public struct InterceptorChain: Sendable {
    private struct Link<Role: Sendable>: Sendable {
        let role: Role
        let isAuthenticator: Bool
    }

    private var around: [Link<any RequestInterceptor>] = []
    private var onWire: [Link<any WireInterceptor>] = []
    private(set) var voters: [any RetryVoter] = []
    /// The voters for credentials of the wire, whose retries are free and counted apart.
    private(set) var authenticationVoters: [any RetryVoter] = []
    private(set) var credentialFields: Set<String> = []
    private(set) var hasCache = false
    private(set) var defect: NetworkError?

    init(_ interceptors: [any Interceptor] = []) {
        for interceptor in interceptors { interceptor.add(to: &self) }
    }

    /// Adds an interceptor, authenticator or voter after the others.
    ///
    /// - Parameter interceptor: The interceptor.
    public mutating func add(_ interceptor: any Interceptor) { interceptor.add(to: &self) }

    /// A type with several roles takes several places.
    mutating func addRoles(of interceptor: some InterceptorRole) {
        if let role = interceptor as? any RequestInterceptor { around.append(Link(role: role, isAuthenticator: false)) }
        if let role = interceptor as? any WireInterceptor { onWire.append(Link(role: role, isAuthenticator: false)) }
        if let voter = interceptor as? any RetryVoter { voters.append(voter) }
    }

    /// Requests without authentication omit the interceptor.
    package mutating func addAuthenticator(_ interceptor: any RequestInterceptor, credentialFields: Set<String>) {
        around.append(Link(role: interceptor, isAuthenticator: true))
        self.credentialFields.formUnion(credentialFields)
        guard hasCache else { return }
        defect = NetworkError(
            .invalidRequest,
            "the list of interceptors has a cache before an authenticator, so that users would share responses; "
                + "put the CacheInterceptor after all authenticators. Nothing was sent"
        )
    }

    /// Adds an interceptor that sets credentials on the wire, and decides when another attempt of
    /// the whole chain can help.
    package mutating func addAuthenticator(_ interceptor: any WireInterceptor & RetryVoter) {
        onWire.append(Link(role: interceptor, isAuthenticator: true))
        authenticationVoters.append(interceptor)
    }

    mutating func addCache(_ cache: CacheInterceptor) {
        addRoles(of: cache)
        hasCache = true
    }

    var withoutAuthenticators: Self {
        var chain = self
        chain.around.removeAll(where: \.isAuthenticator)
        chain.onWire.removeAll(where: \.isAuthenticator)
        (chain.credentialFields, chain.authenticationVoters, chain.defect) = ([], [], nil)
        return chain
    }

    mutating func prepend(_ interceptor: any RequestInterceptor) {
        around.insert(Link(role: interceptor, isAuthenticator: false), at: 0)
    }

    mutating func prependAuthenticator(_ interceptor: any RequestInterceptor, credentialFields: Set<String>) {
        around.insert(Link(role: interceptor, isAuthenticator: true), at: 0)
        self.credentialFields.formUnion(credentialFields)
    }

    mutating func add(_ interceptors: [any Interceptor]) {
        for interceptor in interceptors { interceptor.add(to: &self) }
    }

    func requestInterceptor(at index: Int) -> (any RequestInterceptor)? {
        index < around.count ? around[index].role : nil
    }

    func wireInterceptor(at index: Int) -> (any WireInterceptor)? {
        index < onWire.count ? onWire[index].role : nil
    }

    var hasWireInterceptors: Bool { !onWire.isEmpty }
}

/// The rest of a chain, which answers a request.
public struct Next: Sendable {
    let operation: ClientOperation
    let index: Int

    /// Answers a request with the later interceptors and the server.
    ///
    /// It may be called again, one call after the other, for at most 100 requests. The operation's
    /// deadline applies to all. A repetition has the credentials of the first call, and a server
    /// can refuse a proof of possession that it has seen: put an interceptor that repeats requests
    /// before the authenticators, or vote for a retry.
    ///
    /// - Parameter request: The request.
    /// - Returns: The response, with any status.
    /// - Throws: The error of a later interceptor; ``NetworkError`` if no response arrived, with
    ///   the code `bodyNotReplayable` if the body was already sent and can't be sent again, and
    ///   `requestNotMade` after too many requests.
    public func callAsFunction(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let interceptor = operation.loop.chain.requestInterceptor(at: index) else {
            return try await operation.send(request)
        }
        return try await interceptor.intercept(request, next: Next(operation: operation, index: index + 1))
    }

    /// The operation.
    public var context: InterceptorContext { operation.context }
}

/// The rest of a chain, which sends one request on the wire.
public struct Wire: Sendable {
    let follower: RedirectFollower
    let index: Int
    let progress: Progress?
    /// The redirects that led to the request, oldest first.
    public let redirects: [RedirectHop]

    final class Progress: Sendable {
        let sent = Mutex<HTTPRequest?>(nil)
    }

    package var sent: HTTPRequest? { progress.flatMap { $0.sent.withLock(\.self) } }

    /// Sends a request with the later interceptors.
    ///
    /// - Parameter request: The request.
    /// - Returns: The response, with any status.
    /// - Throws: The error of a later interceptor or of the transport.
    public func callAsFunction(_ request: HTTPRequest) async throws -> HTTPTransportResponse {
        guard let interceptor = follower.operation.loop.chain.wireInterceptor(at: index) else {
            progress?.sent.withLock { $0 = request }
            return try await follower.sendOnce(request)
        }
        let next = Wire(follower: follower, index: index + 1, progress: progress, redirects: redirects)
        return try await interceptor.intercept(request, next: next)
    }

    /// The operation.
    public var context: InterceptorContext { follower.operation.latestContext }
}
