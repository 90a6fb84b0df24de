public import Foundation

/// An interceptor that answers requests with stored responses while they're fresh, and validates
/// them when they're stale.
///
/// It's a private cache ([RFC 9111](https://www.rfc-editor.org/rfc/rfc9111)) for `GET`, `HEAD` and
/// `QUERY` ([RFC 10008](https://www.rfc-editor.org/rfc/rfc10008)), whose content is part of the
/// key:
///
/// ```swift
/// let client = NetworkClient(interceptors: [
///     authenticator, CacheInterceptor(), Retry.Policy.maxRetries(2),
/// ])
/// ```
///
/// Put it after the authenticators, whose credentials separate the stored responses: with an
/// authenticator after it, requests fail with ``NetworkError/Code/invalidRequest``. Put it before
/// limits and breakers. Interceptors before it see every request, and interceptors after it
/// see only the requests that are sent.
///
/// - A response to a request with credentials is stored only if its `Cache-Control` has `private`,
///   `public`, `must-revalidate` or `s-maxage`, and is used only for the same credentials.
/// - `stale-while-revalidate` and `stale-if-error` apply
///   ([RFC 5861](https://www.rfc-editor.org/rfc/rfc5861)). With the latter, the first failure
///   leads to the stale response, without retries.
/// - A successful request with an unsafe method removes the responses for its URL.
///
/// ``HTTPResponse/cacheUse`` tells stored responses from others. The interceptor passes streamed
/// requests, range requests and redirected responses on.
public final class CacheInterceptor: RequestInterceptor, RetryVoter {
    let cache: any HTTPResponseCache
    let timeSource: TimeSource
    let removals = CacheRemovals()

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - cache: The storage. The default uses up to 10 MiB of memory. Share it only between
    ///     clients with the same client certificate.
    ///   - timeSource: The clocks, the same as the client's.
    public init(cache: any HTTPResponseCache = MemoryResponseCache(), timeSource: TimeSource = .system) {
        self.cache = cache
        self.timeSource = timeSource
    }

    /// Adds the cache.
    public func add(to chain: inout InterceptorChain) { chain.addCache(self) }

    /// Removes the stored responses for a URL, of all credentials.
    ///
    /// A response that is on its way isn't stored either.
    ///
    /// - Parameter url: The URL; its fragment is ignored.
    public func removeResponses(for url: URL) async {
        guard let key = CacheKey.url(url) else { return }
        removals.add(key)
        await cache.removeResponses(forURL: key)
    }

    /// Answers a request with a stored response, or sends it, validates a stored response with the
    /// server's answer, and stores the answer.
    ///
    /// A request with `only-if-cached` and no suitable response gets a 504. If the server's 304 is
    /// about another response than the stored one, which is removed then, the request is sent
    /// again.
    ///
    /// - Throws: ``NetworkError`` with the code `invalidResponse` after such a 304.
    public func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse {
        let operation = next.operation
        guard var plan = CachePlan(request, operation, removals: removals) else {
            let response = try await next(request)
            if !request.method.isSafe { await removeResponses(changedBy: request, response) }
            return response
        }
        let now = timeSource.date()
        plan.choose(from: await cache.responses(for: plan.key), at: now, isRenewal: operation.isRenewal)
        if plan.needsRenewal { operation.renew(plan.name) }
        if let answer = plan.answer { return answer }
        plan.requestTime = timeSource.date()
        return try await answer(plan, next)
    }

    /// Asks for another attempt if the server's 304 isn't about the stored response, once.
    ///
    /// The whole attempt is repeated, because a proof of possession is valid for one request.
    public func evaluateFailedRequest(_ failure: FailedRequest) -> Retry.Action {
        let isFirst = !failure.context.retryState.errors.contains(where: Self.isMismatch)
        return isFirst && Self.isMismatch(failure.error) ? .retry : .none
    }

    /// Sends a request, and returns the server's response or the stored one in its place.
    private func answer(_ plan: CachePlan, _ next: Next) async throws -> HTTPResponse {
        let isRenewal = next.operation.isRenewal
        let count = next.operation.latestSent.count
        let response: HTTPResponse
        do { response = try await next(plan.conditionalRequest) } catch {
            guard Self.isServerFailure(error), !isRenewal, let stale = plan.answerOnError(at: timeSource.date()) else {
                throw error
            }
            return stale
        }
        let now = timeSource.date()
        if response.status == 304, let stored = plan.stored, plan.isValidation {
            return try await validated(stored, by: response, plan, at: now)
        }
        if [500, 502, 503, 504].contains(response.status) {
            if !isRenewal, let stale = plan.answerOnError(at: now) { return stale }
            // A failure says nothing about the stored response.
            if plan.stored != nil { return response }
        }
        guard !plan.isHead, response.status != 304 else { return response }
        let sent = next.operation.latestSent
        // Without a request, the response comes from another interceptor.
        let request = sent.count > count ? sent.request : nil
        if let entry = plan.entry(for: response, to: request, next.operation, at: now) {
            await store(entry, plan)
        } else if plan.stored != nil {
            await cache.removeResponses(forURL: plan.key.url)
        }
        return response
    }

    // MARK: Responses

    /// The cause of the error after a 304 that isn't about the stored response.
    private struct Mismatch: Error {}

    private static func isMismatch(_ error: any Error) -> Bool { (error as? NetworkError)?.cause is Mismatch }

    /// Returns whether an error corresponds to a gateway's 502, 503 or 504.
    private static func isServerFailure(_ error: any Error) -> Bool {
        guard let code = (error as? NetworkError)?.code else { return false }
        return [.timedOut, .cannotResolveHost, .cannotConnect, .connectionLost, .invalidResponse, .circuitOpen]
            .contains(code)
    }

    /// Updates the stored response with a 304
    /// ([RFC 9111 §4.3.4](https://www.rfc-editor.org/rfc/rfc9111#section-4.3.4)).
    private func validated(
        _ stored: CachedResponse,
        by notModified: HTTPResponse,
        _ plan: CachePlan,
        at now: Date
    ) async throws -> HTTPResponse {
        guard notModified.redirects.isEmpty, stored.response.isConfirmed(by: notModified) else {
            await cache.removeResponses(forURL: plan.key.url)
            throw NetworkError(
                .invalidResponse,
                "the server's 304 is about another version than the stored response, which was removed; try again",
                cause: Mismatch()
            )
        }
        var entry = stored
        entry.response.update(with: notModified)
        (entry.requestTime, entry.responseTime) = (plan.requestTime, now)
        if CacheRules.isStorable(entry.response, hasCredentials: !plan.key.credentials.isEmpty),
            CacheVariant.fields(entry.response.headers) == entry.varyingFields
        {
            await store(entry, plan)
        } else {
            await cache.removeResponses(forURL: plan.key.url)
        }
        return plan.response(from: entry, .revalidated, at: now)
    }

    /// Stores a response unless a request with an unsafe method has overtaken it.
    private func store(_ entry: CachedResponse, _ plan: CachePlan) async {
        await cache.store(entry, for: plan.key)
        // Checked afterwards, because such a request can end while the response is being stored.
        guard removals.count(for: plan.key.url) != plan.removalCount else { return }
        await cache.removeResponses(forURL: plan.key.url)
    }

    /// Removes the responses that a request with an unsafe method may have changed
    /// ([RFC 9111 §4.4](https://www.rfc-editor.org/rfc/rfc9111#section-4.4)).
    private func removeResponses(changedBy request: HTTPRequest, _ response: HTTPResponse) async {
        guard (200...399).contains(response.status) || !response.redirects.isEmpty,
            let origin = HTTPOrigin(request.url)
        else { return }
        let base = URIReference(response.url.absoluteString)
        let references = ["Location", "Content-Location"].flatMap { response.headers.values(for: $0).prefix(4) }
            .filter { $0.utf8.count <= 8_192 }
            .compactMap { URL(string: URIReference($0).resolved(against: base).text, encodingInvalidCharacters: false) }
        let changed = [request.url, response.url] + response.redirects.map(\.url) + references
        for changed in Set(changed.filter { HTTPOrigin($0) == origin }) { await removeResponses(for: changed) }
    }
}
