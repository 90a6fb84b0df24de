public import Foundation
internal import OpenSSLCrypto

/// A refresh that a host has announced in a record before it sends the refresh token.
///
/// The announcement has durations instead of times, because hosts' clocks differ. Other hosts
/// measure ``validFor`` on their own clocks, from when they first see the attempt.
public struct RefreshAttempt: Sendable, ComparedByParts {
    /// The number of identifiers that ``earlier`` keeps.
    static let earlierLimit = 8

    /// The attempt's random identifier.
    public let id: String
    /// The host and process that made the attempt, for logs and operators.
    public var host: String?
    /// The time of the attempt by the wall clock of its host.
    ///
    /// Processes of one machine use it to recognize an old attempt; hosts don't rely on it.
    public var date: Date?
    /// The time for which no other host sends the token.
    public var validFor: Duration
    /// The number of attempts with the same refresh token, including this one.
    public var tries: Int
    /// The identifiers of earlier attempts with the same refresh token, which may have used it.
    public var earlier: [String]

    /// Creates an attempt.
    ///
    /// - Parameters:
    ///   - id: The random identifier.
    ///   - host: The host and process that made the attempt. The default is `nil`.
    ///   - date: The time of the attempt. The default is `nil`.
    ///   - validFor: The time for which no other host sends the token. The default is 20 seconds.
    ///   - tries: The number of attempts with the same token. The default is 1.
    ///   - earlier: The identifiers of earlier attempts. The default is an empty list.
    public init(
        id: String,
        host: String? = nil,
        date: Date? = nil,
        validFor: Duration = .seconds(20),
        tries: Int = 1,
        earlier: [String] = []
    ) {
        self.id = id
        self.host = host
        self.date = date
        self.validFor = validFor
        self.tries = tries
        self.earlier = earlier
    }

    var parts: [AnyHashable?] {
        ([id, host] + earlier).map { $0.map(ByteComparedString.init) } + [date, validFor, tries]
    }
}

/// The reason why a grant has ended.
public struct GrantEnd: Sendable, Hashable, CustomStringConvertible {
    private enum Wrapped: String { case revoked, lost, signedOut }
    private let wrapped: Wrapped

    private init(_ wrapped: Wrapped) { self.wrapped = wrapped }

    /// The server rejected the refresh token, and its response to an earlier use wasn't lost.
    public static var revoked: Self { Self(.revoked) }
    /// The server rejected the refresh token after the response to an earlier use was lost.
    public static var lost: Self { Self(.lost) }
    /// The user signed out.
    public static var signedOut: Self { Self(.signedOut) }

    /// The name in stored records.
    public var description: String { wrapped.rawValue }

    /// Returns the end with a name in a stored record; `nil` if the name is unknown.
    init?(named name: String) {
        guard let wrapped = Wrapped(rawValue: name) else { return nil }
        self.wrapped = wrapped
    }
}

/// A pause before the next refresh, which the server asked one host for and all hosts keep.
public struct RefreshPause: Sendable, Hashable {
    /// The length of the pause, measured from when a host first sees it.
    public let duration: Duration
    /// The end of the pause by the wall clock of the host that wrote it.
    ///
    /// A host whose clock has passed it doesn't wait; a wrong clock can only shorten the pause.
    public let end: Date

    /// Creates a pause.
    ///
    /// - Parameters:
    ///   - duration: The length of the pause.
    ///   - end: The end of the pause by the wall clock.
    public init(duration: Duration, end: Date) {
        self.duration = duration
        self.end = end
    }
}
