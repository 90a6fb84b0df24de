public import Hummingbird
public import Networking
public import WebSignIn

/// A request context for the user who has signed in.
///
/// ``SignedInContext`` is ready to use. An application's context needs one property:
///
/// ```swift
/// struct AppContext: SignedInRequestContext {
///     var coreContext: CoreRequestContextStorage
///     var user: UserSession?
///
///     init(source: Source) { coreContext = .init(source: source) }
/// }
/// ```
public protocol SignedInRequestContext: RequestContext {
    /// The session of the user; `nil` if the user hasn't signed in, or on a route outside of
    /// `signedIn(by:)` and `requiringSignIn(by:acr:maximumAge:)`.
    var user: UserSession? { get set }
}

extension SignedInRequestContext {
    /// The session of the user.
    ///
    /// - Throws: `HTTPError` with the status 401 if the user hasn't signed in, which can't happen
    ///   on routes of `requiringSignIn(by:acr:maximumAge:)`.
    public var signedIn: UserSession {
        get throws {
            guard let user else { throw HTTPError(.unauthorized) }
            return user
        }
    }

    /// A client that sends requests to APIs as the user.
    ///
    /// - Throws: The error of ``signedIn``.
    public var client: NetworkClient {
        get throws { try signedIn.client }
    }
}

/// A context with the user who has signed in.
public struct SignedInContext: SignedInRequestContext {
    /// The values that Hummingbird requires.
    public var coreContext: CoreRequestContextStorage
    /// The session of the user.
    public var user: UserSession?

    /// Creates a context.
    ///
    /// - Parameter source: The source of the context.
    public init(source: Source) { coreContext = CoreRequestContextStorage(source: source) }
}
