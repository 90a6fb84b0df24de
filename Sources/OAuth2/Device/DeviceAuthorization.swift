public import Foundation
import Networking
import TokenGeneration

/// What a user has to do on another device so that this one gets tokens
/// ([RFC 8628 §3.2](https://www.rfc-editor.org/rfc/rfc8628#section-3.2)).
public struct DeviceAuthorization: Sendable {
    /// What the user enters; show it even with ``verificationURIComplete``, so that they can compare it.
    public let userCode: String
    /// Where the user enters it.
    public let verificationURI: URL
    /// The same with the code in it, for a QR code or a link; `nil` if the server has none.
    public let verificationURIComplete: URL?
    /// When the user's time is over, on the monotonic clock.
    public let expiry: ContinuousClock.Instant
    /// How long to wait between two questions whether the user has done it.
    public let interval: Duration
    /// What this device asks with.
    public let deviceCode: Secret

    /// Makes an authorization that was begun elsewhere.
    ///
    /// - Parameters:
    ///   - deviceCode: What this device asks with.
    ///   - userCode: What the user enters.
    ///   - verificationURI: Where the user enters it.
    ///   - verificationURIComplete: The same with the code in it.
    ///   - expiry: When the user's time is over.
    ///   - interval: How long to wait between two questions; at least a second.
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
    /// Reads an answer.
    ///
    /// What people are shown, and what a terminal may be made to do by, is only accepted if it is harmless.
    ///
    /// - Parameters:
    ///   - answer: The answer.
    ///   - requested: When the request was sent; the lifetime counts from then.
    /// - Throws: ``OAuth2Error`` with the code `protocolViolation`.
    init(_ answer: AnswerMembers, requested: ContinuousClock.Instant) throws(OAuth2Error) {
        let code = try answer.required("device_code")
        let userCode = try answer.required("user_code")
        guard userCode.utf8.count <= 64, userCode.unicodeScalars.allSatisfy(Self.isVisible) else {
            throw answer.wrong("user_code")
        }
        // An early draft, and some servers that kept to it, say “url”.
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

    /// A page that people can be sent to, and not a file or a script.
    private static func page(_ text: String) -> URL? {
        guard text.utf8.count <= 2_048, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        return URL(string: text).flatMap { HTTPOrigin($0) == nil ? nil : $0 }
    }
}

extension DeviceAuthorization: CustomStringConvertible, CustomReflectable {
    /// Where the user has to go, without the codes.
    public var description: String { "device authorization at \(verificationURI.host ?? "nowhere")" }

    /// A mirror without the codes.
    public var customMirror: Mirror {
        Mirror(self, children: ["verificationURI": verificationURI, "expiry": expiry, "interval": interval])
    }
}

/// How a device's waiting for its user goes on.
public struct DeviceAuthorizationProgress: Sendable, Hashable {
    /// What the server has answered.
    @nonexhaustive
    public enum Event: Sendable, Hashable {
        /// Nothing has been asked yet.
        case begun
        /// The user has not done it yet.
        case pending
        /// The server wants to be asked less often.
        case slowedDown
        /// There was no answer, or one that says that the server has failed for the moment.
        case unanswered
    }

    /// What the server has answered.
    public let event: Event
    /// How long it is until the server is asked again.
    public let pause: Duration
    /// How much time the user has left.
    public let timeLeft: Duration
}
