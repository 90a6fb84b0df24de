import Foundation

/// Follows the redirects of a request; the transport below follows none.
struct RedirectFollower {
    let transport: any HTTPTransport
    let policy: RedirectPolicy
    /// Whose header fields stay with the origin that they were put on for.
    var authentication = Authentication()

    /// A response, and the way to it.
    struct Arrival<Response> {
        let response: Response
        /// The URL that answered.
        let url: URL
        /// The redirects that were followed, oldest first.
        let hops: [RedirectHop]

        /// Whether every request of the chain went to the same scheme, host and port, and so had the first one's credentials.
        var isFromFirstOrigin: Bool {
            guard !hops.isEmpty else { return true }
            let origin = HTTPOrigin(url)
            return hops.allSatisfy { HTTPOrigin($0.url) == origin }
        }
    }

    /// Whether a response with this status may be a redirect: asked before there is a follower, because few are.
    static func concerns(_ status: Int) -> Bool { (300...399).contains(status) }

    /// Follows what may be a redirect, and receives the whole response of the last request.
    func follow(
        _ first: HTTPTransportResponse,
        to request: HTTPTransportRequest,
        limits: HTTPTransportLimits
    ) async throws -> Arrival<HTTPTransportResponse> {
        var chain = Chain(policy: policy, authentication: authentication, request: request)
        var response = first
        while try await chain.follow(status: response.status, headers: response.headers) {
            do { response = try await transport.send(chain.request, limits: limits) } catch { throw error.afterAnswer }
        }
        guard !response.isCut else {
            throw NetworkError(
                .bodyTooLarge,
                "a redirect was not followed, and its body has more than \(RedirectBody.maximumSize) octets, did not end within "
                    + "\(RedirectBody.patience) or can't be decoded; use the policy never to receive it"
            )
        }
        return Arrival(response: response, url: chain.request.url, hops: chain.hops)
    }

    /// Sends a request and receives the header of the last one's response.
    func open(
        _ request: HTTPTransportRequest,
        limits: HTTPTransportLimits
    ) async throws -> Arrival<HTTPTransportStream> {
        var chain = Chain(policy: policy, authentication: authentication, request: request)
        while true {
            let stream: HTTPTransportStream
            do {
                stream = try await transport.open(chain.request, limits: limits)
            } catch {
                throw chain.hops.isEmpty ? error : error.afterAnswer
            }
            guard Self.concerns(stream.status),
                try await chain.follow(status: stream.status, headers: stream.headers)
            else {
                return Arrival(response: stream, url: chain.request.url, hops: chain.hops)
            }
            await discard(stream)
            if Task.isCancelled { throw NetworkError.cancelledExchange }
        }
    }

    /// Reads what is left of a redirect if it is short, so that its connection can be kept.
    private func discard(_ stream: HTTPTransportStream) async {
        let length = stream.headers["Content-Length"].flatMap { Int($0) }
        guard let length, length <= RedirectBody.maximumSize else { return stream.body.cancel() }
        await withTaskGroup { group in
            group.addTask { _ = try? await stream.body.collect(upTo: RedirectBody.maximumSize) }
            group.addTask {
                guard (try? await Task.sleep(for: RedirectBody.patience)) != nil else { return }
                stream.body.cancel()
            }
            await group.next()
            group.cancelAll()
        }
    }
}

extension Error {
    /// The failure of a request to which another one, that was answered, has led: a server has acted on that one.
    fileprivate var afterAnswer: any Error {
        guard var error = self as? NetworkError else { return self }
        error.isUnprocessed = false
        return error
    }
}

/// The requests of one operation, each but the first a redirect of the one before.
private struct Chain {
    /// What makes two requests the same: with the same header fields, so that one which lost its credentials is another.
    private struct Step: Hashable {
        let method: HTTPMethod
        let url: String
        let headers: HTTPHeaders

        init(_ request: HTTPTransportRequest) {
            method = request.method
            var reference = URIReference(request.url.absoluteString)
            reference.fragment = nil
            url = reference.text
            headers = request.headers
        }
    }

    let policy: RedirectPolicy
    let authentication: Authentication
    /// The request to send, or the one that was sent last.
    private(set) var request: HTTPTransportRequest
    private(set) var hops: [RedirectHop] = []
    /// What was sent; empty until there is a redirect, because most requests have none.
    private var steps: Set<Step> = []

    init(policy: RedirectPolicy, authentication: Authentication, request: HTTPTransportRequest) {
        self.policy = policy
        self.authentication = authentication
        self.request = request
    }

    /// Goes on to the next request; false if the response is the caller's.
    mutating func follow(status: Int, headers: HTTPHeaders) async throws -> Bool {
        if case .never = policy.rule { return false }
        guard let rules = RedirectRules(request: request, status: status),
            let target = try RedirectTarget.url(in: headers, from: request.url)
        else { return false }
        let sensitive = policy.sensitiveHeaders.union(authentication.fieldNames)
        var next = rules.proposal(for: target, sensitiveHeaders: sensitive)
        switch policy.rule {
        case .all: break
        case .never: return false
        case .sameOrigin: if HTTPOrigin(target) != HTTPOrigin(request.url) { return false }
        case .custom(let decide):
            let redirect = Redirect(status: status, headers: headers, source: request.url, request: next, hops: hops)
            switch try await decide(redirect) {
            case .deliver: return false
            case .follow(let chosen): next = chosen
            }
        }
        try rules.check(next)
        if hops.isEmpty { steps = [Step(request)] }
        hops.append(RedirectHop(url: request.url, status: status))
        guard hops.count <= policy.maximumCount else { throw excess("more than \(policy.maximumCount) redirects") }
        guard steps.insert(Step(next)).inserted else { throw excess("the redirects go round in a circle") }
        request = next
        return true
    }

    private func excess(_ what: String) -> NetworkError {
        let origins = hops.map(\.description).joined(separator: " → ")
        return NetworkError(.tooManyRedirects, "\(what): \(origins)")
    }
}
