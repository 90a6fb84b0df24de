public import Foundation

/// The rules that determine which redirects a client follows.
///
/// All policies follow redirects like this:
/// - 301 and 302 change `POST` to `GET` and keep other methods; 303 changes all methods except
///   `HEAD` to `GET`; 307 and 308 keep the method and the body
///   ([RFC 9110 §15.4](https://www.rfc-editor.org/rfc/rfc9110#section-15.4)); 300 with a `Location`
///   is followed for `GET` and `HEAD`. If the body is dropped, so are the `Content-*` fields.
/// - If the scheme, host or port changes, `Authorization`, `Cookie`, `Proxy-Authorization`, `DPoP`,
///   the fields of ``protecting(_:)`` and those of any ``URLRequestAuthenticator`` are removed.
///   They stay removed if a later redirect leads back. `Host` is always removed, and no `Referer`
///   is added.
/// - The `Location` is resolved against the URL that sent it
///   ([RFC 3986 §5](https://www.rfc-editor.org/rfc/rfc3986#section-5)) and inherits that URL's
///   fragment ([RFC 9110 §10.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.2)).
/// - The first request's deadline applies to all.
/// - At most 64 KiB of a redirect's body are read, for at most one second. If a redirect with a
///   larger or slower body isn't followed after all, the error is
///   ``NetworkError/Code/bodyTooLarge``. Only ``never`` delivers any body.
///
/// The body of a 307 or 308 is sent to any target. If it contains secrets, as token requests do,
/// use ``sameOrigin`` or ``never``.
///
/// The client rejects a redirect with ``NetworkError/Code/redirectRefused`` if it leads from
/// `https` to `http`, to another scheme or to a URL with user information, or if the body can't be
/// sent again or the DPoP proof is for another URL or method. More than 10 redirects, unless
/// ``upTo(_:)`` sets another maximum, or a redirect to a request that was already sent, fail with
/// ``NetworkError/Code/tooManyRedirects``. All other 3xx responses, and those without a `Location`,
/// are delivered to the caller.
public struct RedirectPolicy: Sendable {
    enum Rule: Sendable {
        case all, sameOrigin, never
        case custom(@Sendable (Redirect) async throws -> Redirect.Action)
    }

    let rule: Rule
    var isNever: Bool { if case .never = rule { true } else { false } }
    private(set) var maximumCount = 10
    /// The names of ``protecting(_:)``, in any case.
    package var sensitiveHeaders: Set<String> = []

    private init(_ rule: Rule) {
        self.rule = rule
    }

    /// Follows every redirect that isn't rejected; this is a client's default.
    public static let follow = Self(.all)
    /// Follows redirects to the same scheme, host and port, and delivers all others.
    public static let sameOrigin = Self(.sameOrigin)
    /// Follows no redirects; a client throws a ``ServerError`` with the redirect's status.
    public static let never = Self(.never)

    /// Returns a policy with a closure that decides about each redirect.
    ///
    /// The closure is called for each redirect with an `http` or `https` URL as its `Location`,
    /// before any other check. Its request is checked like any other, but credentials that it sets
    /// are sent.
    ///
    /// - Parameter decision: Returns the action for a redirect; an error fails the attempt.
    /// - Returns: The policy.
    public static func custom(_ decision: @escaping @Sendable (Redirect) async throws -> Redirect.Action) -> Self {
        Self(.custom(decision))
    }

    /// Returns the policy with another maximum.
    ///
    /// - Parameter maximum: The maximum number of redirects for one request.
    /// - Returns: The policy.
    public func upTo(_ maximum: Int) -> Self {
        var policy = self
        policy.maximumCount = maximum
        return policy
    }

    /// Returns the policy with further header fields that aren't sent to another origin.
    ///
    /// - Parameter names: The names of the fields, in any case, such as `X-Api-Key`.
    /// - Returns: The policy.
    public func protecting(_ names: String...) -> Self {
        var policy = self
        policy.sensitiveHeaders.formUnion(names)
        return policy
    }
}

/// A redirect that a policy's closure decides about.
public struct Redirect: Sendable {
    /// The status of the redirect.
    public let status: Int
    /// The header fields of the redirect.
    public let headers: HTTPHeaders
    /// The URL that sent the redirect.
    public let source: URL
    /// The proposed next request, changed according to ``RedirectPolicy``.
    public let request: HTTPRequest
    /// The earlier redirects, oldest first.
    public let hops: [RedirectHop]

    /// The action for a redirect.
    @nonexhaustive
    public enum Action: Sendable {
        /// Sends a request: the proposed one or a changed one. Restored credentials are sent.
        case follow(HTTPRequest)
        /// Delivers the redirect to the caller, as if it had no `Location`.
        case deliver
    }
}

/// A redirect that the client followed.
public struct RedirectHop: Sendable, Hashable, CustomStringConvertible {
    /// The URL that sent the redirect.
    public let url: URL
    /// The status of the redirect.
    public let status: Int

    package init(url: URL, status: Int) {
        self.url = url
        self.status = status
    }

    /// The host and port, without the path and the query, which may contain secrets.
    public var description: String { HTTPOrigin(url).map(\.description) ?? "nowhere" }
}
