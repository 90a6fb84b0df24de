public import Foundation
import FoundationNetworking
public import Networking
public import TokenGeneration

/// A request to a token endpoint, or another endpoint that authenticates clients.
///
/// A grant adds its parameters, and a ``ClientAuthentication`` the client's credential.
public struct TokenRequest: Sendable {
    /// The server that receives the request.
    public let server: AuthorizationServer
    /// The endpoint that receives the request, by default the server's token endpoint.
    public let endpoint: URL
    /// The form's fields, in the order to send them; or the members of a JSON object, see
    /// ``AuthorizationServer/requiresJSONTokenRequests``.
    public private(set) var form: [(name: String, value: String)]
    /// The header fields in addition to those of every form.
    public var headers: HTTPHeaders
    /// The use of an assertion that the client can't renew at will, if the request has one.
    var assertionUse: AssertionUse?
    private let isJSON: Bool

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - server: The server that receives the request.
    ///   - form: The form's fields.
    ///   - endpoint: The endpoint. The default, `nil`, is the server's token endpoint.
    public init(server: AuthorizationServer, form: [(name: String, value: String)], endpoint: URL? = nil) {
        self.server = server
        self.endpoint = endpoint ?? server.tokenEndpoint
        self.form = form
        isJSON = endpoint == nil && server.requiresJSONTokenRequests
        headers = [:]
    }

    /// Sets a field of the form, replacing any with the same name, because parameters must not be
    /// repeated ([RFC 6749 §3.2](https://www.rfc-editor.org/rfc/rfc6749#section-3.2)).
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value, unencoded.
    public mutating func set(_ name: String, _ value: String) {
        form.removeAll { $0.name == name }
        form.append((name, value))
    }

    /// The values in the request that must not be shown: those of potentially secret fields and of
    /// all header fields, such as a DPoP proof or a custom authentication.
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

    /// The URL request.
    ///
    /// - Throws: `NetworkError` with the code `invalidRequest` for an invalid header field.
    var urlRequest: URLRequest {
        get throws(NetworkError) {
            var request = URLRequest(url: endpoint)
            request.httpMethod = "POST"
            try request.addHeaderFields(headers)
            request.setValue(
                isJSON ? "application/json" : FormURLEncoded.contentType,
                forHTTPHeaderField: "Content-Type"
            )
            request.setValue("application/json", forHTTPHeaderField: "Accept")
            request.httpBody = isJSON ? json.serializedData() : Data(FormURLEncoded.encode(form).utf8)
            return request
        }
    }

    /// The fields as an object, whose names must be unique.
    private var json: JSONObject {
        var object: JSONObject = [:]
        for (name, value) in form {
            object[name] =
                switch object[name] {
                case nil: .string(value)
                case .array(let values)?: .array(values + [.string(value)])
                case let first?: .array([first, .string(value)])
                }
        }
        return object
    }
}

extension TokenRequest: Redacted {
    /// The endpoint's host and the names of the fields, without their values.
    public var description: String {
        let names = form.map(\.name) + headers.map(\.name)
        return "token request to \(endpoint.host ?? "nowhere") with \(names.joined(separator: ", "))"
    }
}
