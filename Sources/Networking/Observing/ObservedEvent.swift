/// An event that a ``ClientObserver`` receives, in a form that logs and metrics share.
///
/// A log or metric of any event needs only this protocol. An observer of specific events casts them
/// to their type:
///
/// ```swift
/// if case .dead(let code, _)? = event as? OAuth2Event { alert(code) }
/// ```
///
/// None of the texts contains a token, a key, a nonce or a body.
public protocol ObservedEvent: Sendable {
    /// The stable name, such as `oauth2.token.refreshed`.
    var name: String { get }

    /// The labels, each with few different values, by names such as `error.type`.
    ///
    /// All events of the same name have the same labels, as some metrics backends require. A label
    /// that doesn't apply is ``noLabel``. The hosts are those that the application sends requests
    /// to. All other values come from this package, so a server can't invent any.
    var labels: [String: String] { get }

    /// More details for a log, with any number of different values; empty by default.
    var details: [String: String] { get }

    /// The importance of the event.
    var severity: EventSeverity { get }
}

extension ObservedEvent {
    /// The value of a label that doesn't apply, `none`.
    public static var noLabel: String { "none" }

    /// No details.
    public var details: [String: String] { [:] }
}

/// The importance of an event.
@nonexhaustive
public enum EventSeverity: Sendable, Hashable {
    /// The event is part of normal work and frequent.
    case debug
    /// The event is part of normal work and rare, or the caller gets an error anyway.
    case info
    /// The event disturbs the service if it's frequent.
    case warning
    /// The service needs an operator.
    case error
}
