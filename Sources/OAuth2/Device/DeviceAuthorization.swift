public import Foundation
import Networking
public import TokenGeneration

/// The instructions for a user to authorize this device from another one
/// ([RFC 8628 §3.2](https://www.rfc-editor.org/rfc/rfc8628#section-3.2)).
public struct DeviceAuthorization: Sendable {
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
    /// The time to wait between two token requests.
    public let interval: Duration
    /// The code that this device sends in its token requests.
    public let deviceCode: Secret

    /// Creates an authorization that was started elsewhere.
    ///
    /// - Parameters:
    ///   - deviceCode: The code that this device sends in its token requests.
    ///   - userCode: The code that the user enters.
    ///   - verificationURI: The URL of the page where the user enters the code.
    ///   - verificationURIComplete: The URL with the code included. The default is `nil`.
    ///   - expiry: The time when the codes expire, on the monotonic clock.
    ///   - interval: The time between token requests, at least 1 second. The default is 5 seconds.
    public init(
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
}

extension DeviceAuthorization {
    /// Reads a response to a request, from whose time the lifetime counts.
    ///
    /// Text that the device displays is accepted only if it can't harm the user or a terminal.
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
}

extension DeviceAuthorization: Redacted {
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
