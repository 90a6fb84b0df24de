/// A server's treatment of refresh tokens that a client uses a second time.
///
/// Servers that rotate refresh tokens revoke the whole grant when a token is used twice
/// ([RFC 9700 §4.14](https://www.rfc-editor.org/rfc/rfc9700#section-4.14)). Some accept the
/// preceding token for a grace period.
public struct RefreshTokenRotation: Sendable, Hashable {
    private enum Wrapped: Hashable { case none, rotating(grace: Duration?) }
    private let wrapped: Wrapped

    /// The server doesn't replace refresh tokens.
    ///
    /// Such a token is sent without announcing it to other hosts, and again after a lost response.
    public static var none: Self { Self(wrapped: .none) }

    /// The server replaces a refresh token when it's used.
    ///
    /// - Parameter grace: The time for which the server accepts the preceding token again. The
    ///   default is `nil`, for none.
    /// - Returns: The treatment.
    public static func rotating(grace: Duration? = nil) -> Self { Self(wrapped: .rotating(grace: grace)) }

    /// A Boolean value that indicates whether a second use of a token ends the grant.
    var isRotating: Bool { wrapped != .none }

    /// The grace period, if there is one.
    var grace: Duration? {
        guard case .rotating(let grace) = wrapped else { return nil }
        return grace
    }
}
