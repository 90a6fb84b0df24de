import Foundation
import FoundationNetworking
import Networking
import OAuth2
import OpenSSLCrypto
import TokenGeneration

/// Requests don't follow redirects, which would carry the workload's credential elsewhere.
struct PlatformEndpoint: Sendable {
    let name: String
    let environment: WorkloadEnvironment
    /// The way to get the permission that a rejected request lacks.
    var permission = "check the workload's permissions"
    var retries = PlatformRetries()
    /// Returns the error for a response that says more than its status, or `nil`.
    var explanation: @Sendable (ServerError) -> WorkloadIdentityError? = { _ in nil }
    var interceptors: [any Interceptor] = []

    /// The origin of the endpoint's tokens in messages.
    var origin: String { "the response of \(name)" }

    /// Sends a request that may be repeated, and returns its response with an expected status.
    func response(
        to request: URLRequest,
        until deadline: ContinuousClock.Instant?,
        on transport: (any HTTPTransport)? = nil,
        expecting statuses: Set<Int> = [200]
    ) async throws -> HTTPResponse {
        let timeLeft = deadline.map { $0 - environment.timeSource.now() } ?? retries.timeout
        do {
            let response = try await client(transport).response(
                for: request,
                options: RequestOptions(
                    redirects: .never,
                    timeout: min(timeLeft, retries.timeout),
                    maximumBodySize: 2 * PlatformToken.maximumSize
                )
            )
            guard statuses.contains(response.status) else {
                throw invalid("responded with the unexpected status \(response.status)")
            }
            return response
        } catch let error as ServerError {
            if statuses.contains(error.errorCode), let response = error.httpResponse { return response }
            if let explained = explanation(error) { throw explained }
            throw retries.isTransient(error) ? unavailable(error.errorCode) : rejected(error.errorCode)
        } catch let error as NetworkError {
            switch error.code {
            case .bodyTooLarge:
                throw WorkloadIdentityError(request: .tooLarge, "\(name) responded with too much", cause: error)
            case .invalidResponse:
                throw invalid("didn't respond with HTTP", cause: error)
            case .requestNotMade where error.cause is WorkloadIdentityError:
                throw error.cause ?? error
            case .tls:
                throw WorkloadIdentityError(
                    request: .insecureEndpoint,
                    "the TLS handshake with \(name) failed, so the credential wasn't sent",
                    cause: error
                )
            default:
                throw unavailable(nil, cause: error)
            }
        }
    }

    func invalid(_ problem: String, cause: (any Error)? = nil) -> WorkloadIdentityError {
        WorkloadIdentityError(request: .invalidResponse, "\(name) \(problem)", cause: cause)
    }

    private func client(_ given: (any HTTPTransport)?) throws(NetworkError) -> NetworkClient {
        let transport = if let given { given } else { try environment.platformTransport() }
        return NetworkClient(
            transport: transport,
            interceptors: [retries.policy(environment)] + interceptors,
            options: .init(timeSource: environment.timeSource, retryBudget: nil)
        )
    }

    private func unavailable(_ status: Int?, cause: (any Error)? = nil) -> WorkloadIdentityError {
        WorkloadIdentityError(
            request: .platformUnavailable,
            status.map { "\(name) keeps failing with status \($0); try again later" }
                ?? "\(name) couldn't be reached or didn't respond in time; check the network of this machine",
            status: status,
            cause: cause
        )
    }

    private func rejected(_ status: Int) -> WorkloadIdentityError {
        WorkloadIdentityError(
            request: .platformRejected,
            (300..<400).contains(status)
                ? "\(name) redirects, which isn't followed because it would disclose the workload's credential"
                : "\(name) rejects the request with status \(status); \(permission)",
            status: status
        )
    }

    struct TokenMembers: Sendable {
        var token = "access_token"
        /// The number of seconds until the expiry.
        var lifetime = "expires_in"
        /// The expiry in seconds since 1970 or in the format of RFC 3339, which takes precedence.
        var expiry: String?
    }

    // Numbers can be texts. The token is opaque: only its issuer and its audience interpret it.
    func accessToken(
        in response: HTTPResponse,
        _ members: TokenMembers = TokenMembers(),
        requested: ContinuousClock.Instant,
        for requirements: TokenRequirements
    ) throws(WorkloadIdentityError) -> AccessToken {
        guard let object = try? JSONObject(parsing: response.body), let value = object[members.token]?.string else {
            throw invalid("didn't respond with JSON that has “\(members.token)”; check what answers at its address")
        }
        if let type = object["token_type"], type.string?.lowercased() != "bearer" {
            throw invalid("responded with a token of another type than “Bearer”")
        }
        let expiry: ContinuousClock.Instant?
        if let name = members.expiry, let text = object[name] {
            let date = if let date = Self.timestamp(text.string ?? "") { date } else { try seconds(text, name) }
            expiry = self.expiry(date, in: response)
        } else {
            expiry = try object[members.lifetime].map { text throws(WorkloadIdentityError) in
                requested + Duration(clampingSeconds: try seconds(text, members.lifetime))
            }
        }
        return try bearerToken(in: value, (expiry, requested), for: requirements)
    }

    /// Converts the expiry in a response, in seconds since 1970.
    func expiry(_ date: Double, in response: HTTPResponse) -> ContinuousClock.Instant {
        // The machine's clock may be wrong, but both of these are the platform's.
        let now = environment.timeSource.date()
        let sent = response.headers["Date"].flatMap { HTTPDate.parse($0, now: now) } ?? now
        return environment.timeSource.now() + Duration(clampingSeconds: date - sent.timeIntervalSince1970)
    }

    /// Returns a bearer token whose expiry the response to a request states.
    func bearerToken(
        in text: String,
        _ stated: (expiry: ContinuousClock.Instant?, requested: ContinuousClock.Instant),
        for requirements: TokenRequirements
    ) throws(WorkloadIdentityError) -> AccessToken {
        try PlatformToken(origin: origin, step: .request, form: .opaque, type: AccessToken.bearer)
            .accessToken(in: text.utf8, stated: stated, for: requirements, environment.timeSource)
    }

    /// Returns the JWT in a response, whose audience must be the requested one.
    func jwt(
        in text: some Collection<UInt8>,
        type: String = AccessToken.notApplicable,
        audience: String?,
        for requirements: TokenRequirements
    ) throws(WorkloadIdentityError) -> AccessToken {
        let rules = PlatformToken(
            origin: origin,
            step: .request,
            form: .jwt,
            type: type,
            audience: audience,
            audienceAdvice: "it ignores the requested audience",
            expiryAdvice: "check the clock of this machine"
        )
        return try rules.accessToken(in: text, for: requirements, environment.timeSource)
    }

    private func seconds(_ value: JSONValue, _ name: String) throws(WorkloadIdentityError) -> Double {
        let number = value.number ?? value.string.flatMap { JSONNumber(literal: $0) }
        guard let seconds = number?.double else { throw invalid("responded with an invalid “\(name)”") }
        return seconds
    }

    /// [RFC 3339 §5.6](https://www.rfc-editor.org/rfc/rfc3339#section-5.6).
    static func timestamp(_ text: String) -> Double? {
        guard text.utf8.count <= 40 else { return nil }
        let zone = text.suffix(text.last == "Z" ? 1 : 6)
        guard let offset = zone == "Z" ? 0 : offset(zone) else { return nil }
        let parts = text.dropLast(zone.count).split(separator: ".", omittingEmptySubsequences: false)
        let isFraction = parts.dropFirst().allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(isDigit) }
        // Foundation ignores what follows a time.
        guard parts.count <= 2, parts[0].utf8.count == "2001-09-09T01:46:40".utf8.count, isFraction else { return nil }
        return (try? Date("\(parts[0])Z", strategy: .iso8601)).map { $0.timeIntervalSince1970 - offset }
    }

    /// Returns the seconds by which a zone such as `+05:30` is ahead of UTC.
    private static func offset(_ zone: Substring) -> Double? {
        let parts = zone.utf8.dropFirst().split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part -> Double? in
            part.count == 2 && part.allSatisfy(isDigit) ? Double(Substring(part)) : nil
        }
        guard parts.count == 2, numbers.count == 2, numbers[0] < 24, numbers[1] < 60 else { return nil }
        let seconds = numbers[0] * 3_600 + numbers[1] * 60
        switch zone.first {
        case "+": return seconds
        case "-": return -seconds
        default: return nil
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}

struct PlatformRetries: Sendable {
    var timeout = Duration.seconds(30)
    var limit = 4
    /// The longest delay, unless the endpoint requests a longer one.
    var longestDelay = Duration.seconds(8)
    /// The statuses of a temporary failure, in addition to 408, 429 and 5xx.
    var transientStatuses: Set<Int> = []
    /// Returns whether another error is temporary.
    var isTransientError: @Sendable (ServerError) -> Bool = { _ in false }
    /// The delay and the number of retries after a 410, of an endpoint that is being updated.
    var whileGone: (delay: Duration, limit: Int)?

    func isTransient(_ error: ServerError) -> Bool {
        let status = error.errorCode
        return isTransientError(error) || status == 429 || status == 408 || status >= 500
            || transientStatuses.contains(status)
            || whileGone != nil && status == 410
    }

    /// Returns a policy that counts the retries after a 410 apart from the others.
    func policy(_ environment: WorkloadEnvironment) -> Retry.Policy {
        let usual = Retry.Policy.backoff(
            .exponential(
                .seconds(1),
                maximum: longestDelay,
                jitter: .equal,
                until: .maxRetries(limit),
                random: environment.random
            ),
            when: Retry.Condition { failure in
                if let error = failure.error as? ServerError { return isTransient(error) }
                let codes: Set<NetworkError.Code> = [.cannotResolveHost, .cannotConnect, .connectionLost]
                return (failure.error as? NetworkError).map { codes.contains($0.code) } ?? false
            },
            maximumServerDelay: timeout,
            date: environment.timeSource.date
        )
        guard let whileGone else { return usual }
        let gone = Retry.Policy.backoff(
            .constant(whileGone.delay, until: .maxRetries(whileGone.limit)),
            when: .always,
            maximumServerDelay: timeout,
            date: environment.timeSource.date
        )
        return .custom { failure in
            let isGone = { (error: any Error) in (error as? ServerError)?.errorCode == 410 }
            let found = isGone(failure.error)
            let own = Retry.State(errors: failure.context.retryState.errors.filter { isGone($0) == found })
            return (found ? gone : usual).evaluateFailedRequest(
                FailedRequest(
                    failure.request,
                    response: failure.response,
                    error: failure.error,
                    context: InterceptorContext(retryState: own, traits: failure.context.traits)
                )
            )
        }
    }
}

enum PlatformAddress {
    /// Returns a URL with parameters, added to the query that it has already.
    static func url(_ address: String, _ parameters: [(name: String, value: String)]) -> URL? {
        let query = parameters.map { "\($0.name)=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
        guard let base = URL(string: address), base.fragment == nil else { return nil }
        let separator = base.query == nil ? "?" : base.query?.isEmpty == true ? "" : "&"
        return URL(string: address + separator + query)
    }

    /// Requests to the URL are encrypted, or don't leave the machine and its link.
    static func isConfined(_ url: URL) -> Bool {
        guard let origin = HTTPOrigin(url), url.user == nil, url.fragment == nil else { return false }
        return origin.scheme == "https" || origin.isLoopback || isLinkLocal(origin.host)
    }

    /// 169.254/16 ([RFC 3927 §2.1](https://www.rfc-editor.org/rfc/rfc3927#section-2.1)).
    private static func isLinkLocal(_ host: String) -> Bool {
        let parts = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part -> UInt8? in
            guard part.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            return UInt8(String(decoding: part, as: UTF8.self))
        }
        return parts.count == 4 && numbers.count == 4 && numbers.starts(with: [169, 254])
    }
}
