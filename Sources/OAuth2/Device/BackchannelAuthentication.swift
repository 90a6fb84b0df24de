public import Foundation
import Networking
public import TokenGeneration

/// A user's authentication on another device, which the client has requested ([OpenID Connect CIBA
/// Core 1.0
/// §7.3](https://openid.net/specs/openid-client-initiated-backchannel-authentication-core-1_0.html)).
///
/// Get its tokens with ``OAuth2Client/tokens(of:idToken:progress:)``.
public struct BackchannelAuthentication: Sendable, Redacted {
    /// The identifier of the request, `auth_req_id`, which is a credential.
    public let requestID: Secret
    /// The time when the request expires, on the monotonic clock.
    public let expiry: ContinuousClock.Instant
    /// The minimum time between two token requests: by default 5 seconds, at least 1 second.
    public let interval: Duration
    /// The token that authenticates the provider's notification, or `nil` for a client that polls.
    public let notificationToken: Secret?
    private(set) var isNotified = false

    /// Creates an authentication that was requested elsewhere, such as by another host.
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

    init(_ answer: AnswerMembers, requested: ContinuousClock.Instant, notificationToken: Secret?) throws(OAuth2Error) {
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

    /// A text without the credentials.
    public var description: String { "backchannel authentication" }
}

/// The user whom an OpenID provider asks on another device ([OpenID Connect CIBA Core 1.0
/// §7.1](https://openid.net/specs/openid-client-initiated-backchannel-authentication-core-1_0.html#auth_request)).
public struct UserHint: Sendable, Hashable {
    let name: String
    let value: Secret

    /// A name that the provider knows, such as an email address or a telephone number.
    ///
    /// - Parameter hint: The name.
    /// - Returns: The hint.
    public static func loginHint(_ hint: String) -> Self { Self(name: "login_hint", value: Secret(hint)) }

    /// A token that names the user, in a format that the provider defines.
    ///
    /// - Parameter token: The token.
    /// - Returns: The hint.
    public static func loginHintToken(_ token: Secret) -> Self { Self(name: "login_hint_token", value: token) }

    /// An ID token that the provider has issued for the user.
    ///
    /// - Parameter token: The ID token.
    /// - Returns: The hint.
    public static func idToken(_ token: Secret) -> Self { Self(name: "id_token_hint", value: token) }
}

extension OAuth2Client {
    /// Asks the OpenID provider to authenticate a user on the user's own device ([OpenID Connect
    /// CIBA Core 1.0
    /// §7.1](https://openid.net/specs/openid-client-initiated-backchannel-authentication-core-1_0.html#auth_request)).
    ///
    /// ```swift
    /// let authentication = try await oauth.authenticateUser(
    ///     .loginHint("ada@example.com"),
    ///     bindingMessage: "W4-31"
    /// )
    /// let tokens = try await oauth.tokens(
    ///     of: authentication,
    ///     idToken: .verified(by: verifier)
    /// )
    /// ```
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - scope: The requested scope. The default is `openid`, which every request must have.
    ///   - bindingMessage: A short text that both devices show, so that the user recognizes the
    ///     request. The default is `nil`.
    ///   - acrValues: The acceptable authentication context classes, best first.
    ///   - userCode: The user's secret code for requests, if the provider requires one.
    ///   - requestedExpiry: The time that the user has to decide, in whole seconds. The default,
    ///     `nil`, is the provider's.
    ///   - notificationToken: For a client that is registered for notifications (ping), a new
    ///     secret of at least 128 random bits. The default, `nil`, is for a client that polls.
    ///   - additionalParameters: Other parameters.
    /// - Returns: The authentication. Pass it to
    ///   ``tokens(of:idToken:progress:)``.
    /// - Throws: ``OAuth2Error`` with the code `endpointMissing` if the server doesn't support such
    ///   requests, `malformedRequest` for an invalid scope, notification token or additional
    ///   parameter, `authorizationDenied`, or `requestRejected` with the server's code, such as
    ///   `unknown_user_id` or `invalid_binding_message`; `CancellationError`.
    public func authenticateUser(
        _ user: UserHint,
        scope: String = "openid",
        bindingMessage: String? = nil,
        acrValues: [String] = [],
        userCode: Secret? = nil,
        requestedExpiry: Duration? = nil,
        notificationToken: Secret? = nil,
        additionalParameters: [String: String] = [:]
    ) async throws -> BackchannelAuthentication {
        guard scope.split(separator: " ").contains("openid") else {
            throw OAuth2Error(.malformedRequest, "the scope must have “openid”")
        }
        if let notificationToken, !notificationToken.expose(Self.isNotificationToken) {
            throw OAuth2Error(
                .malformedRequest,
                "the notification token must have 22 to 1024 characters of a bearer token"
            )
        }
        var form = try RequestedAccess(scope: scope).fields()
        form.append((user.name, user.value.expose { $0 }))
        if let bindingMessage { form.append(("binding_message", bindingMessage)) }
        if !acrValues.isEmpty { form.append(("acr_values", acrValues.joined(separator: " "))) }
        if let userCode { form.append(("user_code", userCode.expose { $0 })) }
        if let requestedExpiry { form.append(("requested_expiry", String(requestedExpiry.components.seconds))) }
        if let notificationToken { form.append(("client_notification_token", notificationToken.expose { $0 })) }
        form += try RequestedAccess.additional(additionalParameters, besides: Self.backchannelParameters)
        let place = "the backchannel authentication endpoint"
        let requested = timing.timeSource.now()
        do {
            return try await post(form, to: \.backchannelAuthenticationEndpoint, place: place) { response in
                try BackchannelAuthentication(
                    AnswerMembers(response, from: place),
                    requested: requested,
                    notificationToken: notificationToken
                )
            }
        } catch let error as OAuth2Error where error.serverCode == "access_denied" {
            throw error.coded(.authorizationDenied)
        }
    }

    /// Waits until the user has decided on the other device, and returns the tokens.
    ///
    /// The client polls as for a device. After
    /// ``BackchannelAuthentication/notified(authorization:body:)``, the first request is sent at
    /// once.
    ///
    /// - Parameters:
    ///   - authentication: The authentication.
    ///   - idToken: The rule for the ID token, which has no nonce. By default, it isn't verified,
    ///     and ``IssuedTokens/idToken`` is `nil`. With a verifier, the keys are loaded before
    ///     polling.
    ///   - progress: A closure that receives the progress before each pause.
    /// - Returns: The tokens, with the verified ID token.
    /// - Throws: The errors of ``tokens(for:idToken:progress:)``.
    public func tokens(
        of authentication: BackchannelAuthentication,
        idToken: IDTokenRule = .skipIDTokenCheck,
        progress: (DeviceAuthorizationProgress) -> Void = { _ in }
    ) async throws -> IssuedTokens {
        try await tokens(for: authentication.grant, idToken, progress: progress)
    }

    private static let backchannelParameters: Set = [
        "scope", "login_hint", "login_hint_token", "id_token_hint", "binding_message", "acr_values", "user_code",
        "requested_expiry", "client_notification_token", "client_id", "client_secret", "client_assertion",
        "client_assertion_type", "request",
    ]

    private static func isNotificationToken(_ text: String) -> Bool {
        (22...1_024).contains(text.utf8.count)
            && text.utf8.allSatisfy { HTTPSyntax.isToken68Byte($0) || $0 == UInt8(ascii: "=") }
    }
}
