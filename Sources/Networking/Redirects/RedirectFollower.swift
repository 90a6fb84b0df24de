import Foundation

/// A sender that follows redirects on a transport that doesn't.
struct RedirectFollower {
    let operation: ClientOperation
    private let limits: HTTPTransportLimits
    /// Receives the metrics of each request.
    private let metrics: MetricsBox?

    init(_ operation: ClientOperation, _ limits: HTTPTransportLimits, _ metrics: MetricsBox?) {
        self.operation = operation
        self.limits = limits
        self.metrics = metrics
    }

    /// The error of an interceptor that couldn't complete a request, which wasn't sent.
    struct Incomplete: Error {
        let cause: any Error
        /// A Boolean value that indicates whether a server has acted on an earlier request.
        let isAfterRedirect: Bool
    }

    /// Sends a request and returns the last response.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var response = try await exchange(request)
        guard (300...399).contains(response.status) else { return HTTPResponse(response, from: request.url) }
        let (policy, credentialFields) = (operation.loop.redirects, operation.loop.chain.credentialFields)
        var steps = Chain(policy: policy, credentialFields: credentialFields, request: request)
        while try await steps.follow(response) {
            await response.discard()
            try Task.checkCancellation()
            do {
                response = try await exchange(steps.request, after: steps.hops)
            } catch var error as NetworkError {
                // A server has already acted on an earlier request.
                error.isUnprocessed = false
                throw error
            }
        }
        guard !response.isCut else {
            throw NetworkError(
                .bodyTooLarge,
                "a redirect wasn't followed, and its body exceeds \(RedirectBody.maximumSize) bytes, took longer than "
                    + "\(RedirectBody.patience) or can't be decoded; use RedirectPolicy.never to receive it"
            )
        }
        return HTTPResponse(response, from: steps.request.url, redirects: steps.hops)
    }

    /// Sends one request, completed by the interceptors.
    ///
    /// The redirects keep the request without what they add, so that the next one doesn't have it.
    private func exchange(
        _ request: HTTPRequest,
        after redirects: [RedirectHop] = []
    ) async throws -> HTTPTransportResponse {
        guard operation.loop.chain.hasWireInterceptors else { return try await sendOnce(request) }
        let progress = Wire.Progress()
        let wire = Wire(follower: self, index: 0, progress: progress, redirects: redirects)
        do {
            return try await wire(request)
        } catch  where wire.sent == nil {
            throw Incomplete(cause: error, isAfterRedirect: !redirects.isEmpty)
        }
    }

    /// Sends one request that has passed all interceptors.
    func sendOnce(_ request: HTTPRequest) async throws -> HTTPTransportResponse {
        let transport = operation.loop.transport
        guard metrics != nil || request.hasDigest else { return try await transport.send(request, limits: limits) }
        var request = request
        try await request.enforceDigests()
        metrics?.observe(&request)
        return try await transport.send(request, limits: limits)
    }
}

extension HTTPTransportResponse {
    /// Reads the rest of a body if it's short, so that the connection can be reused.
    fileprivate func discard() async {
        guard let body = stream else { return }
        guard let length = headers["Content-Length"].flatMap({ Int($0) }), length <= RedirectBody.maximumSize else {
            return body.cancel()
        }
        await withTaskGroup { group in
            group.addTask { _ = try? await body.collect(upTo: RedirectBody.maximumSize) }
            group.addTask {
                guard (try? await Task.sleep(for: RedirectBody.patience)) != nil else { return }
                body.cancel()
            }
            await group.next()
            group.cancelAll()
        }
    }
}

/// The requests of one operation, each of which is a redirect of the previous one.
private struct Chain {
    /// The identity of a request.
    ///
    /// Header fields are included, because a request that lost its credentials differs.
    struct Step: Hashable {
        let method: HTTPMethod
        let url: String
        let headers: HTTPHeaders

        init(_ request: HTTPRequest) {
            method = request.method
            var reference = URIReference(request.url.absoluteString)
            reference.fragment = nil
            url = reference.text
            headers = request.headers
        }
    }

    let policy: RedirectPolicy
    let credentialFields: Set<String>
    /// The next request, or the last one sent.
    private(set) var request: HTTPRequest
    private(set) var hops: [RedirectHop] = []
    /// The requests sent; empty without redirects, as most operations have none.
    private(set) var steps: Set<Step> = []

    /// Advances to the next request; returns `false` if the response is for the caller.
    mutating func follow(_ response: HTTPTransportResponse) async throws -> Bool {
        if policy.isNever { return false }
        guard let rules = RedirectRules(request: request, status: response.status),
            let target = try RedirectTarget.url(in: response.headers, from: request.url)
        else { return false }
        var next = rules.proposal(for: target, sensitiveHeaders: policy.sensitiveHeaders.union(credentialFields))
        switch policy.rule {
        case .all: break
        case .never: return false
        case .sameOrigin: if HTTPOrigin(target) != HTTPOrigin(request.url) { return false }
        case .custom(let decide):
            let redirect = Redirect(
                status: response.status,
                headers: response.headers,
                source: request.url,
                request: next,
                hops: hops
            )
            switch try await decide(redirect) {
            case .deliver: return false
            case .follow(let chosen):
                next = chosen
                try await next.enforceDigests()
            }
        }
        try rules.check(next)
        if hops.isEmpty { steps = [Step(request)] }
        hops.append(RedirectHop(url: request.url, status: response.status))
        guard hops.count <= policy.maximumCount else { throw excess("more than \(policy.maximumCount) redirects") }
        guard steps.insert(Step(next)).inserted else { throw excess("the redirects form a loop") }
        request = next
        return true
    }

    private func excess(_ what: String) -> NetworkError {
        let origins = hops.map(\.description).joined(separator: " → ")
        return NetworkError(.tooManyRedirects, "\(what): \(origins)")
    }
}
