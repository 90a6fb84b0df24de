/// Who has the token that stands for the user or the service, to be exchanged for tokens of narrower use.
public protocol AuthenticationProvider: Sendable {
    /// A bearer token that is valid now; it is the subject token of an exchange.
    ///
    /// - Throws: Why there is none. Nothing is sent then, and it is the cause of a ``NetworkError`` with the code `requestNotMade`.
    var bearerToken: String { get async throws }
}
