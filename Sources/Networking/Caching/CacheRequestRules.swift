import Foundation
import FoundationNetworking

/// The conditions that a request sets for stored responses
/// ([RFC 9111 §5.2.1](https://www.rfc-editor.org/rfc/rfc9111#section-5.2.1)).
struct CacheRequestRules {
    /// A Boolean value that indicates whether the cache ignores the request.
    private(set) var ignoresCache = false
    /// A Boolean value that indicates whether the server must confirm a stored response.
    private(set) var requiresValidation = false
    /// A Boolean value that indicates whether the server must send the whole response again.
    private(set) var requiresReload = false
    /// A Boolean value that indicates whether nothing is sent.
    private(set) var isOnlyIfCached = false
    private var maxAge: TimeInterval?
    private var minFresh: TimeInterval?
    private var maxStale: TimeInterval?
    private var staleIfError: TimeInterval = 0

    /// Reads the `Cache-Control` and `Pragma` fields and the cache policy of a `URLRequest`.
    init(_ request: HTTPRequest) {
        let fields = request.headers.values(for: "Cache-Control")
        let directives = CacheDirectives(fields)
        ignoresCache = directives.contains("no-store") || directives.isMalformed
        isOnlyIfCached = directives.contains("only-if-cached")
        maxAge = directives.seconds("max-age").interval
        minFresh = directives.seconds("min-fresh").interval
        maxStale = directives.containsUnqualified("max-stale") ? .infinity : directives.seconds("max-stale").interval
        staleIfError = directives.seconds("stale-if-error").interval ?? 0
        let areValid = ["max-age", "min-fresh"].allSatisfy { directives.seconds($0) != .invalid }
        requiresValidation = directives.contains("no-cache") || !areValid
        if fields.isEmpty, let pragma = request.headers.combined("Pragma") {
            let members = CacheDirectives.members(of: pragma.asciiOnly) ?? []
            requiresValidation = members.contains { $0.equalsIgnoringASCIICase("no-cache") }
        }
        apply(request.cachePolicy)
    }

    private mutating func apply(_ policy: URLRequest.CachePolicy) {
        switch policy {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData:
            (requiresValidation, requiresReload) = (true, true)
        case .reloadRevalidatingCacheData: requiresValidation = true
        case .returnCacheDataElseLoad: maxStale = .infinity
        case .returnCacheDataDontLoad: (maxStale, isOnlyIfCached) = (.infinity, true)
        case .useProtocolCachePolicy: break
        @unknown default: break
        }
    }

    /// Returns the use of a stored response without a request; `nil` if it must be validated
    /// ([RFC 9111 §4](https://www.rfc-editor.org/rfc/rfc9111#section-4)).
    func use(of freshness: CacheFreshness) -> CacheUse? {
        guard !requiresValidation, !freshness.requiresValidation else { return nil }
        if let maxAge, freshness.age >= maxAge { return nil }
        let remaining = freshness.lifetime - freshness.age
        if freshness.isFresh, remaining >= minFresh ?? 0 { return .fresh }
        guard !freshness.forbidsStale, minFresh == nil else { return nil }
        if let maxStale, freshness.staleness <= maxStale { return .stale }
        return maxAge == nil && canRenew(freshness) ? .stale : nil
    }

    /// Returns whether a stale response is used while it's revalidated
    /// ([RFC 5861 §3](https://www.rfc-editor.org/rfc/rfc5861#section-3)).
    func canRenew(_ freshness: CacheFreshness) -> Bool {
        freshness.staleWhileRevalidate > 0 && freshness.staleness <= freshness.staleWhileRevalidate
    }

    /// Returns whether a stale response replaces the server's failure
    /// ([RFC 5861 §4](https://www.rfc-editor.org/rfc/rfc5861#section-4)).
    func allowsOnError(_ freshness: CacheFreshness) -> Bool {
        let window = max(staleIfError, freshness.staleIfError)
        return !requiresValidation && !freshness.forbidsStale && window > 0 && freshness.staleness <= window
    }
}
