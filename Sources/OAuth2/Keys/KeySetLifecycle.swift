import Foundation
import FoundationNetworking
import Networking
import TokenGeneration

final class LoadedKeys: Sendable {
    let keys: JWKSet
    /// The number of the distinct set, for reuse of values derived from it.
    let version: Int
    /// The number of the fetch.
    let load: Int

    init(_ keys: JWKSet, version: Int, load: Int) {
        self.keys = keys
        self.version = version
        self.load = load
    }
}

/// The state machine of a key set, without side effects.
struct KeySetLifecycle {
    struct Limits {
        var refreshAhead: Duration
        var cooldown: Duration
        var staleIfError: Duration
    }

    enum Step {
        /// Use these valid keys.
        case use(LoadedKeys)
        /// Use these valid keys, and start a refresh in the background.
        case useAndStart(LoadedKeys, refresh: Int)
        /// Start a refresh, and wait for it.
        case start(refresh: Int)
        /// Wait for the pending refresh.
        case join(refresh: Int)
        /// Fail: keys are missing, and it's too early for another request.
        case fail(OAuth2Error)
    }

    private struct Hold {
        var keys: LoadedKeys
        var aheadFrom: ContinuousClock.Instant
        var freshUntil: ContinuousClock.Instant
        var goodUntil: ContinuousClock.Instant
    }

    let limits: Limits
    private var hold: Hold?
    private(set) var refresh: Int?
    private var refreshCount = 0
    private var attempted: ContinuousClock.Instant?
    /// The error of the latest attempt, if it failed.
    private(set) var failure: OAuth2Error?
    private var failureCount = 0

    init(limits: Limits) {
        self.limits = limits
    }

    var keys: LoadedKeys? { hold?.keys }

    func isStale(at now: ContinuousClock.Instant) -> Bool { hold.map { now >= $0.freshUntil } ?? false }

    mutating func step(at now: ContinuousClock.Instant) -> Step {
        guard let hold, now < hold.goodUntil else {
            if let refresh { return .join(refresh: refresh) }
            if let failure, isPausing(at: now) { return .fail(failure) }
            return .start(refresh: takeOff())
        }
        guard now >= hold.aheadFrom else { return .use(hold.keys) }
        // While the issuer fails, callers use the existing keys without waiting.
        if now >= hold.freshUntil, failure == nil {
            return refresh.map { .join(refresh: $0) } ?? .start(refresh: takeOff())
        }
        guard refresh == nil, failure == nil || !isPausing(at: now) else { return .use(hold.keys) }
        return .useAndStart(hold.keys, refresh: takeOff())
    }

    /// For a caller whose token needs a key that the given load doesn't contain.
    mutating func step(at now: ContinuousClock.Instant, beyond load: Int) -> Step {
        if let hold, hold.keys.load > load { return .use(hold.keys) }
        if let refresh { return .join(refresh: refresh) }
        guard isPausing(at: now) else { return .start(refresh: takeOff()) }
        if let failure { return .fail(failure) }
        return hold.map { .use($0.keys) } ?? .start(refresh: takeOff())
    }

    /// `isSame` indicates whether the keys are those of the previous refresh.
    mutating func landed(
        _ refresh: Int,
        _ keys: JWKSet,
        isSame: Bool,
        lifetime: Duration,
        at now: ContinuousClock.Instant
    ) -> LoadedKeys {
        let latest = hold?.keys
        let load = (latest?.load ?? 0) + 1
        let loaded =
            if isSame, let latest {
                LoadedKeys(latest.keys, version: latest.version, load: load)
            } else {
                LoadedKeys(keys, version: load, load: load)
            }
        guard self.refresh == refresh else { return loaded }
        let freshUntil = now + lifetime
        hold = Hold(
            keys: loaded,
            aheadFrom: freshUntil - min(limits.refreshAhead, lifetime / 2),
            freshUntil: freshUntil,
            goodUntil: freshUntil + limits.staleIfError
        )
        self.refresh = nil
        attempted = now
        failure = nil
        failureCount = 0
        return loaded
    }

    /// Takes the failure of a refresh; returns `false` if the refresh isn't the pending one.
    @discardableResult
    mutating func failed(_ refresh: Int, _ error: OAuth2Error, at now: ContinuousClock.Instant) -> Bool {
        guard self.refresh == refresh else { return false }
        self.refresh = nil
        attempted = now
        failure = error
        failureCount += 1
        return true
    }

    private mutating func takeOff() -> Int {
        refreshCount += 1
        refresh = refreshCount
        return refreshCount
    }

    /// After failures the delay grows from one second to the cooldown, unless the server requests a
    /// longer one.
    private func isPausing(at now: ContinuousClock.Instant) -> Bool {
        guard let attempted else { return false }
        guard let failure else { return now < attempted + limits.cooldown }
        let backoff = Retry.Backoff.doubling(.seconds(1), to: limits.cooldown)
        let asked = min(failure.retryAfter ?? .zero, max(limits.cooldown, .seconds(300)))
        return now < attempted + backoff.delay(retry: failureCount, atLeast: asked)
    }
}

/// Keys and validators ([RFC 9110 §13](https://www.rfc-editor.org/rfc/rfc9110#section-13)).
struct KeySetCopy: Sendable {
    /// The maximum length of an entity tag that is sent back, in bytes.
    private static let maximumTagSize = 1 << 10

    let keys: JWKSet
    let url: URL
    /// The current header fields about the response's validity.
    let headers: HTTPHeaders
    let conditions: [(name: String, value: String)]

    /// Creates a copy, or `nil` if the server forbids storing the response.
    init?(_ keys: JWKSet, from url: URL, _ headers: HTTPHeaders, at date: Date) {
        let control = headers.values(for: "Cache-Control").joined(separator: ",").asciiOnly.lowercased()
        guard !control.contains("no-store") else { return nil }
        self.init(keys, url, headers, Self.conditions(headers, at: date))
    }

    private init(_ keys: JWKSet, _ url: URL, _ headers: HTTPHeaders, _ conditions: [(name: String, value: String)]) {
        (self.keys, self.url, self.conditions) = (keys, url, conditions)
        let kept = ["cache-control", "expires", "date", "age"]
        self.headers = HTTPHeaders(headers.filter { kept.contains(where: $0.name.equalsIgnoringASCIICase) })
    }

    /// A 304 response replaces fields, but not the validators, because it confirms what they
    /// identify ([RFC 9111 §3.2](https://www.rfc-editor.org/rfc/rfc9111#section-3.2)).
    func confirmed(by fields: HTTPHeaders) -> Self {
        var headers = headers
        // The age of the first response says nothing about this one.
        for name in ["Age", "Date"] { headers[name] = nil }
        for field in fields { headers[field.name] = nil }
        for field in fields { headers.append(name: field.name, value: field.value) }
        return Self(keys, url, headers, conditions)
    }

    private static func conditions(_ headers: HTTPHeaders, at date: Date) -> [(name: String, value: String)] {
        var conditions: [(name: String, value: String)] = []
        if let tag = headers["ETag"], isEntityTag(tag) { conditions.append(("If-None-Match", tag)) }
        if let text = headers["Last-Modified"], let changed = HTTPDate.parse(text, now: date) {
            // Two versions may have the same date. Only a date well before the response's tells
            // them apart (RFC 9110 §8.8.2.2).
            let made = headers["Date"].flatMap { HTTPDate.parse($0, now: date) } ?? date
            if made.timeIntervalSince(changed) >= 60 {
                conditions.append(("If-Modified-Since", HTTPDate.format(changed)))
            }
        }
        return conditions
    }

    /// `"…"` or `W/"…"` ([RFC 9110 §8.8.3](https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3)).
    private static func isEntityTag(_ text: String) -> Bool {
        // Other texts would be compared by characters, in quadratic time for combining ones.
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return false }
        let opaque = text.hasPrefix("W/") ? text.dropFirst(2) : text[...]
        guard opaque.utf8.count >= 2, opaque.utf8.count <= maximumTagSize, opaque.first == "\"", opaque.last == "\""
        else { return false }
        return opaque.utf8.dropFirst().dropLast().allSatisfy { $0 == 0x21 || (0x23...0x7E).contains($0) }
    }
}

struct KeySetSource: Sendable {
    struct Response: Sendable {
        let keys: JWKSet
        /// The key set as sent; `nil` if the server confirmed the copy.
        let document: Data?
        let lifetime: Duration
        let copy: KeySetCopy?
    }

    let locate: @Sendable () async throws -> URL
    let client: NetworkClient
    let options: RemoteKeySet.Options

    /// Fetches new keys, or renews the lifetime of the latest ones if the server confirms them.
    func fetch(_ url: URL, unlike copy: KeySetCopy?) async throws -> Response {
        guard let origin = HTTPOrigin(url), origin.isConfidential else {
            throw OAuth2Error(
                .insecureTransport,
                "the key set's URL must be https; over http, an attacker could add keys"
            )
        }
        var request = URLRequest(url: url)
        request.setValue(options.accept, forHTTPHeaderField: "Accept")
        let copy = copy.flatMap { $0.url == url && !$0.conditions.isEmpty ? $0 : nil }
        for (name, value) in copy?.conditions ?? [] { request.setValue(value, forHTTPHeaderField: name) }
        let response: HTTPResponse
        do {
            response = try await client.response(
                for: request,
                options: RequestOptions(
                    redirects: .never,
                    timeout: options.timeout,
                    maximumBodySize: min(options.maximumSize, JSONObject.maximumSize)
                )
            )
        } catch let error as ServerError where error.errorCode == 304 {
            guard let copy else {
                throw OAuth2Error(
                    .protocolViolation,
                    "the key set's server responded with 304 to an unconditional request",
                    status: 304
                )
            }
            let confirmed = copy.confirmed(by: error.headers)
            return Response(
                keys: copy.keys,
                document: nil,
                lifetime: lifetime(confirmed.headers),
                copy: confirmed
            )
        }
        guard response.status == 200 else {
            throw OAuth2Error(
                .protocolViolation,
                "the key set's server responded with \(response.status) instead of 200",
                status: response.status
            )
        }
        let keys: JWKSet
        do {
            keys =
                try options.read?(response)
                ?? JWKSet(parsing: response.body, maximumRSAKeySize: options.maximumRSAKeySize)
        } catch {
            throw OAuth2Error(
                .protocolViolation,
                "the response isn't a key set: \((error as? TokenError)?.message ?? "see the cause")",
                status: 200,
                cause: error
            )
        }
        return Response(
            keys: keys,
            document: response.body,
            lifetime: lifetime(response.headers),
            copy: KeySetCopy(keys, from: url, response.headers, at: options.timeSource.date())
        )
    }

    private func lifetime(_ headers: HTTPHeaders) -> Duration {
        guard let stated = CacheLifetime.read(headers, at: options.timeSource.date()) else {
            return max(options.lifetime, .zero)
        }
        return min(max(stated, options.lifetimeBounds.lowerBound), options.lifetimeBounds.upperBound)
    }
}
