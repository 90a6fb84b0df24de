import Foundation

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
