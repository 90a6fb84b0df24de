/// A source of the user's or service's token, which the client exchanges for tokens with a narrower
/// scope.
public protocol AuthenticationProvider: Sendable {
    /// A currently valid bearer token, used as the subject token of an exchange.
    ///
    /// - Throws: An error if no token is available. The client then sends nothing and throws a
    ///   ``NetworkError`` with the code `requestNotMade` and this error as its cause.
    var bearerToken: String { get async throws }
}
