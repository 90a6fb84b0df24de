public import Foundation
public import Networking
public import OAuth2
import OpenSSLCrypto
import SharedStores
public import TokenGeneration

/// The session of a user who has signed in.
///
/// Together, ``issuer`` and ``subject`` identify the user. An email address doesn't: the provider
/// can give it to someone else.
public struct UserSession: Sendable, Redacted {
    /// The name of the ``SignInProvider``.
    public let provider: String
    /// The provider's issuer identifier.
    public let issuer: String
    /// The user's identifier at the provider: `sub`.
    public let subject: String
    /// The claims of the ID token at the last authentication.
    public let claims: JSONObject
    /// The values that the application returned when it approved the user.
    public let values: JSONObject
    /// The time when the user authenticated at the provider, if it says so (`auth_time`).
    public let authenticationTime: Date?
    /// The authentication context class that the user reached, if the provider says so (`acr`).
    public let acr: String?
    /// The time when the session ends, however much it's used.
    public let expiry: Date
    /// The authenticator with the user's tokens, for the APIs of the provider's
    /// ``SignInProvider/apis``.
    ///
    /// All requests of the session share it, so that a refresh token is used only once.
    public let authenticator: OAuth2Authenticator
    /// A client that sends requests to APIs as the user.
    public let client: NetworkClient
    let record: SessionRecord

    /// The session's name in the application's own forms, such as one that ends it with
    /// ``SignIn/endSession(_:of:)``.
    ///
    /// It isn't the identifier in the cookie, and doesn't give access to the session.
    public var id: String { record.publicID }
    /// The time when the session began.
    public var created: Date { Date(timeIntervalSince1970: record.created) }
    /// The time of the last request, give or take a tenth of the idle lifetime.
    public var lastUse: Date { Date(timeIntervalSince1970: record.used) }
    /// The browser's `User-Agent` at the sign-in, at most 256 characters of ASCII; `nil` if it has
    /// none.
    ///
    /// The browser chose it, so escape it in HTML.
    public var userAgent: String? { record.userAgent }

    /// The user's name, or the email address, the preferred user name or the subject instead.
    public var name: String {
        ["name", "email", "preferred_username"].lazy.compactMap { claims[$0]?.string }.first ?? subject
    }

    /// The provider's name, without the user.
    public var description: String { "session at \(provider)" }

    /// Whether the last authentication is strong and recent enough.
    func meets(_ requirement: SignInRequirement, at now: Date, leeway: Double) -> Bool {
        if !requirement.acr.isEmpty {
            guard let acr, requirement.acr.contains(where: acr.isExactly) else { return false }
        }
        guard let seconds = requirement.maximumSeconds else { return true }
        guard let age = authenticationTime.map(now.timeIntervalSince) else { return false }
        return age >= -leeway && age <= Double(seconds) + leeway
    }
}

/// The requirements of a route for the user's authentication ([RFC
/// 9470](https://www.rfc-editor.org/rfc/rfc9470)).
public struct SignInRequirement: Sendable, Hashable {
    /// The acceptable authentication context classes, best first.
    ///
    /// If empty, any is.
    public var acr: [String]
    /// The maximum time since the user authenticated, in whole seconds; `nil` for any.
    public var maximumAge: Duration?

    /// Creates a requirement.
    ///
    /// The default is that the user has signed in.
    public init(acr: [String] = [], maximumAge: Duration? = nil) {
        self.acr = acr
        self.maximumAge = maximumAge
    }

    /// The user has signed in.
    public static let signedIn = SignInRequirement()

    var maximumSeconds: Int? { maximumAge.map { Int(clamping: max($0, .zero).components.seconds) } }
}

/// A user who has authenticated and doesn't have a session yet.
public struct AuthenticatedUser: Sendable, Redacted {
    /// The name of the ``SignInProvider``.
    public let provider: String
    /// The provider's issuer identifier.
    public let issuer: String
    /// The user's identifier at the provider: `sub`.
    public let subject: String
    /// The claims of the ID token.
    public let claims: JSONObject
    /// The user's tokens, with which the application can ask the provider for more claims.
    public let tokens: IssuedTokens
    /// The session that this browser had, such as of another account to link; `nil` if none.
    public let current: UserSession?

    /// The provider's name, without the user.
    public var description: String { "user of \(provider)" }
}

/// What the store keeps of a session.
struct SessionRecord: Codable, Sendable {
    let provider: String
    let issuer: String
    let subject: String
    let sessionID: String?
    let claims: JSONObject
    let values: JSONObject
    let idToken: String
    /// The name of the tokens' record.
    ///
    /// The session's own key isn't shown to the client.
    let grant: String
    /// The versions of the logouts that came before the session; others end it.
    let endings: [String]
    let created: Double
    let end: Double
    var used: Double
    /// The store's key, which ties the record to the session's identifier.
    let key: String
    let userAgent: String?

    /// Part of a digest of a digest.
    var publicID: String { String(key.sha256.prefix(32)) }

    var authenticationTime: Date? { claims["auth_time"]?.number?.double.map(Date.init(timeIntervalSince1970:)) }
}

/// The tokens of one session, in the store of the sessions, so that they end with it.
struct SessionTokenStore: TokenStore {
    /// The session has ended or hasn't begun: the tokens of a refresh that was under way aren't
    /// stored, but revoked.
    private static let missing = VersionedTokenRecord(
        record: TokenRecord(accessToken: Secret(""), expiration: Date(timeIntervalSince1970: 0), end: .signedOut),
        version: TokenRecordVersion("")
    )

    let store: any SessionStore
    let coding: TokenRecordCoding
    let name: String
    let end: Date
    let timeSource: TimeSource
    let sections: ExclusiveSections

    var isSharedByHosts: Bool { store.isSharedByHosts }

    func load(_ key: String) async throws -> VersionedTokenRecord? {
        guard let stored = try await store.read(name) else { return Self.missing }
        return VersionedTokenRecord(
            record: try coding.decodeRecord(Array(stored.value.utf8), key: name),
            version: TokenRecordVersion(stored.version)
        )
    }

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) async throws -> TokenRecordVersion? {
        let value = String(decoding: try coding.encode(record, key: name), as: UTF8.self)
        let left = Duration(clampingSeconds: end.timeIntervalSince(timeSource.date()))
        return try await store.write(
            value,
            for: name,
            replacing: expectedVersion == Self.missing.version ? nil : expectedVersion?.description,
            lifetime: max(left, .seconds(1))
        ).map(TokenRecordVersion.init)
    }

    func remove(_ key: String, ifVersion version: TokenRecordVersion) async throws -> Bool {
        guard try await store.read(name)?.version == version.description else { return false }
        try await store.remove(name)
        return true
    }

    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await sections.withAccess(to: name, timeout: timeout, body)
    }
}
