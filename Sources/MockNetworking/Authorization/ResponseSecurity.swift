import Foundation
import Networking
import OAuth2
import TokenGeneration

struct MessageRecipient {
    var key: EncryptionKey
    var encryption: JWEEncryption
}

extension MessageRecipient {
    /// Returns `nil` if the client didn't register encryption for a kind of message.
    init?(_ client: MockAuthorizationServer.Client, of message: SecuredMessage) throws {
        guard let policy = try client.metadata.decryptionPolicy(for: message),
            let algorithm = policy.algorithms.first, let encryption = policy.encryptions.first
        else { return nil }
        self.encryption = encryption
        if let key = client.metadata.encryptionKeys.first(where: { $0.algorithm == algorithm }) {
            self.key = key
        } else if let secret = client.secret {
            key = try EncryptionKey(clientSecret: secret, algorithm: algorithm, encryption: encryption)
        } else {
            throw TokenError(.unknownKey, "the client registered no key for \(algorithm)")
        }
    }

    static func stranger() throws -> Self {
        Self(key: try DecryptionKey.generate(.ecdhESA256KW).encryptionKey, encryption: .a256GCM)
    }

    func withOtherKey(for algorithm: JWEAlgorithm) throws -> Self {
        let curve = key.jwk.curve.flatMap(KeyAgreementCurve.init(rawValue:)) ?? .p256
        let other = try DecryptionKey.generate(algorithm, on: curve, encryption: encryption)
        return Self(key: other.identified(by: key.keyID).encryptionKey, encryption: encryption)
    }

    /// Encrypts a signed token, or one that should be.
    func nested(_ token: String) throws(TokenError) -> String { try encrypted(token, ["cty": "JWT"]) }

    func encrypted(_ text: String, _ header: JSONObject) throws(TokenError) -> String {
        try key.encrypt(Data(text.utf8), encryption: encryption, header: header)
    }
}

extension MockAuthorizationServer.Client {
    var secret: Secret? {
        switch credential {
        case .basic(let secret, _), .post(let secret): secret
        case .nothing, .key, .certificate, .certificateSubject, .federated: nil
        }
    }
}

struct ResponseSecurity: Sendable {
    let clients: ClientRegister
    let signing: SigningState

    /// - Throws: `TokenError` if the client registered something that the server can't do.
    func secured(
        _ response: LoopbackResponse,
        signature: MockAuthorizationServer.IDTokenFault? = nil,
        encryption: MockAuthorizationServer.EncryptionFault? = nil
    ) throws -> LoopbackResponse {
        try response.replacingToken { token, message in
            // Encrypted claims that aren't signed are complete.
            guard let parsed = try? UnverifiedToken(token) else { return token }
            let claims = parsed.unverifiedClaims
            let client = claims["aud"]?.string.flatMap { clients.client($0) }
            let recipient = try client.flatMap { try MessageRecipient($0, of: message) }
            let type = parsed.unverifiedHeader["typ"]
            let signed = try signature?.token(of: claims, type: type, signedBy: signing.service) ?? token
            if let encryption { return try encryption.token(of: signed, for: recipient) }
            return try recipient?.nested(signed) ?? signed
        }
    }
}

extension LoopbackResponse {
    fileprivate func replacingToken(_ replacement: (String, SecuredMessage) throws -> String) throws -> Self {
        if case .data(let body) = content {
            let message: SecuredMessage? =
                switch headers["Content-Type"] {
                case "application/jwt": .userInfo
                case "application/token-introspection+jwt": .introspectionResponse
                default: nil
                }
            if let message {
                let text = try replacement(String(decoding: body, as: UTF8.self), message)
                return .text(text, status: status, headers: headers)
            }
            if var object = try? JSONObject(parsing: body), let token = object["id_token"]?.string {
                object["id_token"] = .string(try replacement(token, .idToken))
                return .json(object.serialized(), status: status, headers: headers)
            }
        }
        return try changingRedirect { pairs in
            guard let index = pairs.firstIndex(where: { $0.name == "response" }) else { return }
            pairs[index].value = try replacement(pairs[index].value, .authorizationResponse)
        }
    }

    func changingRedirect(_ change: (inout [(name: String, value: String)]) throws -> Void) rethrows -> Self {
        guard let location = headers["Location"], let mark = location.firstIndex(of: "?"),
            let pairs = FormURLEncoded.decode(location[location.index(after: mark)...])
        else { return self }
        var changed = pairs
        try change(&changed)
        // Another encoding of the same parameters would change a redirect URI.
        guard !changed.elementsEqual(pairs, by: ==) else { return self }
        var response = self
        response.headers["Location"] = "\(location[..<mark])?\(FormURLEncoded.encode(changed))"
        return response
    }
}
