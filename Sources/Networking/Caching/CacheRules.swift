import Foundation
import FoundationNetworking
internal import OpenSSLCrypto

/// The rules for storing and updating responses
/// ([RFC 9111 §3](https://www.rfc-editor.org/rfc/rfc9111#section-3)).
enum CacheRules {
    /// [RFC 9110 §15.1](https://www.rfc-editor.org/rfc/rfc9110#section-15.1), without partial
    /// responses and redirects, which are never stored.
    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        [200, 203, 204, 404, 405, 410, 414, 501].contains(status)
    }

    /// The response to a request with credentials is stored only if its `Cache-Control` allows
    /// that, as in a shared cache ([RFC 9111
    /// §3.5](https://www.rfc-editor.org/rfc/rfc9111#section-3.5)), or with `private`.
    static func isStorable(_ response: HTTPResponse, hasCredentials: Bool) -> Bool {
        switch response.status {
        // A redirect belongs to a request that the client may have to follow. The challenges of 401
        // and 407 are for one request only.
        case 206, 300...399, 401, 407: return false
        case 200...599: break
        default: return false
        }
        let directives = CacheDirectives(response.headers.values(for: "Cache-Control"))
        guard !directives.isMalformed, allowsStorage(directives, response.status) else { return false }
        if hasCredentials, !allowsCredentials(directives) { return false }
        let isCacheable =
            isHeuristicallyCacheable(response.status) || response.headers["Expires"] != nil
            || ["max-age", "public", "private"].contains(where: directives.contains)
        return isCacheable && isWellFormed(response)
    }

    /// [RFC 9111 §5.2.2.3](https://www.rfc-editor.org/rfc/rfc9111#section-5.2.2.3).
    private static func allowsStorage(_ directives: CacheDirectives, _ status: Int) -> Bool {
        guard directives.contains("must-understand") else { return !directives.contains("no-store") }
        return isHeuristicallyCacheable(status)
    }

    private static func allowsCredentials(_ directives: CacheDirectives) -> Bool {
        // With an argument, `private` is about some fields, and not about the response.
        directives.containsUnqualified("private")
            || ["public", "must-revalidate", "s-maxage"].contains(where: directives.contains)
    }

    /// Only the package's own transports are known to reject malformed responses.
    private static func isWellFormed(_ response: HTTPResponse) -> Bool {
        let areFieldsValid = [response.headers, response.trailers].allSatisfy { fields in
            fields.allSatisfy { HTTPSyntax.isToken($0.name) && HTTPSyntax.isFieldValue($0.value) }
        }
        guard areFieldsValid else { return false }
        let lengths = Set(response.headers.values(for: "Content-Length").map(ByteComparedString.init))
        // A decoded body has another length.
        guard !lengths.isEmpty, response.headers["Content-Encoding"] == nil else { return true }
        return lengths == [ByteComparedString(String(response.body.count))]
    }

    static func isUseful(_ stored: CachedResponse) -> Bool {
        let freshness = CacheFreshness(stored, at: stored.responseTime)
        return freshness.lifetime > 0 || freshness.staleWhileRevalidate > 0 || freshness.staleIfError > 0
            || stored.response.hasValidator
    }
}

extension HTTPResponse {
    var hasValidator: Bool { headers["ETag"] != nil || headers["Last-Modified"] != nil }

    /// [RFC 9111 §3.1](https://www.rfc-editor.org/rfc/rfc9111#section-3.1).
    var withoutConnectionFields: Self {
        var response = self
        let nominated = headers.values(for: "Connection").flatMap { $0.asciiOnly.split(separator: ",") }
            .map(\.trimmingHTTPWhitespace)
        let removed = Self.connectionFields.map { $0[...] } + nominated.prefix(64)
        response.headers = headers.without(removed)
        return response
    }

    private static let connectionFields = [
        "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
        "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade",
    ]

    /// The fields that describe the stored body, which a 304 doesn't have.
    private static let bodyFields = [
        "Content-Length", "Content-Encoding", "Content-Type", "Content-Range", "Content-Digest", "Transfer-Encoding",
    ]

    /// [RFC 9111 §3.2](https://www.rfc-editor.org/rfc/rfc9111#section-3.2).
    mutating func update(with notModified: HTTPResponse) {
        let fields = notModified.withoutConnectionFields.headers.without(Self.bodyFields)
        // The age starts again, even if the 304 has no such fields.
        headers = HTTPHeaders(headers.without(["Age", "Date"] + fields.map(\.name)) + Array(fields))
    }

    /// [RFC 9111 §4.3.4](https://www.rfc-editor.org/rfc/rfc9111#section-4.3.4).
    func isConfirmed(by notModified: HTTPResponse) -> Bool {
        if let tag = notModified.headers["ETag"] {
            return headers["ETag"].map { EntityTag.isConfirmed($0, by: tag) } ?? false
        }
        guard let date = notModified.headers["Last-Modified"], let own = headers["Last-Modified"] else { return true }
        return date.utf8.elementsEqual(own.utf8)
    }
}

/// The conditions that a request sets for stored responses
/// ([RFC 9111 §5.2.1](https://www.rfc-editor.org/rfc/rfc9111#section-5.2.1)).
struct CacheRequestRules {
    private(set) var ignoresCache = false
    private(set) var requiresValidation = false
    private(set) var requiresReload = false
    private(set) var isOnlyIfCached = false
    private var maxAge: TimeInterval?
    private var minFresh: TimeInterval?
    private var maxStale: TimeInterval?
    private var staleIfError: TimeInterval = 0

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

    /// [RFC 5861 §3](https://www.rfc-editor.org/rfc/rfc5861#section-3).
    func canRenew(_ freshness: CacheFreshness) -> Bool {
        freshness.staleWhileRevalidate > 0 && freshness.staleness <= freshness.staleWhileRevalidate
    }

    /// [RFC 5861 §4](https://www.rfc-editor.org/rfc/rfc5861#section-4).
    func allowsOnError(_ freshness: CacheFreshness) -> Bool {
        let window = max(staleIfError, freshness.staleIfError)
        return !requiresValidation && !freshness.forbidsStale && window > 0 && freshness.staleness <= window
    }
}

/// The age and the freshness of a stored response at one moment
/// ([RFC 9111 §4.2](https://www.rfc-editor.org/rfc/rfc9111#section-4.2)).
struct CacheFreshness {
    let age: TimeInterval
    /// Zero if the response is never fresh.
    let lifetime: TimeInterval
    let requiresValidation: Bool
    let forbidsStale: Bool
    let staleWhileRevalidate: TimeInterval
    let staleIfError: TimeInterval

    private static let heuristicFraction = 0.1
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

    var staleness: TimeInterval { isFresh ? 0 : max(age - lifetime, .leastNonzeroMagnitude) }

    var isFresh: Bool { lifetime > age }

    var ageField: String { String(min(Int(clamping: age), CacheDirectives.maximumSeconds)) }

    // MARK: Age

    /// [RFC 9111 §4.2.3](https://www.rfc-editor.org/rfc/rfc9111#section-4.2.3).
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

    /// [RFC 9111 §4.2.1](https://www.rfc-editor.org/rfc/rfc9111#section-4.2.1).
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

/// The directives of a message's `Cache-Control` fields
/// ([RFC 9111 §5.2](https://www.rfc-editor.org/rfc/rfc9111#section-5.2)).
///
/// Of two readings, the stricter one applies: contradictory or invalid numbers don't make a
/// response fresh, and a field that isn't a list of directives forbids storing.
struct CacheDirectives {
    enum Seconds: Equatable {
        case absent, invalid
        case value(Int)

        var interval: Double? { if case .value(let seconds) = self { Double(seconds) } else { nil } }
    }

    /// The largest number of seconds; larger ones mean the same
    /// ([RFC 9111 §1.2.2](https://www.rfc-editor.org/rfc/rfc9111#section-1.2.2)).
    static let maximumSeconds = 1 << 31

    private static let maximumLength = 4_096
    private static let maximumCount = 64

    /// The arguments of each directive, `nil` for a directive without one, by lowercase name.
    private var arguments: [String: [String?]] = [:]
    private(set) var isMalformed = false

    init(_ fields: [String]) {
        isMalformed = !read(fields)
    }

    private mutating func read(_ fields: [String]) -> Bool {
        var (length, count) = (0, 0)
        for field in fields {
            length += field.utf8.count
            guard length <= Self.maximumLength, let members = Self.members(of: field.asciiOnly) else { return false }
            count += members.count
            guard count <= Self.maximumCount, members.allSatisfy({ add($0) }) else { return false }
        }
        return true
    }

    func contains(_ name: String) -> Bool { arguments[name] != nil }

    func containsUnqualified(_ name: String) -> Bool { arguments[name]?.contains(nil) ?? false }

    /// Returns the number of seconds of a directive; `invalid` if several contradict each other.
    func seconds(_ name: String) -> Seconds {
        guard let all = arguments[name] else { return .absent }
        let numbers = Set(all.map { $0.flatMap(Self.seconds) })
        guard numbers.count == 1, let number = numbers.first ?? nil else { return .invalid }
        return .value(number)
    }

    /// Accepts a quoted number, which a sender must not send.
    static func seconds(_ text: String) -> Int? {
        var digits = text.utf8[...]
        if digits.count >= 2, digits.first == UInt8(ascii: "\""), digits.last == UInt8(ascii: "\"") {
            digits = digits.dropFirst().dropLast()
        }
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return digits.reduce(0) { min($0 * 10 + Int($1 & 0x0F), maximumSeconds) }
    }

    /// Returns the members of a comma-separated list; `nil` if a quotation mark has no counterpart.
    static func members(of field: String) -> [Substring]? {
        let (members, isWhole) = HTTPSyntax.split(field, at: UInt8(ascii: ","))
        return isWhole ? members.filter { !$0.isEmpty } : nil
    }

    private mutating func add(_ member: Substring) -> Bool {
        let parts = member.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        let name = Substring(parts[0])
        let trimmed = name.trimmingHTTPWhitespace
        guard HTTPSyntax.isToken(trimmed) else { return false }
        // White space around the equals sign makes the argument invalid.
        let argument = parts.count == 1 ? nil : name.utf8.count == trimmed.utf8.count ? String(Substring(parts[1])) : ""
        arguments[trimmed.lowercased(), default: []].append(argument)
        return true
    }
}

/// Comparisons of entity tags
/// ([RFC 9110 §8.8.3.2](https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3.2)).
enum EntityTag {
    static func areWeaklyEqual(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
        left.utf8.dropFirst(isWeak(left) ? 2 : 0).elementsEqual(right.utf8.dropFirst(isWeak(right) ? 2 : 0))
    }

    /// [RFC 9111 §4.3.4](https://www.rfc-editor.org/rfc/rfc9111#section-4.3.4).
    static func isConfirmed(_ stored: String, by received: String) -> Bool {
        isWeak(received) ? areWeaklyEqual(stored, received) : stored.utf8.elementsEqual(received.utf8)
    }

    static func isListed(_ tag: String, in field: String) -> Bool {
        if field == "*" { return true }
        guard field.utf8.count <= 8_192, let members = CacheDirectives.members(of: field) else { return false }
        return members.contains { areWeaklyEqual($0, tag) }
    }

    private static func isWeak(_ tag: some StringProtocol) -> Bool { tag.utf8.starts(with: "W/".utf8) }
}
