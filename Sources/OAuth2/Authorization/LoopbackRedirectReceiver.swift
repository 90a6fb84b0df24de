public import Foundation
public import Networking
import Synchronization

/// Receives the answer to an authorization request in a program on the user's machine: a server on 127.0.0.1 for one answer
/// ([RFC 8252 §7.3](https://www.rfc-editor.org/rfc/rfc8252#section-7.3)).
///
/// ```swift
/// let receiver = try LoopbackRedirectReceiver()
/// let request = try client.authorizationRequest(redirectURI: receiver.redirectURI, scope: "read")
/// openBrowser(at: try request.url(at: client.server))
/// let redirect = try await receiver.redirect(for: request)
/// let tokens = try await client.tokens(for: request.grant(from: redirect, of: client.server))
/// ```
///
/// It listens from the moment it is made until the answer has come, the time is up, or ``stop()``. Only a `GET` of its path, under
/// its own address, with the request's `state`, is an answer; everything else is refused and changes nothing, so that no page
/// in the user's browser, and no other program, can end the waiting. Answers are at most 16 KiB, and at most 64 connections are
/// open: for another one, the oldest idle one is closed.
public final class LoopbackRedirectReceiver: Sendable {
    /// The pages that the browser shows in the end, as HTML; scripts in them don't run, and nothing is fetched for them.
    public struct Pages: Sendable {
        /// When the answer has a code.
        public var authorized: String
        /// When the answer has an error.
        public var refused: String

        /// Makes pages.
        ///
        /// - Parameters:
        ///   - authorized: When the answer has a code; `nil` for a page that says to go back to the program.
        ///   - refused: When the answer has an error; `nil` for a page that says so.
        public init(authorized: String? = nil, refused: String? = nil) {
            let back = "You can close this page and go back to the program."
            self.authorized = authorized ?? RedirectResponse.page("Thank you", back)
            self.refused = refused ?? RedirectResponse.page("Not authorized", back)
        }
    }

    /// Where answers come: `http://127.0.0.1:`, the port and the path.
    public let redirectURI: String
    private let listener: RedirectListener

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - path: Where answers come. Servers let the port vary and nothing else, so it has to be as registered.
    ///   - port: The port; 0, the default, for one that is free. Others are for servers that insist on one.
    ///   - pages: What the browser shows in the end.
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest` for a path that is none, `receiverFailed` if the port is taken
    ///   or the system refuses.
    public convenience init(path: String = "/callback", port: UInt16 = 0, pages: Pages = Pages()) throws(OAuth2Error) {
        try self.init(path: path, port: port, pages: pages, patience: .seconds(10))
    }

    /// Starts to listen, and gives each connection so long to ask.
    package init(
        path: String = "/callback",
        port: UInt16 = 0,
        pages: Pages = Pages(),
        patience: Duration
    ) throws(OAuth2Error) {
        let isWellFormed = path.utf8.allSatisfy { byte in
            (0x21...0x7E).contains(byte) && ![UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "\\")].contains(byte)
        }
        guard path.hasPrefix("/"), isWellFormed, path.utf8.count <= 1_024 else {
            throw OAuth2Error(
                .malformedRequest,
                "the path of a redirect URI begins with “/” and has neither spaces nor a query"
            )
        }
        listener = try RedirectListener(path: path, port: port, pages: pages, patience: patience)
        redirectURI = "http://\(listener.host)\(path)"
    }

    deinit {
        listener.stop()
    }

    /// Waits for the answer to a request.
    ///
    /// The receiver stops when this returns, however it does.
    ///
    /// - Parameters:
    ///   - request: The request, with the receiver's ``redirectURI``.
    ///   - timeout: How long the user has; five minutes by default.
    ///   - timeSource: Where time comes from.
    /// - Returns: The URL that the browser asked for, for ``AuthorizationRequest/grant(from:of:)``.
    /// - Throws: ``OAuth2Error`` with the code `authorizationExpired` if the time is up, `receiverFailed` if somebody waits or has waited
    ///   already; `CancellationError` if the task is cancelled.
    public func redirect(
        for request: AuthorizationRequest,
        within timeout: Duration = .seconds(300),
        timeSource: TimeSource = .system
    ) async throws -> URL {
        guard request.redirectURI == redirectURI else {
            throw OAuth2Error(
                .malformedRequest,
                "the request's redirect URI is not this receiver's; its answer would not come"
            )
        }
        defer { listener.stop() }
        let query = try await listener.query(state: Secret(request.state), within: timeout, timeSource: timeSource)
        guard let url = URL(string: "\(redirectURI)?\(query)") else {
            throw OAuth2Error(.protocolViolation, "the answer's query is malformed")
        }
        return url
    }

    /// Stops listening; whoever waits fails with the code `receiverFailed`.
    public func stop() { listener.stop() }
}
