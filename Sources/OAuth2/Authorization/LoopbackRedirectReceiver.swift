public import Foundation
public import Networking
import Synchronization
import TokenGeneration

/// A server on 127.0.0.1 that receives one authorization response in an application on the user's
/// machine ([RFC 8252 §7.3](https://www.rfc-editor.org/rfc/rfc8252#section-7.3)).
///
/// ```swift
/// let receiver = try LoopbackRedirectReceiver()
/// let request = try client.authorizationRequest(
///     redirectURI: receiver.redirectURI,
///     scope: "read"
/// )
/// openBrowser(at: try await request.url(at: client.server))
/// let redirect = try await receiver.redirect(for: request)
/// let tokens = try await client.tokens(
///     for: request.grant(from: redirect, of: client.server)
/// )
/// ```
///
/// The receiver listens from its initialization until it has received the response, the timeout has
/// expired, or ``stop()`` is called. It accepts only a `GET` request for its path and address, with
/// the request's `state`. It rejects all other requests and continues to wait, so that no web page
/// in the user's browser and no other program can end it. A request can have up to 16 KiB. Up to 64
/// connections are open; the receiver closes the oldest idle one for a new one.
public final class LoopbackRedirectReceiver: Sendable {
    /// The HTML pages that the browser shows at the end.
    package struct Pages: Sendable {
        let authorized: String
        let refused: String

        package init(authorized: String? = nil, refused: String? = nil) {
            let back = "You can close this page and go back to the program."
            self.authorized = authorized ?? RedirectResponse.page("Thank you", back)
            self.refused = refused ?? RedirectResponse.page("Not authorized", back)
        }
    }

    /// The URI that receives the response: `http://127.0.0.1:`, the port and the path.
    public let redirectURI: String
    private let listener: RedirectListener

    /// Creates a receiver and starts to listen.
    ///
    /// - Parameters:
    ///   - path: The path, exactly as registered; servers let only the port vary.
    ///   - port: The port. The default, 0, selects a free one. Some servers require a fixed port.
    ///   - authorizedPage: The HTML page for a response with a code. The default, `nil`, asks the
    ///     user to return to the program. Scripts in a page don't run, and the browser loads no
    ///     resources for it.
    ///   - refusedPage: The HTML page for a response with an error. The default, `nil`, reports it.
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest` for an invalid path, or
    ///   `receiverFailed` if the port is in use or the system doesn't allow listening.
    public convenience init(
        path: String = "/callback",
        port: UInt16 = 0,
        authorizedPage: String? = nil,
        refusedPage: String? = nil
    ) throws(OAuth2Error) {
        let pages = Pages(authorized: authorizedPage, refused: refusedPage)
        try self.init(path: path, port: port, pages: pages, patience: .seconds(10))
    }

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
                "the path of a redirect URI must begin with “/” and can't have spaces or a query"
            )
        }
        listener = try RedirectListener(path: path, port: port, pages: pages, patience: patience)
        redirectURI = "http://\(listener.host)\(path)"
    }

    deinit {
        listener.stop()
    }

    /// Waits for the response to a request.
    ///
    /// The receiver stops when this method returns or throws.
    ///
    /// - Parameters:
    ///   - request: The request, with the receiver's ``redirectURI``.
    ///   - verifier: The verifier that later reads the response. For an encrypted response, its
    ///     decrypter shows whether the response is for the request. The default is `nil`.
    ///   - timeout: The maximum time to wait for the user. The default is five minutes.
    ///   - timeSource: The source of time.
    /// - Returns: The URL that the browser requested, for ``AuthorizationRequest/grant(from:of:)``
    ///   or ``AuthorizationRequest/grant(from:of:verifiedBy:)``.
    /// - Throws: ``OAuth2Error`` with the code `authorizationExpired` if the timeout has expired,
    ///   or `receiverFailed` if the receiver is already in use; `CancellationError` if the task is
    ///   cancelled.
    public func redirect(
        for request: AuthorizationRequest,
        verifiedBy verifier: SignedResponseVerifier? = nil,
        within timeout: Duration = .seconds(300),
        timeSource: TimeSource = .system
    ) async throws -> URL {
        guard request.redirectURI == redirectURI else {
            throw OAuth2Error(
                .malformedRequest,
                "the request's redirect URI isn't this receiver's; use the receiver's redirectURI"
            )
        }
        defer { listener.stop() }
        let expected = ExpectedRedirect(state: Secret(request.state), decrypter: verifier?.decrypter)
        let query = try await listener.query(of: expected, within: timeout, timeSource: timeSource)
        guard let url = URL(string: "\(redirectURI)?\(query)") else {
            throw OAuth2Error(.protocolViolation, "the authorization response's query is malformed")
        }
        return url
    }

    /// Stops listening.
    ///
    /// A waiting call fails with the code `receiverFailed`.
    public func stop() { listener.stop() }
}

struct ExpectedRedirect {
    let state: Secret
    let decrypter: JWEDecrypter?
}

enum RedirectVerdict: Hashable {
    case answer(query: String, isRefusal: Bool)
    /// A request that came before a task waits for the response.
    case early
    case refused(status: Int)
    /// A response with another `state`.
    case foreign

    /// The `host` is the receiver's address and port; another one comes from a web page.
    static func on(_ head: RequestHead, host: String, path: String, expecting expected: ExpectedRedirect?) -> Self {
        // An authorization response has no body.
        guard head.target.hasPrefix("/"), head.headers.values(for: "Host") == [host],
            (try? head.framing(maximumBodySize: 0)) == .length(0)
        else { return .refused(status: 400) }
        let parts = head.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0] == path else { return .refused(status: 404) }
        guard head.method == .get else { return .refused(status: 405) }
        let query = parts.count == 2 ? String(parts[1]) : ""
        guard let fields = FormURLEncoded.decode(query) else { return .refused(status: 400) }
        guard let expected else { return .early }
        var parameters = fields.map { (name: $0.name, value: $0.value) }
        let responses = fields.filter { $0.name.isExactly("response") }
        if responses.count == 1,
            let opened = try? expected.decrypter.opened(responses[0].value, "the authorization response"),
            let token = try? UnverifiedToken(opened.text)
        {
            // Only to match the request: the caller that reads the response verifies the token.
            parameters = token.unverifiedClaims.compactMap { claim in claim.value.string.map { (claim.name, $0) } }
        }
        let states = parameters.filter { $0.name.isExactly("state") }.map(\.value)
        guard states.count == 1, Secret(states[0]) == expected.state else { return .foreign }
        return .answer(query: query, isRefusal: parameters.contains { $0.name.isExactly("error") })
    }
}

struct RedirectResponse {
    let status: Int
    let html: String

    /// Not cached, with nothing from the request, and without a reason phrase, which browsers
    /// ignore.
    var bytes: Data {
        let head = [
            "HTTP/1.1 \(status) ", "Content-Type: text/html; charset=utf-8",
            "Content-Length: \(html.utf8.count)",
            "Cache-Control: no-store", "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'",
            "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff", "Connection: close",
        ]
        return Data((head + (status == 405 ? ["Allow: GET"] : []) + ["", html]).joined(separator: "\r\n").utf8)
    }

    static func refusal(_ status: Int) -> Self {
        Self(status: status, html: page("Nothing here", "The program isn't waiting for this request."))
    }

    static func page(_ title: String, _ text: String) -> String {
        """
        <!doctype html><html lang="en"><head><meta charset="utf-8"><title>\(title)</title>\
        <style>body{font-family:sans-serif;margin:4em auto;max-width:30em}</style></head>\
        <body><h1>\(title)</h1><p>\(text)</p></body></html>

        """
    }
}
