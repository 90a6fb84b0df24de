public import Foundation
internal import OpenSSLCrypto
public import TokenGeneration

/// An authorization request in a JWT that the client signs, so that it can't be changed in transit
/// ([RFC 9101](https://www.rfc-editor.org/rfc/rfc9101)).
///
/// ```swift
/// let signed = try await SignedAuthorizationRequest(
///     request,
///     for: server,
///     signingService: service
/// )
/// // Send the user there, or push the request to the server.
/// let url = try signed.url(at: server)
/// let pushed = try await oauth.push(signed)
/// ```
public struct SignedAuthorizationRequest: Sendable, Redacted {
    package let clientID: String
    /// The parameters of the URL for the user: `client_id` and `request`, and for servers that
    /// check them (OpenID Connect Core 1.0 §6.1) `response_type` and `scope` as in the signed
    /// request.
    package let parameters: [(name: String, value: String)]

    /// Signs a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - server: The server. The audience of the request is its issuer identifier.
    ///   - signingService: The service that signs.
    ///   - lifetime: The lifetime in whole seconds, at most one day. The default is five minutes.
    ///   - audience: The audience, for a server that expects another value than its issuer
    ///     identifier. The default is `nil`.
    ///   - date: The current time.
    /// - Throws: ``OAuth2Error`` with the code `assertionFailed` if the request can't be signed, or
    ///   `malformedRequest` if a parameter other than `resource` occurs more than once.
    public init(
        _ request: AuthorizationRequest,
        for server: AuthorizationServer,
        signingService: any SigningService,
        lifetime: Duration = .seconds(300),
        audience: String? = nil,
        date: Date = Date()
    ) async throws(OAuth2Error) {
        let claims = try Self.claims(request, audience ?? server.issuer, lifetime, date)
        let token: String
        do {
            token = try await signingService.token(for: claims, header: ["typ": "oauth-authz-req+jwt"])
        } catch {
            throw Self.failure(error)
        }
        clientID = request.clientID
        let repeated = request.parameters.filter { ["response_type", "scope"].contains($0.name) }
        parameters = [("client_id", request.clientID)] + repeated + [("request", token)]
    }

    private init(clientID: String, parameters: [(name: String, value: String)]) {
        self.clientID = clientID
        self.parameters = parameters
    }

    /// Returns the request encrypted for the server, so that the user's browser can't read it
    /// ([RFC 9101 §4](https://www.rfc-editor.org/rfc/rfc9101#section-4)).
    ///
    /// ```swift
    /// let key = try await serverKeys.encryptionKey(for: .rsaOAEP256)
    /// let url = try signed.encrypted(for: key).url(at: server)
    /// ```
    ///
    /// `response_type` and `scope` remain readable.
    ///
    /// - Parameters:
    ///   - key: The server's public key, or `EncryptionKey(clientSecret:algorithm:encryption:)`.
    ///   - encryption: The content encryption. The default, `nil`, is that of a key for `dir`, and
    ///     A128CBC-HS256 otherwise, as in registration.
    /// - Returns: The encrypted request.
    /// - Throws: ``OAuth2Error`` with the code `assertionFailed`, with a `TokenError` as its cause,
    ///   if the request is already encrypted or can't be encrypted with the key.
    public func encrypted(
        for key: EncryptionKey,
        encryption: JWEEncryption? = nil
    ) throws(OAuth2Error) -> SignedAuthorizationRequest {
        var parameters = parameters
        do {
            let encryption = encryption ?? key.encryption ?? .a128CBCHS256
            for index in parameters.indices where parameters[index].name == "request" {
                parameters[index].value = try key.encrypt(signedToken: parameters[index].value, encryption: encryption)
            }
        } catch {
            throw OAuth2Error(.assertionFailed, "the authorization request can't be encrypted", cause: error)
        }
        return Self(clientID: clientID, parameters: parameters)
    }

    /// Returns the URL to open in the user's browser
    /// ([RFC 9101 §5](https://www.rfc-editor.org/rfc/rfc9101#section-5)).
    ///
    /// - Parameter server: The server.
    /// - Returns: The URL.
    /// - Throws: ``OAuth2Error`` with the code `endpointMissing` if the server has no authorization
    ///   endpoint, `insecureTransport` if the endpoint is neither `https` nor on this machine, or
    ///   `malformedRequest` if the server requires pushed requests.
    public func url(at server: AuthorizationServer) throws(OAuth2Error) -> URL {
        try server.checkTakesRequestsFromUsers()
        return try AuthorizationRequest.url(at: server, parameters: parameters)
    }

    // MARK: Claims

    private static let structured: Set = ["claims", "authorization_details"]

    private static func claims(
        _ request: AuthorizationRequest,
        _ audience: String,
        _ lifetime: Duration,
        _ date: Date
    ) throws(OAuth2Error) -> JSONObject {
        var claims: JSONObject = [:]
        for (name, value) in request.parameters {
            let value = Self.value(value, of: name)
            switch (claims[name], name) {
            case (nil, _): claims[name] = value
            case (.array(let others)?, "resource"): claims[name] = .array(others + [value])
            case (let other?, "resource"): claims[name] = .array([other, value])
            default: throw OAuth2Error(.malformedRequest, "the request has more than one “\(name.prefix(40))”")
            }
        }
        let issued = Int(clamping: date.timeIntervalSince1970)
        let seconds = Int(min(max(lifetime, .seconds(1)), .seconds(86_400)).components.seconds)
        claims["iss"] = .string(request.clientID)
        claims["aud"] = .string(audience)
        claims["iat"] = .number(JSONNumber(issued))
        claims["nbf"] = .number(JSONNumber(issued))
        claims["exp"] = .number(JSONNumber(issued + seconds))
        do { claims["jti"] = .string(try SecureRandom.bytes(count: 16).hexadecimal) } catch { throw failure(error) }
        return claims
    }

    /// `max_age` becomes a number, and JSON text becomes JSON
    /// ([RFC 9101 §4](https://www.rfc-editor.org/rfc/rfc9101#section-4)).
    private static func value(_ text: String, of name: String) -> JSONValue {
        if name == "max_age", let seconds = Int(text) { return .number(JSONNumber(seconds)) }
        guard structured.contains(name) else { return .string(text) }
        // The parser accepts only objects, so wrap the value in one.
        return (try? JSONObject(parsing: #"{"value":\#(text)}"#))?["value"] ?? .string(text)
    }

    private static func failure(_ error: any Error) -> OAuth2Error {
        OAuth2Error(.assertionFailed, "the authorization request can't be signed", cause: error)
    }

    /// The client's identifier, without the request.
    public var description: String { "signed authorization request of \(clientID)" }
}
