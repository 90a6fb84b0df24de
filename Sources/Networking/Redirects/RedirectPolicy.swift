/// Which redirects a client follows.
///
/// Following means, whatever the policy:
/// - 301 and 302 turn `POST` into `GET` and keep other methods; 303 turns all but `HEAD` into `GET`; 307 and 308 keep the method and
///   the body ([RFC 9110 §15.4](https://www.rfc-editor.org/rfc/rfc9110#section-15.4)); 300 with a `Location` is followed for
///   `GET` and `HEAD`. Where the body is dropped, so are the `Content-*` fields.
/// - `Authorization`, `Cookie`, `Proxy-Authorization`, `DPoP`, ``sensitiveHeaders`` and whatever a ``URLRequestAuthenticator`` put on
///   the request are removed when scheme, host or port change, and do not come back with a redirect to where they were meant for. Fields for the host itself (`Host`) are always
///   removed, and a `Referer` is not added.
/// - The `Location` is resolved against the URL that answered
///   ([RFC 3986 §5](https://www.rfc-editor.org/rfc/rfc3986#section-5)), whose fragment it inherits
///   ([RFC 9110 §10.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.2)).
/// - The deadline is that of the first request.
/// - At most 64 KiB of a redirect's body are read, for at most one second: it is of no use to a client that goes on. A redirect with a larger or
///   slower body that turns out not to be followed is ``NetworkError/Code/bodyTooLarge``, except with ``never``, which delivers any.
///
/// The body of a 307 or 308 goes wherever the redirect leads. If it has secrets in it, as token requests do, use ``sameOrigin`` or
/// ``never``.
///
/// A redirect from `https` to `http`, to anything but `http` and `https`, to a URL with user information, with a body that can't be
/// sent again, or with a DPoP proof for another URL or method is refused with ``NetworkError/Code/redirectRefused``. More than
/// ``maximumCount``, and a redirect to a request that was sent before, is ``NetworkError/Code/tooManyRedirects``. All other 3xx
/// responses, and those without a `Location`, are delivered to the caller.
public struct RedirectPolicy: Sendable {
    /// Says what becomes of a redirect that could be followed; what it throws ends the attempt.
    public typealias Decision = @Sendable (Redirect) async throws -> Redirect.Action

    enum Rule: Sendable {
        case all, sameOrigin, never
        case custom(Decision)
    }

    let rule: Rule
    /// How many redirects are followed for one request; 10 by default.
    public var maximumCount = 10
    /// The names of header fields that, like `Authorization`, are not sent to another origin, in any case; none by default.
    public var sensitiveHeaders: Set<String> = []

    private init(_ rule: Rule) {
        self.rule = rule
    }

    /// Follows every redirect that is not refused; what a client does by default.
    public static let follow = Self(.all)
    /// Follows redirects to the same scheme, host and port; other redirects are delivered.
    public static let sameOrigin = Self(.sameOrigin)
    /// Follows nothing: redirects are delivered, which for a client means a ``ServerError`` with the status.
    public static let never = Self(.never)

    /// Asks a closure about each redirect.
    ///
    /// It is asked about each redirect whose `Location` is an `http` or `https` URL, before anything else is refused. What it returns is
    /// checked like any other redirect, except that credentials which it puts on the request are sent.
    ///
    /// - Parameter decision: Says what becomes of a redirect.
    /// - Returns: The policy.
    public static func custom(_ decision: @escaping Decision) -> Self {
        Self(.custom(decision))
    }

    /// The same policy with another maximum.
    ///
    /// - Parameter maximum: How many redirects are followed for one request.
    /// - Returns: The policy.
    public func upTo(_ maximum: Int) -> Self {
        var policy = self
        policy.maximumCount = maximum
        return policy
    }

    /// The same policy, with more header fields that are not sent to another origin.
    ///
    /// - Parameter names: The names of the fields, in any case, such as `X-Api-Key`.
    /// - Returns: The policy.
    public func protecting(_ names: String...) -> Self {
        var policy = self
        policy.sensitiveHeaders.formUnion(names)
        return policy
    }
}
