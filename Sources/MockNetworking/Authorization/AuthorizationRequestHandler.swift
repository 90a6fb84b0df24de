import Foundation
import Networking
import OAuth2
import Synchronization
import TokenGeneration

/// The pushed ([RFC 9126](https://www.rfc-editor.org/rfc/rfc9126)) and signed
/// ([RFC 9101](https://www.rfc-editor.org/rfc/rfc9101)) authorization requests.
final class AuthorizationRequestHandler: Sendable {
    private struct Pushed {
        let clientID: String
        let parameters: RequestParameters
        let expiry: ContinuousClock.Instant
    }

    static let lifetime = 60
    private let pushed = Mutex<[String: Pushed]>([:])
    private let clients: ClientRegister

    init(clients: ClientRegister) { self.clients = clients }

    private var time: TimeSource { clients.configuration.serverTime }

    func push(_ parameters: RequestParameters, clientID: String) throws(TokenEndpointError) -> String {
        guard parameters["request_uri"] == nil else {
            throw TokenEndpointError.invalidRequest("a pushed request can't be pushed again")
        }
        let parameters = try unsigned(parameters, clientID: clientID)
        guard parameters["response_type"] != nil else {
            throw TokenEndpointError.invalidRequest("the parameter response_type is missing")
        }
        let uri = "urn:ietf:params:oauth:request_uri:\(UUID().uuidString)"
        let expiry = time.now() + .seconds(Self.lifetime)
        pushed.withLock { $0[uri] = Pushed(clientID: clientID, parameters: parameters, expiry: expiry) }
        return uri
    }

    func pushedParameters(_ uri: String) -> [String: String]? { pushed.withLock { $0[uri]?.parameters.fields } }

    /// Returns the parameters of a plain, signed or pushed request; the latter can be used once.
    func parameters(_ sent: RequestParameters) throws(TokenEndpointError) -> RequestParameters {
        guard let clientID = sent["client_id"] else {
            throw TokenEndpointError.invalidRequest("the parameter client_id is missing")
        }
        guard let uri = sent["request_uri"] else { return try unsigned(sent, clientID: clientID) }
        let found = pushed.withLock { $0.removeValue(forKey: uri) }
        guard let found, found.clientID == clientID, time.now() < found.expiry else {
            throw TokenEndpointError("invalid_request_uri", "the pushed request is unknown")
        }
        return found.parameters
    }

    /// Returns the parameters in a signed request, which replace all others.
    private func unsigned(_ sent: RequestParameters, clientID: String) throws(TokenEndpointError) -> RequestParameters {
        guard let text = sent["request"] else { return sent }
        guard let key = clients.key(of: clientID) else {
            throw TokenEndpointError("invalid_request_object", "the client doesn't have a key")
        }
        var policy = ValidationPolicy(
            issuer: .exactly(clientID),
            audience: .contains(clients.metadata.issuer),
            type: "oauth-authz-req+jwt",
            leeway: .seconds(10),
            currentDate: time.date
        )
        policy.prohibitedClaims = ["request", "request_uri"]
        let claims: JSONObject
        do throws(TokenError) {
            let verifier = JWTVerifier(key: key, policy: policy)
            if let decrypter = try decrypter(of: text, from: clientID) {
                claims = try verifier.verify(encrypted: text, with: decrypter).claims
            } else {
                claims = try verifier.verify(text).claims
            }
        } catch {
            throw TokenEndpointError("invalid_request_object", "\(error.code)")
        }
        guard claims["client_id"]?.string == clientID else {
            throw TokenEndpointError("invalid_request_object", "another client signed it")
        }
        return RequestParameters(
            claims.flatMap { claim -> [(name: String, value: String)] in
                // A list of a repeatable parameter contains its values. Other lists are JSON.
                if RequestParameters.repeatable.contains(claim.name), let values = claim.value.array {
                    return values.compactMap { value in value.string.map { (claim.name, $0) } }
                }
                let text = claim.value.string ?? claim.value.number?.literal ?? claim.value.text
                return text.map { [(claim.name, $0)] } ?? []
            }
        )
    }

    private func decrypter(of text: String, from clientID: String) throws(TokenError) -> JWEDecrypter? {
        guard let header = try? UnverifiedJWE(compact: text).unverifiedProtectedHeader,
            let algorithm = header["alg"]?.string.flatMap(JWEAlgorithm.init(rawValue:)),
            let encryption = header["enc"]?.string.flatMap(JWEEncryption.init(rawValue:))
        else { return nil }
        let client = clients.client(clientID)
        let policy =
            try client?.metadata.decryptionPolicy(for: .requestObject)
            ?? DecryptionPolicy(algorithms: Set(JWEAlgorithm.implemented), encryptions: Set(JWEEncryption.implemented))
        let keys = clients.configuration.decryptionKeys.filter { $0.algorithm == algorithm }
        if keys.isEmpty, let secret = client?.secret {
            let key = try DecryptionKey(clientSecret: secret, algorithm: algorithm, encryption: encryption)
            return JWEDecrypter(key: key, policy: policy)
        }
        return JWEDecrypter(keys: keys, policy: policy)
    }
}

extension JSONValue {
    fileprivate var text: String? {
        guard object != nil || array != nil else { return nil }
        let wrapped = (["": self] as JSONObject).serialized()
        return String(wrapped.dropFirst(4).dropLast())
    }
}

extension TokenEndpointResponder {
    /// Responds to a pushed authorization request
    /// ([RFC 9126 §2](https://www.rfc-editor.org/rfc/rfc9126#section-2)).
    func pushResponse(to request: LoopbackRequest) -> LoopbackResponse {
        answerClient(of: request) { client, form in
            let parameters = form.without(["client_secret", "client_assertion", "client_assertion_type"])
            let uri = try requests.push(parameters, clientID: client.id)
            let body: JSONObject = [
                "request_uri": .string(uri), "expires_in": .number(JSONNumber(AuthorizationRequestHandler.lifetime)),
            ]
            return .json(body.serialized(), status: 201, headers: ["Cache-Control": "no-store"])
        }
    }
}
