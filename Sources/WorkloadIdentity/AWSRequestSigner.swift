import Foundation
public import Networking
public import OAuth2
import TokenGeneration

/// An interceptor that signs each request to a service of AWS just before it's sent.
///
/// ```swift
/// let client = NetworkClient(interceptors: [
///     AWSRequestSigner(
///         service: "s3",
///         region: "eu-central-1",
///         credentials: .default()
///     ),
/// ])
/// ```
///
/// Put it after the other interceptors that change requests on the wire. Each attempt and each
/// redirect gets a new signature, with a new time and the credentials that are current:
///
/// - A redirect within the origin is signed for its new target. Another origin gets no signature
///   and no session token, unless it's one of the given origins.
/// - Data, files and streams that can be read twice are read to hash them. A body that can be read
///   only once needs `x-amz-content-sha256` from the caller or, for S3, an unsigned payload.
/// - If AWS rejects a request because of its time, the signer learns the difference of the clocks,
///   at most a day, from the `Date` of the response, and the request is sent once more. If AWS
///   rejects expired credentials, the request is sent once more with new ones, if there are any.
///   Only responses to signed requests count, not those of another origin after a redirect.
public struct AWSRequestSigner: WireInterceptor, RetryVoter {
    /// Names of errors that are always about the time of a request.
    private static let skewCodes: Set<String> = ["RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture"]
    /// Names of errors that may be about the time of a request.
    private static let possibleSkewCodes: Set<String> = [
        "AuthFailure", "InvalidSignatureException", "SignatureDoesNotMatch",
    ]
    private static let expiryCodes: Set<String> = ["ExpiredToken", "ExpiredTokenException"]
    /// A difference that AWS accepts, in seconds.
    private static let acceptedSkew = 240.0
    /// The longest difference that is learned, in seconds, so that a response can't ask for
    /// signatures that are valid much later.
    private static let longestSkew = 86_400.0
    /// The time between two replacements of credentials that AWS rejects.
    private static let replacementInterval = Duration.seconds(30)

    private let signature: AWSSignatureV4
    private let credentials: AWSCredentialSource
    private let payload: AWSSignatureV4.Payload
    private let origins: ResourceRule?
    private let timeSource: TimeSource
    /// The seconds by which the clock of AWS is ahead.
    private let skew = SharedValue(0.0)
    private let replaced = SharedValue<ContinuousClock.Instant?>(nil)
    private let latest = SharedValue<AWSCredentials?>(nil)

    /// Creates an interceptor.
    ///
    /// - Parameters:
    ///   - service: The name of the service in signatures, such as `s3`, `sqs` or `execute-api`.
    ///   - region: The region.
    ///   - credentials: The source of credentials.
    ///   - payload: The part of a body that signatures cover. The default is the whole body.
    ///   - origins: The origins whose requests are signed, including those of redirects. The
    ///     default is `nil`, for the origin of every request, but not for redirects to another one.
    ///   - timeSource: The clocks.
    public init(
        service: String,
        region: String,
        credentials: AWSCredentialSource,
        payload: AWSSignatureV4.Payload = .signed,
        origins: ResourceRule? = nil,
        timeSource: TimeSource = .system
    ) {
        signature = AWSSignatureV4(service: service, region: region)
        self.credentials = credentials
        self.payload = payload
        self.origins = origins
        self.timeSource = timeSource
    }

    /// Adds the signer, which requests without authentication omit.
    public func add(to chain: inout InterceptorChain) { chain.addAuthenticator(self) }

    /// Signs a request on the wire, unless it goes to another origin.
    ///
    /// - Throws: ``WorkloadIdentityError`` as ``AWSCredentialSource/credentials(until:)`` and
    ///   ``AWSSignatureV4/sign(_:with:payload:at:)`` do; `OAuth2Error` with the code
    ///   `malformedRequest` if the origins are misconfigured.
    public func intercept(_ request: HTTPRequest, next: Wire) async throws -> HTTPTransportResponse {
        guard try isSigned(request.url, after: next.redirects) else { return try await next(request) }
        let current = try await credentials.credentials(until: next.context.deadline)
        latest.replace(with: current)
        let date = timeSource.date().addingTimeInterval(skew.value)
        return try await next(try await signature.sign(request, with: current, payload: payload, at: date))
    }

    /// Asks for another attempt after a rejection of the time or of expired credentials, once each.
    public func evaluateFailedRequest(_ failure: FailedRequest) async -> Retry.Action {
        guard let error = failure.error as? ServerError, let response = failure.response,
            (try? isSigned(response.url, after: response.redirects)) ?? false,
            let code = AWSErrorCode.name(in: error)
        else { return .none }
        let earlier = failure.context.retryState.authenticationErrors.compactMap { $0 as? ServerError }
            .compactMap(AWSErrorCode.name)
        if Self.expiryCodes.contains(code) {
            guard !earlier.contains(where: Self.expiryCodes.contains) else { return .none }
            return await replaceCredentials(until: failure.context.deadline) ? .retry : .none
        }
        let timeCodes = Self.skewCodes.union(Self.possibleSkewCodes)
        guard timeCodes.contains(code), !earlier.contains(where: timeCodes.contains) else { return .none }
        return learnSkew(from: error, isCertain: Self.skewCodes.contains(code)) ? .retry : .none
    }

    /// Returns whether another attempt has another time.
    private func learnSkew(from error: ServerError, isCertain: Bool) -> Bool {
        let now = timeSource.date()
        guard let date = error.headers["Date"].flatMap({ HTTPDate.parse($0, now: now) }) else { return false }
        let found = date.timeIntervalSince(now)
        guard abs(found) <= Self.longestSkew, isCertain || abs(found - skew.value) > Self.acceptedSkew else {
            return false
        }
        skew.replace(with: found)
        return true
    }

    /// Requests that fail together wait for a single replacement.
    private func replaceCredentials(until deadline: ContinuousClock.Instant?) async -> Bool {
        if let last = replaced.value, timeSource.now() - last < Self.replacementInterval { return true }
        guard let rejected = latest.value, await credentials.replace(rejected, until: deadline) else { return false }
        replaced.replace(with: timeSource.now())
        return true
    }

    private func isSigned(_ url: URL, after redirects: [RedirectHop]) throws(OAuth2Error) -> Bool {
        guard let origin = HTTPOrigin(url) else { return false }
        if let origins { return try origins.covers(origin) }
        return redirects.allSatisfy { HTTPOrigin($0.url) == origin }
    }
}

enum AWSErrorCode {
    private static let maximumLength = 128

    /// Returns the name of an error of AWS's protocols: JSON, or XML of S3, EC2 and the others.
    ///
    /// It's only for comparisons: the server can write any text.
    static func name(in error: ServerError) -> String? {
        guard (400..<500).contains(error.errorCode) else { return nil }
        let field = error.headers["x-amzn-ErrorType"] ?? error.headers["x-amzn-query-error"]
        return (field ?? text(in: error.body)).flatMap(plainName)
    }

    private static func text(in body: Data) -> String? {
        guard body.count <= 2 * PlatformToken.maximumSize else { return nil }
        if let object = try? JSONObject(parsing: body) { return (object["__type"] ?? object["code"])?.string }
        let document = AWSXML(body)
        let paths = ["ErrorResponse/Error/Code", "Error/Code", "Response/Errors/Error/Code"]
        return paths.lazy.compactMap { document?[$0] }.first
    }

    /// Returns the name in `com.amazonaws.sts#Name:http://…` or `Name;Sender`.
    private static func plainName(_ text: String) -> String? {
        let start = text.utf8.lastIndex(of: UInt8(ascii: "#")).map { text.utf8.index(after: $0) } ?? text.startIndex
        let name = text.utf8[start...].prefix { AWSCanonical.isNameCharacter($0) }
        return name.isEmpty || name.count > maximumLength ? nil : String(name)
    }
}
