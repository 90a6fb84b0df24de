import Foundation
internal import OpenSSLCrypto

/// The age and the freshness of a stored response at one moment
/// ([RFC 9111 §4.2](https://www.rfc-editor.org/rfc/rfc9111#section-4.2)).
struct CacheFreshness {
    /// The age in seconds.
    let age: TimeInterval
    /// The freshness lifetime in seconds; zero if the response is never fresh.
    let lifetime: TimeInterval
    /// A Boolean value that indicates whether the response can't be used without validation.
    let requiresValidation: Bool
    /// A Boolean value that indicates whether the response can't be used once it's stale.
    let forbidsStale: Bool
    /// The number of seconds for which the stale response is used while it's revalidated.
    let staleWhileRevalidate: TimeInterval
    /// The number of seconds for which the stale response is used if the server fails.
    let staleIfError: TimeInterval

    /// The fraction of the time since the last modification that counts as fresh.
    private static let heuristicFraction = 0.1
    /// The longest heuristic lifetime.
    private static let maximumHeuristicLifetime: TimeInterval = 86_400

    init(_ stored: CachedResponse, at now: Date) {
        let headers = stored.response.headers
        let directives = CacheDirectives(headers.values(for: "Cache-Control"))
        let received = stored.responseTime
        let date = headers["Date"].flatMap { Self.date($0, now: received) } ?? received
        age = Self.age(stored, date: date, at: now)
        lifetime = Self.lifetime(stored.response, directives, date: date, received: received)
        requiresValidation = directives.contains("no-cache")
        forbidsStale = requiresValidation || directives.contains("must-revalidate")
        staleWhileRevalidate = directives.seconds("stale-while-revalidate").interval ?? 0
        staleIfError = directives.seconds("stale-if-error").interval ?? 0
    }

    /// The number of seconds since the response became stale; zero while it's fresh.
    var staleness: TimeInterval { isFresh ? 0 : max(age - lifetime, .leastNonzeroMagnitude) }

    /// A Boolean value that indicates whether the response is fresh.
    var isFresh: Bool { lifetime > age }

    /// The value of the `Age` field.
    var ageField: String { String(min(Int(clamping: age), CacheDirectives.maximumSeconds)) }

    // MARK: Age

    /// Returns the current age
    /// ([RFC 9111 §4.2.3](https://www.rfc-editor.org/rfc/rfc9111#section-4.2.3)).
    private static func age(_ stored: CachedResponse, date: Date, at now: Date) -> TimeInterval {
        let resident = now.timeIntervalSince(stored.responseTime)
        // The clock was set back, so the age is unknown.
        guard resident >= 0 else { return .infinity }
        let apparent = max(0, stored.responseTime.timeIntervalSince(date))
        let delay = max(0, stored.responseTime.timeIntervalSince(stored.requestTime))
        return max(apparent, ageValue(stored.response.headers) + delay) + resident
    }

    /// Returns the first member of the first `Age` field; zero if it isn't a number
    /// ([RFC 9111 §5.1](https://www.rfc-editor.org/rfc/rfc9111#section-5.1)).
    private static func ageValue(_ headers: HTTPHeaders) -> TimeInterval {
        guard let field = headers["Age"], field.utf8.count <= 256 else { return 0 }
        let first = field.utf8.prefix { $0 != UInt8(ascii: ",") }
        let text = String(Substring(first).trimmingHTTPWhitespace)
        guard text.utf8.first != UInt8(ascii: "\"") else { return 0 }
        return TimeInterval(CacheDirectives.seconds(text) ?? 0)
    }

    // MARK: Lifetime

    /// Returns the freshness lifetime of a private cache
    /// ([RFC 9111 §4.2.1](https://www.rfc-editor.org/rfc/rfc9111#section-4.2.1)).
    private static func lifetime(
        _ response: HTTPResponse,
        _ directives: CacheDirectives,
        date: Date,
        received: Date
    ) -> TimeInterval {
        let maxAge = directives.seconds("max-age")
        guard maxAge == .absent else { return maxAge.interval ?? 0 }
        let expires = Set(response.headers.values(for: "Expires").map(ByteComparedString.init))
        guard expires.isEmpty else {
            guard expires.count == 1, let end = expires.first.flatMap({ Self.date($0.text, now: received) }) else {
                return 0
            }
            return min(max(0, end.timeIntervalSince(date)), TimeInterval(CacheDirectives.maximumSeconds))
        }
        guard CacheRules.isHeuristicallyCacheable(response.status) || directives.contains("public"),
            let modified = response.headers["Last-Modified"].flatMap({ Self.date($0, now: received) })
        else { return 0 }
        return min(max(0, date.timeIntervalSince(modified)) * heuristicFraction, maximumHeuristicLifetime)
    }

    /// Parses a date, ignoring the case of its letters
    /// ([RFC 9111 §4.2](https://www.rfc-editor.org/rfc/rfc9111#section-4.2)).
    private static func date(_ text: String, now: Date) -> Date? {
        guard text.utf8.count <= 64 else { return nil }
        let text = text.asciiOnly[...].trimmingHTTPWhitespace
        return HTTPDate.parse(text, now: now) ?? HTTPDate.parse(usualCase(text), now: now)
    }

    private static func usualCase(_ text: Substring) -> String {
        text.split(separator: " ", omittingEmptySubsequences: false)
            .map { word in
                guard !word.equalsIgnoringASCIICase("GMT") else { return "GMT" }
                return word.split(separator: "-", omittingEmptySubsequences: false)
                    .map { $0.prefix(1).uppercased() + $0.dropFirst().lowercased() }
                    .joined(separator: "-")
            }
            .joined(separator: " ")
    }
}
