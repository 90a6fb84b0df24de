public import Foundation
import FoundationNetworking
public import Networking
public import OAuth2
import OpenSSLCrypto
public import TokenGeneration

/// The status lists of an issuer, fetched and cached, to reject its revoked tokens
/// ([Token Status List
/// §8.3](https://datatracker.ietf.org/doc/html/draft-ietf-oauth-status-list-20#section-8.3)).
///
/// ```swift
/// verifier.statusLists = CachedStatusLists(
///     at: [URL(string: "https://id.example/statuslists/")!],
///     issuer: "https://id.example",
///     keys: keys,
///     outage: .reject
/// )
/// ```
///
/// A list is fetched when a token refers to it, once for all callers, and again after its lifetime.
/// A revocation is noticed within that time. If the server sent an `ETag` or a `Last-Modified`, the
/// request is conditional until the issuer's keys change. A list must be signed, be for the URI
/// that the token has, and not have expired. An older list never replaces a newer one. A token that
/// isn't in its list, or whose list isn't available, is rejected.
public final class CachedStatusLists: Sendable {
    private struct Verified: Sendable {
        let token: StatusListToken
        /// The version of the issuer's keys that verified the token.
        let keyVersion: Int
    }

    private typealias Document = FetchedDocument<Verified>

    private let locations: StatusListLocations
    private let issuer: String
    private let verifier: RemoteJWTVerifier
    private let client: NetworkClient
    private let options: Options
    private let lists: SingleFlightCache<ByteComparedString, Document>

    /// Creates a cache of lists that are signed with an issuer's keys, without fetching anything
    /// yet.
    ///
    /// - Parameters:
    ///   - locations: The URLs from which lists may be fetched: one list, or all those in a folder
    ///     if the URL ends in a slash. They must be https, except for loopback addresses. An empty
    ///     array rejects every token with a status.
    ///   - issuer: The issuer of the lists. A list may omit it.
    ///   - keys: The keys of the issuer.
    ///   - outage: The handling of tokens while their list can't be renewed.
    ///   - client: The client for requests of the lists.
    ///   - options: The accepted statuses, the lifetime of lists and the limits of requests.
    public init(
        at locations: [URL],
        issuer: String,
        keys: IssuerKeys,
        outage: OutageRule,
        client: NetworkClient = NetworkClient(),
        options: Options = Options()
    ) {
        self.locations = StatusListLocations(locations)
        self.issuer = issuer
        verifier = RemoteJWTVerifier(keys: keys.of(issuer: issuer))
        self.client = client
        self.options = options
        var policy = SingleFlightCache<ByteComparedString, Document>.Policy(timeout: max(options.timeout, .zero))
        policy.timeoutError = {
            OAuth2Error(.serverUnreachable, "the status list's server didn't respond in time", cause: $0)
        }
        policy.capacity = max(options.capacity, 0)
        policy.lifetime = { Self.lifetime(of: $0.content.token, options) }
        policy.staleLifetime = outage.staleLifetime
        let interval = max(options.retryInterval, .zero)
        policy.cooldown = interval
        policy.pause = { error, _ in max(interval, min((error as? OAuth2Error)?.retryAfter ?? .zero, .seconds(300))) }
        policy.keepsOutcomes = true
        lists = SingleFlightCache(timeSource: options.timeSource, policy: policy)
    }

    var count: Int { lists.count }

    /// Checks the status of a token whose claims have been verified.
    ///
    /// - Parameter claims: The token's claims.
    /// - Throws: `TokenError` with the code `missingClaim` if the token has no status but must have
    ///   one, `malformedClaim` if it isn't a reference to a list, `statusRejected` if the status
    ///   isn't accepted; as ``status(of:)`` does.
    public func check(_ claims: JSONObject) async throws {
        guard let reference = try claims.statusListReference() else {
            guard !options.requiresStatus else {
                throw TokenError(.missingClaim, "the claim “status” is missing, but the verifier requires it")
            }
            return
        }
        let status = try await status(of: reference)
        guard options.acceptedStatuses.contains(status) else {
            throw TokenError(.statusRejected, "the token's status is \(status)")
        }
    }

    /// Returns the status of a token, possibly from a cached list.
    ///
    /// - Parameter reference: The place of the token's status.
    /// - Returns: The status.
    /// - Throws: `TokenError` with the code `statusRejected` if the list isn't at an allowed
    ///   location or has no entry for the token; `OAuth2Error` with the code `serverUnreachable`,
    ///   `serverTransient` or `protocolViolation` if the list isn't available or isn't valid, and
    ///   with those of the keys; `CancellationError` if the caller is cancelled while it waits.
    public func status(of reference: StatusListReference) async throws -> TokenStatus {
        let url = try locations.url(of: reference.uri)
        var token = try await token(reference.uri, url)
        if token.list[reference.index] == nil {
            // The issuer may have enlarged the list since.
            token = try await self.token(reference.uri, url) { $0.content.token.list[reference.index] == nil }
        }
        return try token.status(of: reference)
    }

    // MARK: Lists

    private func token(
        _ uri: String,
        _ url: URL,
        unless isOutdated: ((Document) -> Bool)? = nil
    ) async throws -> StatusListToken {
        let document = try await lists.value(for: ByteComparedString(uri), unless: isOutdated) { [self] latest in
            do { return try await self.document(uri, url, after: latest) } catch {
                throw OAuth2Error(fetching: "the status list", failure: error, at: options.timeSource.date())
            }
        }
        // A stale list may have reached the end that its issuer has set.
        guard !hasExpired(document.content.token) else {
            throw OAuth2Error(.serverUnreachable, "the status list has expired and couldn't be renewed")
        }
        return document.content.token
    }

    private func document(_ uri: String, _ url: URL, after latest: Document?) async throws -> Document {
        let keyVersion = try await verifier.prepare()
        let latest = latest.flatMap { hasExpired($0.content.token) ? nil : $0 }
        return try await client.document(
            at: url,
            accept: StatusListToken.mediaType,
            // The issuer may have withdrawn the key of a list that its server confirms.
            after: latest?.content.keyVersion == keyVersion ? latest : nil,
            options: RequestOptions(
                redirects: options.redirects,
                timeout: options.timeout,
                maximumBodySize: options.maximumTokenSize
            ),
            timeSource: options.timeSource
        ) { response in
            let token = try await verified(response, uri)
            // An attacker, or an old cache on the way, may present a list from before a revocation.
            if let latest, latest.content.token.issuedAt > token.issuedAt { return latest.content }
            return Verified(token: token, keyVersion: keyVersion)
        }
    }

    private func verified(_ response: HTTPResponse, _ uri: String) async throws -> StatusListToken {
        guard response.status == 200, response.hasMediaType(StatusListToken.mediaType) else {
            throw OAuth2Error(
                .protocolViolation,
                "the status list's server responded with \(response.status), or another media type than "
                    + StatusListToken.mediaType,
                status: response.status
            )
        }
        var policy = ValidationPolicy.statusList(
            uri: uri,
            issuer: issuer,
            maximumTokenSize: options.maximumTokenSize
        )
        policy.currentDate = options.timeSource.date
        do {
            let token = try await verifier.verify(String(decoding: response.body, as: UTF8.self), against: policy)
            return try StatusListToken(token, maximumListSize: options.maximumListSize)
        } catch let error as TokenError {
            throw OAuth2Error(
                .protocolViolation,
                "the status list token is invalid: \(error.message)",
                status: response.status,
                cause: error
            )
        }
    }

    // MARK: Times

    /// The one of the policy.
    private static let leeway = Duration.seconds(60)

    private static func lifetime(of token: StatusListToken, _ options: Options) -> Duration {
        let bounds = options.lifetimeBounds
        let lifetime = min(max(token.timeToLive ?? .seconds(300), bounds.lowerBound), bounds.upperBound)
        guard let expiration = token.expiration else { return lifetime }
        let left = Duration(clampingSeconds: expiration.timeIntervalSince(options.timeSource.date())) + leeway
        return max(min(lifetime, left), .zero)
    }

    private func hasExpired(_ token: StatusListToken) -> Bool {
        guard let expiration = token.expiration else { return false }
        return options.timeSource.date() >= expiration.addingTimeInterval(Self.leeway / .seconds(1))
    }

    /// The handling of tokens while their list can't be renewed.
    public struct OutageRule: Sendable, Hashable {
        let staleLifetime: Duration

        /// Tokens are rejected when the list has exceeded its lifetime.
        public static let reject = Self(staleLifetime: .zero)

        /// The last valid list stays in use, but never after its own expiry.
        ///
        /// A token that is revoked during an outage is accepted for that time. An attacker who can
        /// block requests to the issuer can cause an outage.
        ///
        /// - Parameter duration: The maximum time after the list's lifetime.
        /// - Returns: The rule.
        public static func acceptStale(for duration: Duration) -> Self {
            // Longer times would exceed the clock's range.
            Self(staleLifetime: min(max(duration, .zero), .seconds(315_360_000)))
        }
    }

    /// The accepted statuses, the lifetime of lists and the limits of requests.
    public struct Options: Sendable {
        /// The statuses with which a token is accepted.
        ///
        /// The default is `TokenStatus.valid` alone, so undefined statuses are rejected.
        public var acceptedStatuses: Set<TokenStatus> = [.valid]
        /// A Boolean value that indicates whether a token without a status is rejected.
        ///
        /// The default is `true`.
        public var requiresStatus = true
        /// The bounds of the lifetime that an issuer can set with `ttl`.
        ///
        /// The default is 1 minute to 1 hour. A revocation is noticed after the lifetime. Without
        /// `ttl`, the lifetime is 5 minutes within these bounds. `exp` always ends it.
        public var lifetimeBounds: ClosedRange<Duration> = .seconds(60) ... .seconds(3600)
        /// The time between requests for a list that can't be fetched, and the minimum age of a
        /// list that is fetched again because it has no entry for a token.
        ///
        /// The default is 10 seconds. The server can ask for up to 5 minutes with `Retry-After`.
        public var retryInterval: Duration = .seconds(10)
        /// The timeout of a request.
        ///
        /// The default is 5 seconds.
        public var timeout: Duration = .seconds(5)
        /// The maximum size of a status list token in bytes.
        ///
        /// The default is 1 MiB.
        public var maximumTokenSize = 1_048_576
        /// The maximum size of a decompressed list in bytes.
        ///
        /// The default is 4 MiB.
        public var maximumListSize = 4_194_304
        /// The maximum number of cached lists.
        ///
        /// The default is 100.
        public var capacity = 100
        /// The redirects that are followed.
        ///
        /// The default is those to the same origin.
        public var redirects: RedirectPolicy = .sameOrigin
        /// The source of time, which should be the client's.
        public var timeSource: TimeSource = .system

        /// Creates options with their defaults.
        public init() {}
    }
}

/// The URI of a list comes from a token: without this list, a malicious issuer could make this
/// server send requests to any host (SSRF).
struct StatusListLocations: Sendable {
    private struct Place {
        let text: String
        let origin: HTTPOrigin
        let path: String
    }

    private let places: [Place]

    init(_ urls: [URL]) {
        places = urls.compactMap { url in
            guard let origin = HTTPOrigin(url) else { return nil }
            let path = URLComponents(url: url, resolvingAgainstBaseURL: true)?.percentEncodedPath ?? ""
            return Place(text: url.absoluteString, origin: origin, path: path.isEmpty ? "/" : path)
        }
    }

    /// Throws `statusRejected` if the list must not be fetched.
    func url(of uri: String) throws(TokenError) -> URL {
        guard let url = URL(string: uri), let origin = HTTPOrigin(url), origin.isConfidential,
            let parts = URLComponents(string: uri), parts.user == nil, parts.password == nil, parts.fragment == nil
        else {
            throw TokenError(.statusRejected, "the token's status list must have an https URL without fragment")
        }
        let path = parts.percentEncodedPath
        let isAllowed = places.contains { place in
            guard place.origin == origin else { return false }
            if place.text.isExactly(uri) { return true }
            return place.path.hasSuffix("/") && path.utf8.starts(with: place.path.utf8)
                && parts.percentEncodedQuery == nil && !Self.leavesFolder(path)
        }
        guard isAllowed else {
            throw TokenError(.statusRejected, "the token's status list isn't at an allowed location")
        }
        return url
    }

    /// Returns whether servers may read a path as one outside of its folder.
    private static func leavesFolder(_ path: String) -> Bool {
        let path = path.lowercased()
        return path.contains("%2f") || path.contains("%5c") || path.contains("\\")
            || path.split(separator: "/").contains { segment in
                // Some servers ignore what follows a semicolon.
                let name = segment.replacing("%2e", with: ".").replacing("%3b", with: ";").prefix { $0 != ";" }
                return name == "." || name == ".."
            }
    }
}
