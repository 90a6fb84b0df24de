public import Foundation
import Networking
public import TokenGeneration

/// A request of a browser, as a server framework received it.
///
/// ```swift
/// let message = SignInRequest(
///     method: request.method.rawValue,
///     target: request.url.string,
///     headers: request.headers
/// )
/// ```
public struct SignInRequest: Sendable, Redacted {
    /// The method, such as `GET`.
    public let method: String
    /// The path and the query, exactly as received.
    public let target: String
    /// The body, which only a ``SignInRoute`` of the method `POST` reads.
    public let body: Data
    let headers: HTTPHeaders

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - target: The path and the query, exactly as received. A scheme and host before them are
    ///     removed.
    ///   - headers: The header fields, in order. Repeated ones stay separate.
    ///   - body: The body. The default is empty.
    public init(
        method: String,
        target: String,
        headers: some Sequence<(name: String, value: String)>,
        body: Data = Data()
    ) {
        self.method = method
        var target = target
        // The absolute form of a request (RFC 9112 §3.2.2), whose host anyone can choose.
        let reference = target.prefix { $0 != "?" }
        if !reference.hasPrefix("/"), let authority = reference.range(of: "://") {
            target = String(target[authority.upperBound...].drop { $0 != "/" })
        }
        self.target = target
        self.headers = HTTPHeaders(headers.map { HTTPHeaders.Field(name: $0.name, value: $0.value) })
        self.body = body
    }

    /// The method and the path, without the query, which may have a code.
    public var description: String { "\(method) \(path)" }

    var path: String { String(target.prefix { $0 != "?" }) }

    var query: String { String(target.drop { $0 != "?" }.dropFirst()) }

    /// The values of the query, or of the form in the body, by name; `nil` for a repeated one.
    func value(_ name: String, in form: String) -> String? {
        let values = (FormURLEncoded.decode(form) ?? []).filter { $0.name.isExactly(name) }
        return values.count == 1 && !values[0].value.isEmpty ? values[0].value : nil
    }

    // MARK: Cookies

    /// The largest `Cookie` field that is read.
    private static let cookieLimit = 32 << 10

    /// The cookies by name.
    ///
    /// A name that occurs twice has no cookie, because one may be planted. The field is read as
    /// bytes, and only the white space is removed that browsers remove. Otherwise, a sibling domain
    /// could plant a name that doesn't begin with `__Host-` for the browser, but does here.
    var cookies: [String: String] {
        let text = headers.values(for: "Cookie").joined(separator: ";")
        guard text.utf8.count <= Self.cookieLimit else { return [:] }
        var cookies: [String: String] = [:]
        var repeated: Set<String> = []
        for pair in text.utf8.split(separator: UInt8(ascii: ";")) {
            guard let sign = pair.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = String(Substring(pair[..<sign]).trimmingHTTPWhitespace)
            guard HTTPSyntax.isToken(name) else { continue }
            let value = Substring(pair[pair.index(after: sign)...]).trimmingHTTPWhitespace
            if cookies.updateValue(String(value), forKey: name) != nil { repeated.insert(name) }
        }
        for name in repeated { cookies[name] = nil }
        return cookies
    }

    // MARK: Kinds of requests

    /// Whether a person opens a page.
    ///
    /// Other requests can't follow a redirect to a provider, and each would leave an attempt
    /// behind.
    var isNavigation: Bool {
        guard method == "GET", headers["Sec-Purpose"]?.contains("prefetch") != true else { return false }
        if let mode = headers["Sec-Fetch-Mode"] { return mode == "navigate" }
        return acceptsPages
    }

    var userAgent: String? {
        let text = headers["User-Agent"]?.utf8.prefix(256).filter { (0x20...0x7E).contains($0) }
        return text.map { String(decoding: $0, as: UTF8.self) }
    }

    var acceptsPages: Bool { headers.values(for: "Accept").contains { $0.contains("text/html") } }

    /// Whether the request can change something.
    ///
    /// A WebSocket can, and browsers open one to any origin.
    var isUnsafe: Bool {
        !["GET", "HEAD", "OPTIONS", "TRACE"].contains(method)
            || headers.values(for: "Upgrade").contains { $0.lowercased().contains("websocket") }
    }

    /// Whether a page of this origin made the request, by what only a browser can say.
    ///
    /// Without `Sec-Fetch-Site` and `Origin`, the field `X-CSRF` shows it: another origin can't add
    /// it without this server's consent
    /// ([Fetch](https://fetch.spec.whatwg.org/#cors-preflight-fetch)).
    func isSameOrigin(as origin: String) -> Bool {
        let sites = headers.values(for: "Sec-Fetch-Site")
        guard sites.isEmpty else { return sites == ["same-origin"] }
        let origins = headers.values(for: "Origin")
        guard origins.isEmpty else { return origins.count == 1 && origins[0].isExactly(origin) }
        return headers["X-CSRF"] != nil
    }
}

/// The response to a request of a browser.
public struct SignInResponse: Sendable, Redacted {
    /// The status code.
    public let status: Int
    /// The header fields, in order.
    ///
    /// There can be several `Set-Cookie`.
    public private(set) var headers: [(name: String, value: String)]
    /// The body, in UTF-8.
    public let body: String
    /// The reason of a refusal, to log; it contains no secret.
    public private(set) var error: SignInError?

    init(_ status: Int, headers: [(name: String, value: String)] = [], body: String = "", error: SignInError? = nil) {
        self.status = status
        // Every response depends on cookies.
        self.headers = [("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")] + headers
        self.body = body
        self.error = error
    }

    static func redirect(to place: String) -> Self { Self(303, headers: [("Location", place)]) }

    static func json(_ value: String) -> Self {
        Self(200, headers: [("Content-Type", "application/json")], body: value)
    }

    func setting(_ cookies: [String]) -> Self {
        var response = self
        response.headers += cookies.map { ("Set-Cookie", $0) }
        return response
    }

    /// Sets a field that occurs once.
    func setting(_ name: String, _ value: String) -> Self {
        var response = self
        response.headers.removeAll { $0.name == name }
        response.headers.append((name, value))
        return response
    }

    /// The status, without cookies and locations.
    public var description: String { error.map { "\(status) \($0.code)" } ?? "\(status)" }
}

/// A page that the sign-in shows when there is nothing to redirect to.
///
/// ``SignIn/Options/page`` can write it in the style of the application.
public struct SignInPage: Sendable, Hashable {
    /// A link, or a button that sends a form.
    public struct Action: Sendable, Hashable {
        /// The text.
        public let label: String
        /// The path on this server.
        public let path: String
        /// `true` for a form with the method `POST`, `false` for a link.
        public let isForm: Bool
    }

    /// The title.
    public let title: String
    /// A sentence for the user.
    ///
    /// It never has text of the request or the provider.
    public let message: String
    /// What the user can do.
    public let actions: [Action]

    /// The page in plain HTML, for light and dark screens of every width.
    public var html: String {
        let items = actions.map { action in
            let (label, path) = (Self.escaped(action.label), Self.escaped(action.path))
            return action.isForm
                ? "<form method=\"post\" action=\"\(path)\"><button>\(label)</button></form>"
                : "<p><a href=\"\(path)\">\(label)</a></p>"
        }
        return """
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <title>\(Self.escaped(title))</title>
            <style>
            :root { color-scheme: light dark; font: 1.1rem/1.5 system-ui, sans-serif }
            body { max-width: 32rem; margin: 15vh auto; padding: 0 1.5rem }
            h1 { font-size: 1.5rem }
            button, a { font: inherit }
            button { padding: 0.5rem 1.25rem; cursor: pointer }
            </style>
            <h1>\(Self.escaped(title))</h1>
            <p>\(Self.escaped(message))</p>
            \(items.joined(separator: "\n"))
            </html>

            """
    }

    /// Returns a text with the characters escaped that have a meaning in HTML.
    ///
    /// - Parameter text: The text.
    /// - Returns: The text for an element or a quoted attribute.
    public static func escaped(_ text: String) -> String {
        text.replacingASCII("&", with: "&amp;").replacingASCII("<", with: "&lt;").replacingASCII(">", with: "&gt;")
            .replacingASCII("\"", with: "&quot;").replacingASCII("'", with: "&#39;")
    }
}
