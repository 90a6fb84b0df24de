import Foundation

/// The requests of one event stream.
struct EventStreamConnector {
    private let client: NetworkClient
    private let resource: Resource
    let options: EventStreamOptions
    /// The last request, without the interceptors' changes; `nil` before the first.
    private var request: HTTPRequest?
    private var isReplayable = true

    init(client: NetworkClient, resource: Resource, options: EventStreamOptions) {
        self.client = client
        self.options = options
        var resource = resource
        resource.options = options.request
        resource.options.idleTimeout = options.request.idleTimeout ?? EventStreamOptions.idleTimeout
        resource.traits.acceptedStatuses = resource.traits.acceptedStatuses.union([204])
        self.resource = resource
    }

    var timeSource: TimeSource { client.options.timeSource }
    var endpoint: String? { request?.endpoint }

    /// The error that stands for the orderly end of a stream.
    var ended: NetworkError {
        var error = NetworkError(.connectionLost, "the server ended the event stream")
        error.endpoint = endpoint
        return error
    }

    /// Sends the request, and returns the response when its header has arrived.
    mutating func open(lastEventID: String) async throws -> HTTPResponse {
        var last: HTTPRequest?
        defer {
            request = last ?? request
            isReplayable = (options.request.body ?? last?.body)?.isReplayable ?? true
        }
        let loop = AttemptLoop(client: client, resource: resource, delivery: .endless)
        return try await loop.run {
            var base = try await resource.makeBase()
            base.headers.setDefault("Accept", "text/event-stream")
            base.headers.setDefault("Cache-Control", "no-store")
            if !lastEventID.isEmpty, HTTPSyntax.isFieldValue(lastEventID) {
                base.headers["Last-Event-ID"] = lastEventID
            }
            last = base
            return base
        }
    }

    /// Throws an error unless the response is an event stream.
    func check(_ response: HTTPResponse) throws(NetworkError) {
        let type = response.headers["Content-Type"].flatMap { MediaType($0) }?.essence
        guard response.status == 200, type == "text/event-stream" else {
            let found = response.status == 200 ? "of another type" : "with the status \(response.status)"
            var error = NetworkError(
                .invalidResponse,
                "the response is \(found), and an event stream requires 200 and text/event-stream; check the URL"
            )
            error.endpoint = endpoint
            throw error
        }
    }

    /// Returns the policy's decision after a failure.
    func action(after error: any Error, _ state: Retry.State) -> Retry.Action {
        guard let policy = options.reconnection, let request else { return .none }
        let context = InterceptorContext(retryState: state, traits: resource.traits)
        let response = (error as? ServerError)?.httpResponse
        let action = policy.evaluateFailedRequest(
            FailedRequest(request, response: response, error: error, context: context)
        )
        if case .none = action { return action }
        return isReplayable ? action : .noRetry(.bodyNotReplayable)
    }
}
