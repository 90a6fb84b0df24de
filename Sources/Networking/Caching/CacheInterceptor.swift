public import Foundation
internal import OpenSSLCrypto
import Synchronization

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
/// requests, range requests and redirected responses on, and requests whose only credential is a
/// signature that a later interceptor adds on the wire.
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

    /// [RFC 9111 §4.3.4](https://www.rfc-editor.org/rfc/rfc9111#section-4.3.4).
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

    /// [RFC 9111 §4.4](https://www.rfc-editor.org/rfc/rfc9111#section-4.4).
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

/// The decision about one attempt: a stored response, its validation, or a plain request.
struct CachePlan {
    let key: CacheKey
    let removalCount: UInt64
    var requestTime = Date.distantPast
    /// The most recent stored response that matches the request.
    private(set) var stored: CachedResponse?
    private(set) var answer: HTTPResponse?
    private(set) var isValidation = false
    private(set) var needsRenewal = false
    let request: HTTPRequest
    private let rules: CacheRequestRules
    private let userAgent: String

    init?(_ request: HTTPRequest, _ operation: ClientOperation, removals: CacheRemovals) {
        guard [.get, .head, .query].contains(request.method), !operation.context.isStreamed,
            request.body.contentLength == 0 || request.method == .query && request.heldBody != nil,
            ["Range", "If-Range", "If-Match", "If-Unmodified-Since"].allSatisfy({ request.headers[$0] == nil }),
            let key = CacheKey(request, credentialFields: operation.credentialFields),
            // Users couldn't be told apart by a credential that is only set on the wire.
            !key.credentials.isEmpty || operation.loop.chain.authenticationVoters.isEmpty
        else { return nil }
        var request = request
        if operation.isRenewal {
            for name in Self.conditionFields { request.headers[name] = nil }
        }
        rules = CacheRequestRules(request)
        guard !rules.ignoresCache else { return nil }
        self.key = key
        self.request = request
        userAgent = operation.loop.options.userAgent
        removalCount = removals.count(for: key.url)
    }

    var isHead: Bool { request.method == .head }

    /// The name of the stored response for background operations.
    var name: String { "\(key.url) \(key.credentials) \(key.content) \(stored?.variant ?? "")" }

    private static let conditionFields = ["If-None-Match", "If-Modified-Since"]

    private var hasConditions: Bool {
        Self.conditionFields.contains { request.headers[$0] != nil }
    }

    // MARK: Before the request

    mutating func choose(from all: [CachedResponse], at now: Date, isRenewal: Bool) {
        stored = match(in: all)
        if let stored {
            let freshness = CacheFreshness(stored, at: now)
            if !isRenewal, let use = rules.use(of: freshness) {
                answer = hasConditions ? conditionalResponse(from: stored, use, at: now) : nil
                answer = answer ?? response(from: stored, use, at: now)
                needsRenewal = use == .stale && !isHead && rules.canRenew(freshness)
            } else {
                isValidation = !isHead && !hasConditions && !rules.requiresReload && stored.response.hasValidator
            }
        }
        if answer == nil, rules.isOnlyIfCached {
            var missing = HTTPResponse(url: request.url, status: 504)
            missing.cacheUse = .missing
            answer = missing
        }
    }

    /// [RFC 9111 §4.1](https://www.rfc-editor.org/rfc/rfc9111#section-4.1).
    private func match(in all: [CachedResponse]) -> CachedResponse? {
        all.filter { variant(of: request, $0.varyingFields) == $0.variant }.max { $0.responseTime < $1.responseTime }
    }

    /// The operation adds its `User-Agent` at the end of the chain.
    private func variant(of request: HTTPRequest, _ fields: [String]) -> String? {
        var request = request
        request.headers.setDefault("User-Agent", userAgent)
        return CacheVariant.of(request, fields: fields)
    }

    /// [RFC 9111 §4.3.1](https://www.rfc-editor.org/rfc/rfc9111#section-4.3.1).
    var conditionalRequest: HTTPRequest {
        guard isValidation, let headers = stored?.response.headers else { return request }
        var request = request
        for (condition, validator) in [("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified")] {
            // A validator that isn't a valid header field value is ignored.
            guard let value = headers[validator], HTTPSyntax.isFieldValue(value) else { continue }
            request.headers[condition] = value
        }
        return request
    }

    /// [RFC 9111 §4.3.2](https://www.rfc-editor.org/rfc/rfc9111#section-4.3.2).
    private func conditionalResponse(from stored: CachedResponse, _ use: CacheUse, at now: Date) -> HTTPResponse? {
        // RFC 9110 §13.2.1: conditions don't apply to other statuses.
        guard stored.response.isSuccessful else { return nil }
        let headers = stored.response.headers
        if let tags = request.headers.combined("If-None-Match") {
            guard let tag = headers["ETag"], EntityTag.isListed(tag, in: tags) else { return nil }
        } else {
            guard let since = request.headers["If-Modified-Since"],
                let limit = HTTPDate.parse(since.asciiOnly, now: now)
            else { return nil }
            let field = headers["Last-Modified"] ?? headers["Date"]
            let modified = field.flatMap { HTTPDate.parse($0.asciiOnly, now: now) } ?? stored.responseTime
            guard modified <= limit else { return nil }
        }
        var response = response(from: stored, use, at: now)
        response.status = 304
        response.body = Data()
        response.trailers = [:]
        return response
    }

    // MARK: After the request

    func answerOnError(at now: Date) -> HTTPResponse? {
        guard let stored, answer == nil, !hasConditions, rules.allowsOnError(CacheFreshness(stored, at: now)) else {
            return nil
        }
        return response(from: stored, .staleOnError, at: now)
    }

    func response(from stored: CachedResponse, _ use: CacheUse, at now: Date) -> HTTPResponse {
        var response = stored.response
        response.url = request.url
        response.headers["Age"] = CacheFreshness(stored, at: now).ageField
        if isHead {
            response.body = Data()
            response.trailers = [:]
        }
        response.cacheUse = use
        return response
    }

    /// Returns `nil` also if a later interceptor changed a field that separates users or variants:
    /// the next request couldn't be told apart.
    func entry(
        for response: HTTPResponse,
        to sent: HTTPRequest?,
        _ operation: ClientOperation,
        at now: Date
    ) -> CachedResponse? {
        guard let sent, response.redirects.isEmpty,
            CacheKey(sent, credentialFields: operation.credentialFields) == key,
            CacheRules.isStorable(response, hasCredentials: !key.credentials.isEmpty),
            let fields = CacheVariant.fields(response.headers),
            let variant = variant(of: request, fields), self.variant(of: sent, fields) == variant
        else { return nil }
        let entry = CachedResponse(
            response: response.withoutConnectionFields,
            requestTime: requestTime,
            responseTime: now,
            varyingFields: fields,
            variant: variant
        )
        return CacheRules.isUseful(entry) ? entry : nil
    }
}

/// Counts removals, so that a response that a request with an unsafe method has overtaken isn't
/// stored.
///
/// The table has a fixed size. URLs that share a counter cause responses not to be stored, rarely.
final class CacheRemovals: Sendable {
    private static let size = 256

    private let counts = Mutex([UInt64](repeating: 0, count: size))

    func count(for url: String) -> UInt64 { counts.withLock { $0[Self.index(of: url)] } }

    func add(_ url: String) { counts.withLock { $0[Self.index(of: url)] &+= 1 } }

    private static func index(of url: String) -> Int { Int(UInt(bitPattern: url.hashValue) % UInt(size)) }
}
