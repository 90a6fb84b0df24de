import Foundation

/// The decision about one attempt: a stored response, its validation, or a plain request.
struct CachePlan {
    let key: CacheKey
    /// The number of removals when the attempt began.
    let removalCount: UInt64
    /// The time at which the request was sent.
    var requestTime = Date.distantPast
    /// The most recent stored response that matches the request.
    private(set) var stored: CachedResponse?
    /// The response, if the request isn't sent.
    private(set) var answer: HTTPResponse?
    /// A Boolean value that indicates whether the cache adds conditions to the request.
    private(set) var isValidation = false
    /// A Boolean value that indicates whether to renew the stored response in the background.
    private(set) var needsRenewal = false

    /// The request without conditions of the cache.
    let request: HTTPRequest
    private let rules: CacheRequestRules

    /// Creates a plan, or returns `nil` if the request isn't for the cache.
    init?(_ request: HTTPRequest, _ operation: ClientOperation, removals: CacheRemovals) {
        guard [.get, .head, .query].contains(request.method), !operation.context.isStreamed,
            request.body.contentLength == 0 || request.method == .query && request.heldBody != nil,
            ["Range", "If-Range", "If-Match", "If-Unmodified-Since"].allSatisfy({ request.headers[$0] == nil }),
            let key = CacheKey(request, credentialFields: operation.credentialFields)
        else { return nil }
        var request = request
        if operation.isRenewal {
            for name in Self.conditionFields { request.headers[name] = nil }
        }
        rules = CacheRequestRules(request)
        guard !rules.ignoresCache else { return nil }
        self.key = key
        self.request = request
        removalCount = removals.count(for: key.url)
    }

    /// A Boolean value that indicates whether the method is `HEAD`, which only uses responses.
    var isHead: Bool { request.method == .head }

    /// The name of the stored response for background operations.
    var name: String { "\(key.url) \(key.credentials) \(key.content) \(stored?.variant ?? "")" }

    private static let conditionFields = ["If-None-Match", "If-Modified-Since"]

    private var hasConditions: Bool {
        Self.conditionFields.contains { request.headers[$0] != nil }
    }

    // MARK: Before the request

    /// Chooses a stored response, and decides how to use it.
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

    /// Returns the most recent response whose variant matches
    /// ([RFC 9111 §4.1](https://www.rfc-editor.org/rfc/rfc9111#section-4.1)).
    private func match(in all: [CachedResponse]) -> CachedResponse? {
        var variants: [[String]: String] = [:]
        let matching = all.filter { stored in
            let variant = variants[stored.varyingFields] ?? CacheVariant.of(request, fields: stored.varyingFields)
            variants[stored.varyingFields] = variant
            return variant == stored.variant
        }
        return matching.max { $0.responseTime < $1.responseTime }
    }

    /// The request with the validators of the stored response, if the server must confirm it
    /// ([RFC 9111 §4.3.1](https://www.rfc-editor.org/rfc/rfc9111#section-4.3.1)).
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

    /// Returns a 304 if the stored response meets the request's own conditions
    /// ([RFC 9111 §4.3.2](https://www.rfc-editor.org/rfc/rfc9111#section-4.3.2)).
    private func conditionalResponse(from stored: CachedResponse, _ use: CacheUse, at now: Date) -> HTTPResponse? {
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

    /// Returns the stored response in place of the server's failure, if its window allows it.
    func answerOnError(at now: Date) -> HTTPResponse? {
        guard let stored, answer == nil, !hasConditions, rules.allowsOnError(CacheFreshness(stored, at: now)) else {
            return nil
        }
        return response(from: stored, .staleOnError, at: now)
    }

    /// Returns a stored response for the caller, with its age.
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

    /// Returns what to store of a response; `nil` if it isn't stored.
    ///
    /// If a later interceptor changed a field of the request as it was sent that separates users or
    /// variants, the next request couldn't be told apart, so nothing is stored.
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
            let variant = CacheVariant.of(request, fields: fields), CacheVariant.of(sent, fields: fields) == variant
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
