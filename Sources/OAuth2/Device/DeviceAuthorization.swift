public import Foundation
import Networking
public import TokenGeneration

/// The instructions for a user to authorize this device from another one
/// ([RFC 8628 §3.2](https://www.rfc-editor.org/rfc/rfc8628#section-3.2)).
public struct DeviceAuthorization: Sendable, Redacted {
    /// The code that the user enters.
    ///
    /// Show it even with ``verificationURIComplete``, so that the user can compare it.
    public let userCode: String
    /// The URL of the page where the user enters the code.
    public let verificationURI: URL
    /// The URL with the code included, for a QR code or a link, or `nil` if the server has none.
    public let verificationURIComplete: URL?
    /// The time when the codes expire, on the monotonic clock.
    public let expiry: ContinuousClock.Instant
    /// The time to wait between two token requests: by default 5 seconds, at least 1 second.
    public var interval: Duration
    /// The code that this device sends in its token requests.
    package let deviceCode: Secret

    package init(
        deviceCode: Secret,
        userCode: String,
        verificationURI: URL,
        verificationURIComplete: URL? = nil,
        expiry: ContinuousClock.Instant,
        interval: Duration = .seconds(5)
    ) {
        self.deviceCode = deviceCode
        self.userCode = userCode
        self.verificationURI = verificationURI
        self.verificationURIComplete = verificationURIComplete
        self.expiry = expiry
        self.interval = max(interval, .seconds(1))
    }

    /// Accepts only text whose display can't harm the user or a terminal.
    init(_ answer: AnswerMembers, requested: ContinuousClock.Instant) throws(OAuth2Error) {
        let code = try answer.required("device_code")
        let userCode = try answer.required("user_code")
        guard userCode.utf8.count <= 64, userCode.unicodeScalars.allSatisfy(Self.isVisible) else {
            throw answer.wrong("user_code")
        }
        // An early draft, and some servers that implement it, use “url”.
        let name = answer.members["verification_uri"] == nil ? "verification_url" : "verification_uri"
        guard let place = Self.page(try answer.required(name)) else { throw answer.wrong("verification_uri") }
        let complete = try answer.string("verification_uri_complete")
        guard let lifetime = TokenResponse.lifetime(answer.members["expires_in"]) else {
            throw answer.wrong("expires_in")
        }
        self.init(
            deviceCode: Secret(code),
            userCode: userCode,
            verificationURI: place,
            verificationURIComplete: complete.flatMap(Self.page),
            expiry: requested + lifetime,
            interval: TokenResponse.lifetime(answer.members["interval"]) ?? .seconds(5)
        )
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }

    /// Returns the URL of a web page, as opposed to a file or a script.
    private static func page(_ text: String) -> URL? {
        guard text.utf8.count <= 2_048, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        return URL(string: text).flatMap { HTTPOrigin($0) == nil ? nil : $0 }
    }

    /// The host of the page for the user, without the codes.
    public var description: String { "device authorization at \(verificationURI.host ?? "nowhere")" }
}

/// The progress of a device that waits for its user.
public struct DeviceAuthorizationProgress: Sendable, Hashable {
    /// The server's latest response.
    @nonexhaustive
    public enum Event: Sendable, Hashable {
        /// The device hasn't sent a token request yet.
        case begun
        /// The user hasn't authorized the device yet.
        case pending
        /// The server asks for less frequent requests.
        case slowedDown
        /// The server didn't respond, or is temporarily failing.
        case unanswered
    }

    /// The server's latest response.
    public let event: Event
    /// The time until the next token request.
    public let pause: Duration
    /// The time until the codes expire.
    public let timeLeft: Duration
}

extension OAuth2Client {
    /// Starts an authorization that the user grants on another device
    /// ([RFC 8628 §3.1](https://www.rfc-editor.org/rfc/rfc8628#section-3.1)).
    ///
    /// - Parameters:
    ///   - scope: The requested scope. The default, `nil`, requests the server's default.
    ///   - resources: The URIs of the services that the token is for.
    ///   - authorizationDetails: The details of the requested access.
    ///   - additionalParameters: Other parameters, such as the `audience` that some servers need.
    /// - Returns: The instructions for the user. Pass them to ``tokens(for:idToken:progress:)``.
    /// - Throws: ``OAuth2Error``, with the code `endpointMissing` if the server doesn't support the
    ///   device grant, or `malformedRequest` for an invalid scope or resource, or an additional
    ///   parameter that the request sets itself; `CancellationError`.
    public func authorizeDevice(
        scope: String? = nil,
        resources: [String] = [],
        authorizationDetails: [AuthorizationDetail] = [],
        additionalParameters: [String: String] = [:]
    ) async throws -> DeviceAuthorization {
        let place = "the device authorization endpoint"
        let form =
            try RequestedAccess(scope: scope, resources: resources, details: authorizationDetails).fields()
            + RequestedAccess.additional(
                additionalParameters,
                besides: [
                    "client_id", "client_secret", "client_assertion", "client_assertion_type", "scope", "resource",
                    "authorization_details",
                ]
            )
        let requested = timing.timeSource.now()
        return try await post(form, to: \.deviceAuthorizationEndpoint, place: place) { response in
            let answer = try AnswerMembers(response, from: place)
            // Some servers report errors with status code 200.
            if let error = answer.members["error"]?.string, !error.isEmpty {
                throw OAuth2Error(
                    serverCode: error,
                    members: answer.members,
                    place: place,
                    status: response.status
                )
            }
            return try DeviceAuthorization(answer, requested: requested)
        }
    }

    /// Waits until the user has authorized a device, and returns the tokens.
    ///
    /// The client polls at the server's interval, or every five seconds. It polls more slowly after
    /// `slow_down`, and doubles the delay each time the server doesn't respond.
    ///
    /// - Parameters:
    ///   - device: The instructions that the user was given.
    ///   - idToken: The rule for the ID token, if the scope has `openid`. By default, it isn't
    ///     verified, and ``IssuedTokens/idToken`` is `nil`. With a verifier, the keys are loaded
    ///     before polling.
    ///   - progress: A closure that receives the progress before each pause.
    /// - Returns: The tokens, with the verified ID token.
    /// - Throws: ``OAuth2Error`` with the code `authorizationDenied` if the user has denied the
    ///   request, `authorizationExpired` if the codes have expired, `protocolViolation` if the ID
    ///   token is missing or invalid, or the code of another error response; the errors of
    ///   ``RemoteKeySet/keys()`` if the keys to verify the ID token can't be loaded.
    ///   `CancellationError` if the task is cancelled.
    public func tokens(
        for device: DeviceAuthorization,
        idToken: IDTokenRule = .skipIDTokenCheck,
        progress: (DeviceAuthorizationProgress) -> Void = { _ in }
    ) async throws -> IssuedTokens {
        let grant = PolledGrant(
            form: [
                ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
                ("device_code", device.deviceCode.expose { $0 }),
            ],
            expiry: device.expiry,
            interval: max(device.interval, .seconds(1)),
            firstPause: max(device.interval, .seconds(1)),
            expired: "the user didn't authorize the device in time; start again when the user asks for it"
        )
        return try await tokens(for: grant, idToken, progress: progress)
    }

    func tokens(
        for grant: PolledGrant,
        _ idToken: IDTokenRule,
        progress: (DeviceAuthorizationProgress) -> Void
    ) async throws -> IssuedTokens {
        try await verifying(IDTokenCheck(ofDevice: idToken)) {
            try await issuedTokens(for: grant, progress: progress)
        }
    }

    private func issuedTokens(
        for grant: PolledGrant,
        progress: (DeviceAuthorizationProgress) -> Void
    ) async throws -> IssuedTokens {
        let bound = try key.bound()
        // No retries in the endpoint: this loop decides when to poll.
        var client = self
        client.timing.attempts = 1
        let expired = OAuth2Error(.authorizationExpired, grant.expired)
        var polling = DevicePolling(interval: grant.interval)
        var (pause, event) = (grant.firstPause, DeviceAuthorizationProgress.Event.begun)
        while true {
            let timeLeft = grant.expiry - timing.timeSource.now()
            guard timeLeft > .zero else { throw expired }
            progress(DeviceAuthorizationProgress(event: event, pause: pause, timeLeft: timeLeft))
            if pause > .zero { try await timing.timeSource.sleep(min(pause, timeLeft)) }
            guard timing.timeSource.now() < grant.expiry else { throw expired }
            do {
                let answer = try await client.requestToken(
                    form: grant.form,
                    proof: bound?.generator,
                    isSingleUse: true,
                    until: deadline,
                    timeout: timing.timeout
                )
                return IssuedTokens(try answer.tokens(), boundKey: bound)
            } catch {
                try Task.checkCancellation()
                switch polling.next(after: error) {
                case .fail(let error): throw error
                case .wait(let time, let what): (pause, event) = (time, what)
                }
            }
        }
    }
}

struct PolledGrant: Sendable {
    let form: [(name: String, value: String)]
    let expiry: ContinuousClock.Instant
    let interval: Duration
    let firstPause: Duration
    let expired: String
}

/// [RFC 8628 §3.5](https://www.rfc-editor.org/rfc/rfc8628#section-3.5).
struct DevicePolling {
    typealias Event = DeviceAuthorizationProgress.Event

    enum Step {
        case wait(Duration, Event)
        case fail(OAuth2Error)
    }

    private(set) var interval: Duration
    private var unanswered = 0

    init(interval: Duration) {
        self.interval = interval
    }

    mutating func next(after error: OAuth2Error) -> Step {
        switch (error.code, error.serverCode) {
        // First, because some servers send it with 429.
        case (_, "slow_down"):
            unanswered = 0
            interval += .seconds(5)
            return .wait(max(interval, error.retryAfter ?? .zero), .slowedDown)
        case (.serverUnreachable, _), (.serverTransient, _):
            unanswered += 1
            // The delay doubles each time, up to about the time that a user is willing to wait.
            let backoff = Retry.Backoff.doubling(interval * 2, to: max(interval, .seconds(60)))
            return .wait(backoff.delay(retry: unanswered, atLeast: error.retryAfter ?? .zero), .unanswered)
        case (_, "authorization_pending"):
            unanswered = 0
            return .wait(interval, .pending)
        case (_, "access_denied"): return .fail(error.coded(.authorizationDenied))
        case (_, "expired_token"): return .fail(error.coded(.authorizationExpired))
        default: return .fail(error)
        }
    }
}
