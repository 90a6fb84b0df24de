import Foundation
import FoundationNetworking

// Responses from an interceptor's storage.
extension AttemptLoop {
    /// The lowercase names of the fields that may contain a credential.
    ///
    /// A DPoP proof differs in each request. It belongs to the access token in `Authorization`.
    var credentialFields: Set<String> {
        guard chain.hasCache else { return [] }
        let policy = requestOptions.redirects ?? options.redirects
        let names = chain.credentialFields.union(policy.sensitiveHeaders).map { $0.lowercased() }
        return Set(names + ["authorization", "cookie"]).subtracting(["dpop"])
    }

    /// Returns a closure that sends the request again in the background to renew its stored
    /// response; `nil` if that isn't possible.
    ///
    /// The background operation runs all interceptors and doesn't retain the client.
    func renewal(of request: URLRequest, context: InterceptorContext) -> (@Sendable (String) -> Void)? {
        guard chain.hasCache, let renewals, !context.isStreamed, context.body == nil,
            request.httpBody == nil || request.isQuery
        else { return nil }
        var loop = self
        loop.renewals = nil
        loop.requestOptions.observer = nil
        // The error is dropped, so a resource's decoding isn't needed.
        loop.errorDecoding = nil
        return { [weak renewals, loop] name in
            renewals?.start(name) { _ = try await loop.run { (request, nil) } }
        }
    }

    /// Returns an interceptor's stored response with the interceptors that see it.
    func answer(_ response: HTTPResponse, from index: Int) throws(NetworkError) -> InterceptorChain.Answer {
        guard response.body.count <= maximumBodySize else {
            throw NetworkError(
                .bodyTooLarge,
                "the stored response's body is larger than \(maximumBodySize) bytes; raise the limit or request less"
            )
        }
        return InterceptorChain.Answer(response: response, links: chain.links.dropFirst(index + 1))
    }

    /// Returns the first interceptor's stored response in place of a failed request.
    func storedAnswer(
        for request: URLRequest,
        after error: any Error,
        context: InterceptorContext
    ) async throws -> InterceptorChain.Answer? {
        if Task.isCancelled || error is CancellationError { return nil }
        for (index, link) in chain.links.enumerated() {
            if let response = await link.interceptor.storedResponse(for: request, after: error, context: context) {
                return try answer(response, from: index)
            }
        }
        return nil
    }
}
