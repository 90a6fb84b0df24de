import Foundation
import Networking
import TokenGeneration

/// What a browser, or somebody else on this machine, asks a ``LoopbackRedirectReceiver`` for: decided without a socket.
struct RedirectRequest {
    /// How long a request's header section may be, in octets.
    static let maximumSize = 16 << 10

    /// What the receiver answers to a request.
    enum Verdict: Hashable {
        /// It is the answer that is waited for; its query, and whether there is an error in it.
        case answer(query: String, isRefusal: Bool)
        /// It came before anybody waits for an answer.
        case early
        /// It is something else.
        case refused(status: Int)
        /// It would be the answer if its `state` were that of the request.
        case foreign
    }

    private let method: Substring
    private let target: Substring
    private let hosts: [Substring]
    private let hasBody: Bool

    /// Reads a header section; `nil` if it is not one of HTTP/1.
    ///
    /// - Parameter octets: The octets up to the empty line, without it.
    init?(_ octets: some Collection<UInt8>) {
        guard octets.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || [0x09, 0x0A, 0x0D].contains($0) }) else { return nil }
        let text = String(decoding: octets, as: UTF8.self).asciiOnly
        let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
        let words = lines.first?.split(separator: " ", omittingEmptySubsequences: false) ?? []
        guard words.count == 3, words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0", words[1].hasPrefix("/"),
            words[1].utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        var hosts: [Substring] = []
        var hasBody = false
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":"), line.first != " ", line.first != "\t" else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            switch line[..<colon].lowercased() {
            case "host": hosts.append(value)
            case "transfer-encoding": hasBody = true
            case "content-length": hasBody = hasBody || value != "0"
            default: break
            }
        }
        (method, target) = (words[0], words[1])
        (self.hosts, self.hasBody) = (hosts, hasBody)
    }

    /// Decides about the request.
    ///
    /// - Parameters:
    ///   - host: The receiver's address and port: under another name a page elsewhere has led the browser here.
    ///   - path: Where answers come.
    ///   - state: The state of the request that an answer is waited for; `nil` if nobody waits yet.
    /// - Returns: What the receiver answers.
    func verdict(host: String, path: String, state: Secret?) -> Verdict {
        guard hosts.count == 1, hosts[0] == host, !hasBody else { return .refused(status: 400) }
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0] == path else { return .refused(status: 404) }
        guard method == "GET" else { return .refused(status: 405) }
        let query = parts.count == 2 ? String(parts[1]) : ""
        guard let fields = FormURLEncoded.decode(query) else { return .refused(status: 400) }
        guard let state else { return .early }
        var parameters = fields.map { (name: $0.name, value: $0.value) }
        let responses = fields.filter { $0.name == "response" }
        if responses.count == 1, let token = try? UnverifiedToken(responses[0].value) {
            // Only to tell which request is answered: whoever reads the answer verifies it.
            parameters = token.unverifiedClaims.compactMap { claim in claim.value.string.map { (claim.name, $0) } }
        }
        let states = parameters.filter { $0.name == "state" }.map(\.value)
        guard states.count == 1, Secret(states[0]) == state else { return .foreign }
        return .answer(query: query, isRefusal: parameters.contains { $0.name == "error" })
    }
}

/// What a browser is shown.
struct RedirectResponse {
    let status: Int
    let html: String

    /// The octets of the response: nothing in it comes from the request, and nothing is kept or fetched because of it.
    var octets: [UInt8] {
        let reason =
            switch status {
            case 200: "OK"
            case 400: "Bad Request"
            case 404: "Not Found"
            case 405: "Method Not Allowed"
            case 431: "Request Header Fields Too Large"
            default: "Error"
            }
        let head = [
            "HTTP/1.1 \(status) \(reason)", "Content-Type: text/html; charset=utf-8",
            "Content-Length: \(html.utf8.count)",
            "Cache-Control: no-store", "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'",
            "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff", "Connection: close",
        ]
        return Array((head + (status == 405 ? ["Allow: GET"] : []) + ["", html]).joined(separator: "\r\n").utf8)
    }

    static func refusal(_ status: Int) -> Self {
        Self(status: status, html: page("Nothing here", "This is not what this program waits for."))
    }

    /// A page without anything that would have to be fetched.
    static func page(_ title: String, _ text: String) -> String {
        """
        <!doctype html><html lang="en"><head><meta charset="utf-8"><title>\(title)</title>\
        <style>body{font-family:sans-serif;margin:4em auto;max-width:30em}</style></head>\
        <body><h1>\(title)</h1><p>\(text)</p></body></html>

        """
    }
}
