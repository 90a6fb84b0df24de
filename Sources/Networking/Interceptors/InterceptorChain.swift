import Synchronization

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
    /// The header fields that the authenticators set.
    private(set) var credentialFields: Set<String> = []
    /// A Boolean value that indicates whether an interceptor is a cache.
    private(set) var hasCache = false
    /// The reason why no request can be sent with this list.
    private(set) var defect: NetworkError?

    init(_ interceptors: [any Interceptor] = []) {
        for interceptor in interceptors { interceptor.add(to: &self) }
    }

    /// Adds an interceptor after the others.
    ///
    /// - Parameter interceptor: The interceptor.
    public mutating func add(_ interceptor: any RequestInterceptor) {
        around.append(Link(role: interceptor, isAuthenticator: false))
    }

    /// Adds an interceptor after the others.
    ///
    /// - Parameter interceptor: The interceptor.
    public mutating func add(_ interceptor: any WireInterceptor) {
        onWire.append(Link(role: interceptor, isAuthenticator: false))
    }

    /// Adds a voter.
    ///
    /// - Parameter voter: The voter.
    public mutating func add(_ voter: any RetryVoter) { voters.append(voter) }

    /// Adds an interceptor that sets credentials, and that requests without authentication omit.
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
        add(cache as any RequestInterceptor)
        add(cache as any RetryVoter)
        hasCache = true
    }

    /// The chain without authenticators.
    var withoutAuthenticators: Self {
        var chain = self
        chain.around.removeAll(where: \.isAuthenticator)
        chain.onWire.removeAll(where: \.isAuthenticator)
        (chain.credentialFields, chain.authenticationVoters, chain.defect) = ([], [], nil)
        return chain
    }

    /// Adds an interceptor before all others.
    mutating func prepend(_ interceptor: any RequestInterceptor) {
        around.insert(Link(role: interceptor, isAuthenticator: false), at: 0)
    }

    /// Adds an interceptor that sets credentials before all others.
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

    /// The request that has reached the transport last.
    final class Progress: Sendable {
        let sent = Mutex<HTTPRequest?>(nil)
    }

    /// The request as the later interceptors sent it last; `nil` before that.
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
