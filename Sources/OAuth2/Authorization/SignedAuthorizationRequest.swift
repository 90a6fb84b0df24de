public import Foundation
internal import OpenSSLCrypto
public import TokenGeneration

/// An authorization request that nobody can change on the way: a JWT that the client signs
/// ([RFC 9101](https://www.rfc-editor.org/rfc/rfc9101)).
///
/// ```swift
/// let signed = try SignedAuthorizationRequest(request, for: server, signingService: service)
/// let url = try signed.url(at: server)  // send the user there, or leave it at the server:
/// let pushed = try await oauth.push(parameters: signed.parameters)
/// ```
public struct SignedAuthorizationRequest: Sendable {
    /// The client's identifier.
    public let clientID: String
    /// What the user is sent with: `client_id` and `request`, and for servers that check it (OpenID Connect Core 1.0 §6.1)
    /// `response_type` and `scope` as in the signed request.
    public let parameters: [(name: String, value: String)]

    /// Signs a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - server: Who is asked; the request is addressed to its issuer.
    ///   - signingService: What signs.
    ///   - lifetime: How long the signed request is valid: five minutes by default, at most a day; whole seconds count.
    ///   - audience: Whom it is addressed to, for a server that wants another name than its issuer.
    ///   - date: The present time.
    /// - Throws: ``OAuth2Error`` with the code `assertionFailed` if it can't be signed; `malformedRequest` if a parameter is
    ///   there several times, and is not `resource`.
    public init(
        _ request: AuthorizationRequest,
        for server: AuthorizationServer,
        signingService: any SigningService,
        lifetime: Duration = .seconds(300),
        audience: String? = nil,
        date: Date = Date()
    ) throws(OAuth2Error) {
        let claims = try Self.claims(request, audience ?? server.issuer, lifetime, date)
        let generator = JWTGenerator(header: Self.header, payload: claims, signingService: signingService)
        let token: String
        do { token = try generator.token() } catch { throw Self.failure(error) }
        self.init(request, token: token)
    }

    /// Signs a request with a key in a service elsewhere.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - server: Who is asked; the request is addressed to its issuer.
    ///   - remoteSigningService: What signs.
    ///   - lifetime: How long the signed request is valid: five minutes by default, at most a day; whole seconds count.
    ///   - audience: Whom it is addressed to, for a server that wants another name than its issuer.
    ///   - date: The present time.
    /// - Returns: The signed request.
    /// - Throws: As ``init(_:for:signingService:lifetime:audience:date:)``.
    public static func signed(
        _ request: AuthorizationRequest,
        for server: AuthorizationServer,
        remoteSigningService: any RemoteSigningService,
        lifetime: Duration = .seconds(300),
        audience: String? = nil,
        date: Date = Date()
    ) async throws(OAuth2Error) -> SignedAuthorizationRequest {
        let claims = try claims(request, audience ?? server.issuer, lifetime, date)
        do {
            let token = try await remoteSigningService.sign(claims, header: header)
            return Self(request, token: token)
        } catch { throw failure(error) }
    }

    private init(_ request: AuthorizationRequest, token: String) {
        clientID = request.clientID
        let repeated = request.parameters.filter { ["response_type", "scope"].contains($0.name) }
        parameters = [("client_id", request.clientID)] + repeated + [("request", token)]
    }

    /// Where to send the user ([RFC 9101 §5](https://www.rfc-editor.org/rfc/rfc9101#section-5)).
    ///
    /// - Parameter server: Who is asked.
    /// - Returns: The URL.
    /// - Throws: ``OAuth2Error`` with the code `endpointMissing` if the server has no authorization endpoint, `insecureTransport`
    ///   if that is neither `https` nor on this machine, or `malformedRequest` if it takes only requests that were left with it before.
    public func url(at server: AuthorizationServer) throws(OAuth2Error) -> URL {
        try server.checkTakesRequestsFromUsers()
        return try AuthorizationRequest.url(at: server, parameters: parameters)
    }

    // MARK: What is signed

    private static let header: JSONObject = ["typ": "oauth-authz-req+jwt"]
    /// Parameters whose values are JSON, and are so in the signed request, too.
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
            default: throw OAuth2Error(.malformedRequest, "the parameter “\(name.prefix(40))” is there several times")
            }
        }
        let issued = Int(date.timeIntervalSince1970)
        let seconds = Int(min(max(lifetime, .seconds(1)), .seconds(86_400)).components.seconds)
        claims["iss"] = .string(request.clientID)
        claims["aud"] = .string(audience)
        claims["iat"] = .number(JSONNumber(issued))
        claims["nbf"] = .number(JSONNumber(issued))
        claims["exp"] = .number(JSONNumber(issued + seconds))
        do { claims["jti"] = .string(try SecureRandom.bytes(count: 16).hexadecimal) } catch { throw failure(error) }
        return claims
    }

    /// A parameter's value as a claim: `max_age` is a number, and JSON is not wrapped in a text
    /// ([RFC 9101 §4](https://www.rfc-editor.org/rfc/rfc9101#section-4)).
    private static func value(_ text: String, of name: String) -> JSONValue {
        if name == "max_age", let seconds = Int(text) { return .number(JSONNumber(seconds)) }
        guard structured.contains(name) else { return .string(text) }
        // The parser takes objects only; a list is one's member.
        return (try? JSONObject(parsing: #"{"value":\#(text)}"#))?["value"] ?? .string(text)
    }

    private static func failure(_ error: any Error) -> OAuth2Error {
        OAuth2Error(.assertionFailed, "the authorization request could not be signed", cause: error)
    }
}

extension SignedAuthorizationRequest: CustomStringConvertible, CustomReflectable {
    /// Who asks, without the request.
    public var description: String { "signed authorization request of \(clientID)" }

    /// A mirror without the parameters' values.
    public var customMirror: Mirror {
        Mirror(self, children: ["clientID": clientID, "parameters": parameters.map(\.name)])
    }
}
