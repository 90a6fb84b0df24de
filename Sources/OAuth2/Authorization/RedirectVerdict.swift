import Foundation
import Networking
import TokenGeneration

/// The response that a ``LoopbackRedirectReceiver`` waits for.
struct ExpectedRedirect {
    /// The `state` of the request.
    let state: Secret
    /// The decrypter of the response, or `nil` if it isn't encrypted.
    let decrypter: JWEDecrypter?
}

/// The decision about a request to a ``LoopbackRedirectReceiver``.
enum RedirectVerdict: Hashable {
    /// The expected response, with its query and whether it's an error.
    case answer(query: String, isRefusal: Bool)
    /// A request that came before a task waits for the response.
    case early
    /// Another request.
    case refused(status: Int)
    /// A response with another `state`.
    case foreign

    /// Decides how to treat a request.
    ///
    /// The `host` is the receiver's address and port; another one comes from a web page. The
    /// expected response is `nil` if no task is waiting yet.
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

/// A response that a browser shows.
struct RedirectResponse {
    let status: Int
    let html: String

    /// The bytes of the response.
    ///
    /// It contains nothing from the request, isn't cached, and makes the browser load nothing. It
    /// has no reason phrase, which browsers ignore.
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

    /// Returns a page that doesn't load anything.
    static func page(_ title: String, _ text: String) -> String {
        """
        <!doctype html><html lang="en"><head><meta charset="utf-8"><title>\(title)</title>\
        <style>body{font-family:sans-serif;margin:4em auto;max-width:30em}</style></head>\
        <body><h1>\(title)</h1><p>\(text)</p></body></html>

        """
    }
}
