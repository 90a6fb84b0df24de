public import Foundation
import Networking
public import TokenGeneration

/// A user's authentication on another device, which the client has requested ([OpenID Connect CIBA
/// Core 1.0
/// §7.3](https://openid.net/specs/openid-client-initiated-backchannel-authentication-core-1_0.html)).
///
/// Get its tokens with ``OAuth2Client/tokens(of:idToken:progress:)``.
public struct BackchannelAuthentication: Sendable {
    /// The identifier of the request, `auth_req_id`, which is a credential.
    public let requestID: Secret
    /// The time when the request expires, on the monotonic clock.
    public let expiry: ContinuousClock.Instant
    /// The minimum time between two token requests.
    public let interval: Duration
    /// The token that authenticates the provider's notification, or `nil` for a client that polls.
    public let notificationToken: Secret?
    /// A Boolean value that indicates whether the provider said that the user has decided.
    private(set) var isNotified = false

    /// Creates an authentication that was requested elsewhere, such as by another host.
    ///
    /// - Parameters:
    ///   - requestID: The identifier of the request.
    ///   - expiry: The time when the request expires, on the monotonic clock.
    ///   - interval: The time between token requests, at least 1 second. The default is 5 seconds.
    ///   - notificationToken: The token that authenticates the provider's notification. The default
    ///     is `nil`.
    public init(
        requestID: Secret,
        expiry: ContinuousClock.Instant,
        interval: Duration = .seconds(5),
        notificationToken: Secret? = nil
    ) {
        self.requestID = requestID
        self.expiry = expiry
        self.interval = max(interval, .seconds(1))
        self.notificationToken = notificationToken
    }

    /// Returns the authentication for which a notification says that the user has decided ([§10.2
    /// ](https://openid.net/specs/openid-client-initiated-backchannel-authentication-core-1_0.html#ping_callback)).
    ///
    /// The tokens of the result are requested without a pause. Respond to the notification with
    /// 204. If this method throws, respond with 401.
    ///
    /// - Parameters:
    ///   - authorization: The request's `Authorization` header field.
    ///   - body: The request's body.
    /// - Returns: The authentication.
    /// - Throws: ``OAuth2Error`` with the code `stateMismatch` if the notification isn't for this
    ///   request, or `protocolViolation` if its body isn't a notification.
    public func notified(authorization: String?, body: Data) throws(OAuth2Error) -> Self {
        let parts = (authorization ?? "").asciiOnly.split(separator: " ", maxSplits: 1)
        guard let notificationToken, parts.count == 2, parts[0].lowercased() == "bearer",
            Secret(String(parts[1])) == notificationToken
        else { throw OAuth2Error(.stateMismatch, "the notification doesn't have the token of this request") }
        guard body.count <= 64 << 10, let id = (try? JSONObject(parsing: body))?["auth_req_id"]?.string else {
            throw OAuth2Error(.protocolViolation, "the body isn't a notification of an authentication")
        }
        guard Secret(id) == requestID else {
            throw OAuth2Error(.stateMismatch, "the notification is for another authentication")
        }
        var notified = self
        notified.isNotified = true
        return notified
    }
}

extension BackchannelAuthentication {
    /// Reads a response to a request, from whose time the lifetime counts.
    init(
        _ answer: AnswerMembers,
        requested: ContinuousClock.Instant,
        notificationToken: Secret?
    ) throws(OAuth2Error) {
        let id = try answer.required("auth_req_id")
        guard let lifetime = TokenResponse.lifetime(answer.members["expires_in"]), lifetime > .zero else {
            throw answer.wrong("expires_in")
        }
        self.init(
            requestID: Secret(id),
            expiry: requested + lifetime,
            interval: TokenResponse.lifetime(answer.members["interval"]) ?? .seconds(5),
            notificationToken: notificationToken
        )
    }

    /// The grant for which the client polls.
    var grant: PolledGrant {
        PolledGrant(
            form: [
                ("grant_type", "urn:openid:params:grant-type:ciba"), ("auth_req_id", requestID.expose { $0 }),
            ],
            expiry: expiry,
            interval: interval,
            firstPause: isNotified ? .zero : interval,
            expired: "the user didn't decide in time; ask again when the user expects it"
        )
    }
}

extension BackchannelAuthentication: Redacted {
    /// A text without the credentials.
    public var description: String { "backchannel authentication" }
}
