public import Foundation
import FoundationNetworking
public import Networking

extension MockAuthorizationServer {
    /// What a user is asked to grant.
    public struct Prompt: Sendable, Hashable {
        /// Who asks.
        public let clientID: String
        /// The scope asked for.
        public let scope: String
        /// All parameters of the authorization request.
        public let parameters: [String: String]
    }

    /// What a user says to it.
    public struct Decision: Sendable, Hashable {
        enum Wrapped: Hashable {
            case approved(String)
            case refused(String)
        }

        let wrapped: Wrapped

        /// Yes.
        ///
        /// - Parameter subject: Who the user is.
        /// - Returns: The decision.
        public static func approved(subject: String) -> Self { Self(wrapped: .approved(subject)) }

        /// No: `access_denied`.
        public static let denied = Self(wrapped: .refused("access_denied"))

        /// Something is in the way
        /// ([RFC 6749 §4.1.2.1](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2.1)).
        ///
        /// - Parameter error: The error code, such as `login_required`.
        /// - Returns: The decision.
        public static func error(_ error: String) -> Self { Self(wrapped: .refused(error)) }
    }

    /// Decides what users grant from now on; until then everybody is `ada` and grants everything.
    ///
    /// - Parameter decide: Decides about one request.
    public func decide(_ decide: @escaping @Sendable (Prompt) -> Decision) {
        handlers.codes.decide(decide)
    }

    /// Opens a URL as a user's browser would that grants what it is asked for, and says where it is
    /// sent.
    ///
    /// The browser does not go there: read the answer with `AuthorizationRequest.grant(from:of:)`,
    /// or request the URL from a program that listens at it.
    ///
    /// - Parameters:
    ///   - url: The URL of an authorization request.
    ///   - client: What sends the request.
    /// - Returns: Where the browser is sent.
    /// - Throws: `ServerError` if the server answers with something else than a redirect;
    ///   ``MockError`` with the code `unexpectedRequest` for a redirect without a place.
    public func visit(_ url: URL, client: NetworkClient = NetworkClient()) async throws -> URL {
        do {
            _ = try await client.response(for: URLRequest(url: url), options: RequestOptions(redirects: .never))
        } catch let error as ServerError where (300...399).contains(error.errorCode) {
            if let place = error.headers["Location"].flatMap(URL.init(string:)) { return place }
            throw error
        }
        throw MockError(.noRedirect, "the authorization endpoint answered without sending the browser anywhere")
    }
}

extension MockAuthorizationServer.Fault {
    /// The browser is sent back with other parameters, or without some; what was granted counts.
    ///
    /// - Parameter parameters: The new values; `nil` takes a parameter away.
    /// - Returns: The fault.
    public static func redirectParameters(_ parameters: [String: String?]) -> Self {
        Self(
            kind: .changed { response in
                guard let location = response.headers["Location"], let mark = location.firstIndex(of: "?"),
                    var pairs = FormURLEncoded.decode(location[location.index(after: mark)...])
                else { return response }
                for (name, value) in parameters.sorted(by: { $0.key < $1.key }) {
                    let index = pairs.firstIndex { $0.name == name } ?? pairs.endIndex
                    pairs.removeAll { $0.name == name }
                    if let value { pairs.insert((name, value), at: min(index, pairs.endIndex)) }
                }
                var response = response
                response.headers["Location"] = "\(location[..<mark])?\(FormURLEncoded.encode(pairs))"
                return response
            }
        )
    }
}
