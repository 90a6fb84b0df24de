public import Foundation
import FoundationNetworking
public import Networking

/// A request to a token endpoint, or to another that asks which client it is, before it is sent: a grant fills in what it
/// asks for, and a ``ClientAuthentication`` who asks.
public struct TokenRequest: Sendable {
    /// The server that is asked.
    public let server: AuthorizationServer
    /// Where the request goes: the server's token endpoint, unless it is for another of its endpoints.
    public let endpoint: URL
    /// The form's fields, in the order in which they are sent.
    public private(set) var form: [(name: String, value: String)]
    /// The header fields besides those of every form.
    public var headers: HTTPHeaders

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - server: The server that is asked.
    ///   - form: The form's fields.
    ///   - endpoint: Where the request goes; `nil` for the server's token endpoint.
    public init(server: AuthorizationServer, form: [(name: String, value: String)], endpoint: URL? = nil) {
        self.server = server
        self.endpoint = endpoint ?? server.tokenEndpoint
        self.form = form
        headers = [:]
    }

    /// Sets a field of the form: parameters must not be repeated
    /// ([RFC 6749 §3.2](https://www.rfc-editor.org/rfc/rfc6749#section-3.2)).
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value; it is encoded when the request is sent.
    public mutating func set(_ name: String, _ value: String) {
        form.removeAll { $0.name == name }
        form.append((name, value))
    }

    /// The values in the request that must not be shown: those of fields that may be secret, and of all header fields, such as a
    /// DPoP proof or what an authentication of the application's own adds.
    var secrets: SentSecrets {
        let fields = form.filter { !Self.openFields.contains($0.name) }.map(\.value)
        let values = headers.filter { $0.name != "Authorization" }.map(\.value)
        let credentials = headers.values(for: "Authorization").map { $0.split(separator: " ", maxSplits: 1) }
        let passwords = credentials.filter { $0.first?.lowercased() == "basic" }.compactMap { parts -> String? in
            guard let octets = parts.last.flatMap({ Data(base64Encoded: String($0)) }) else { return nil }
            let pair = String(decoding: octets, as: UTF8.self)
            return pair.firstIndex(of: ":").map { String(pair[pair.index(after: $0)...]) }
        }
        return SentSecrets(
            fields + values + credentials.compactMap { $0.last.map(String.init) } + passwords
                + passwords.compactMap { FormURLEncoded.decodeComponent($0) }
        )
    }

    private static let openFields: Set = [
        "grant_type", "client_id", "client_assertion_type", "scope", "resource", "audience", "subject_token_type",
        "actor_token_type", "requested_token_type", "redirect_uri", "token_type_hint", "response_type", "response_mode",
        "code_challenge_method", "prompt", "display", "max_age", "ui_locales", "acr_values", "claims",
        "authorization_details", "dpop_jkt",
    ]

    /// The request to send.
    ///
    /// - Throws: `NetworkError` with the code `invalidRequest` if it can't have one of the header fields.
    var urlRequest: URLRequest {
        get throws(NetworkError) {
            var request = URLRequest(url: endpoint)
            request.httpMethod = "POST"
            try request.addHeaderFields(headers)
            request.setValue(FormURLEncoded.contentType, forHTTPHeaderField: "Content-Type")
            request.setValue("application/json", forHTTPHeaderField: "Accept")
            request.httpBody = Data(FormURLEncoded.encode(form).utf8)
            return request
        }
    }
}

extension TokenRequest: CustomStringConvertible, CustomReflectable {
    /// Where the request goes and what fields it has, without their values.
    public var description: String {
        let names = form.map(\.name) + headers.map(\.name)
        return "token request to \(endpoint.host ?? "nowhere") with \(names.joined(separator: ", "))"
    }

    /// A mirror without the fields' values.
    public var customMirror: Mirror {
        Mirror(self, children: ["server": server, "form": form.map(\.name), "headers": headers.map(\.name)])
    }
}
