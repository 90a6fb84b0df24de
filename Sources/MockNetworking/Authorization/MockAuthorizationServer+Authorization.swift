public import Foundation
import FoundationNetworking
public import Networking

extension MockAuthorizationServer {
    /// A request for a user's authorization.
    public struct Prompt: Sendable, Hashable {
        /// The identifier of the client.
        public let clientID: String
        /// The requested scope.
        public let scope: String
        /// All parameters of the authorization request.
        public let parameters: [String: String]
    }

    /// A user's decision about an authorization request.
    @nonexhaustive
    public enum Decision: Sendable, Hashable {
        /// Approves the request, by the identifier of the user.
        case approved(subject: String)
        /// A denial of the request, with `access_denied`.
        case denied
        /// Fails with another error, such as `login_required`
        /// ([RFC 6749 §4.1.2.1](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2.1)).
        case error(String)
    }

    /// Sets the closure that decides for users.
    ///
    /// By default, the user is `ada` and approves everything.
    ///
    /// - Parameter decide: Returns the decision about a request.
    public func decide(_ decide: @escaping @Sendable (Prompt) -> Decision) {
        endpoints.codes.decide(decide)
    }

    /// Opens a URL like a user's browser, and returns the URL of the server's redirect.
    ///
    /// It doesn't follow the redirect. Read the authorization response with
    /// `AuthorizationRequest.grant(from:of:)`, or request the URL from a program that listens on
    /// it.
    ///
    /// - Parameters:
    ///   - url: The URL of an authorization request.
    ///   - client: The client that sends the request.
    /// - Returns: The URL of the redirect.
    /// - Throws: `ServerError` if the server responds with an error, or with a redirect without a
    ///   valid `Location`. ``MockError`` with the code `noRedirect` if it responds with any other
    ///   status.
    public func visit(_ url: URL, client: NetworkClient = NetworkClient()) async throws -> URL {
        do {
            _ = try await client.response(for: URLRequest(url: url), options: RequestOptions(redirects: .never))
        } catch let error as ServerError where (300...399).contains(error.errorCode) {
            if let place = error.headers["Location"].flatMap(URL.init(string:)) { return place }
            throw error
        }
        throw MockError(.noRedirect, "the authorization endpoint didn't redirect the browser")
    }
}

extension MockAuthorizationServer.Fault {
    /// Changes or removes parameters of the redirect, after processing the request.
    ///
    /// - Parameter parameters: The new values. `nil` removes a parameter.
    /// - Returns: The fault.
    public static func redirectParameters(_ parameters: [String: String?]) -> Self {
        Self(
            kind: .changed { response in
                response.changingRedirect { pairs in
                    for (name, value) in parameters.sorted(by: { $0.key < $1.key }) {
                        let index = pairs.firstIndex { $0.name == name } ?? pairs.endIndex
                        pairs.removeAll { $0.name == name }
                        if let value { pairs.insert((name, value), at: min(index, pairs.endIndex)) }
                    }
                }
            }
        )
    }
}
