import Foundation

/// What an attempt brought: a whole response, or its head and a body that is still being received.
struct Received {
    /// The response as interceptors see it; its body is empty while there is a stream.
    private(set) var response: HTTPResponse
    /// The body that is still being received; `nil` if it is in the response.
    private(set) var stream: HTTPResponseBody?
    /// Whether the request's credentials were for whoever answered.
    let isFromFirstOrigin: Bool

    /// What the first request brought, or the last of some redirects.
    init(
        _ response: HTTPTransportResponse,
        from url: URL,
        redirects: [RedirectHop] = [],
        isFromFirstOrigin: Bool = true
    ) {
        self.isFromFirstOrigin = isFromFirstOrigin
        self.response = HTTPResponse(
            url: url,
            status: response.status,
            version: response.version,
            headers: response.headers,
            body: response.body,
            redirects: redirects
        )
    }

    init(_ arrival: RedirectFollower.Arrival<HTTPTransportResponse>) {
        self.init(
            arrival.response,
            from: arrival.url,
            redirects: arrival.hops,
            isFromFirstOrigin: arrival.isFromFirstOrigin
        )
    }

    init(_ arrival: RedirectFollower.Arrival<HTTPTransportStream>) {
        isFromFirstOrigin = arrival.isFromFirstOrigin
        stream = arrival.response.body
        response = HTTPResponse(
            url: arrival.url,
            status: arrival.response.status,
            version: arrival.response.version,
            headers: arrival.response.headers,
            redirects: arrival.hops
        )
    }

    /// Takes what an interceptor made of the response; a body that it put in takes the place of the one being received.
    mutating func replace(with response: HTTPResponse) {
        self.response = response
        guard !response.body.isEmpty, let stream else { return }
        stream.cancel()
        self.stream = nil
    }

    /// Receives what is left of the body, if the response is none that is handed on while it is received.
    mutating func collectFailure(unless accepted: AcceptedStatuses, upTo limit: Int) async throws {
        guard !accepted.contains(response.status), let stream else { return }
        response.body = try await stream.collect(upTo: limit)
        self.stream = nil
    }
}
