import Foundation
import OpenSSLCrypto
package import TokenGeneration

extension MockAuthorizationServer {
    /// A fault of an ID token, or of a signed authorization response.
    package struct IDTokenFault: Sendable {
        enum Signature: Sendable {
            case good, missing, foreign, unknownKey, withoutKeyID, withoutAlgorithm
            case by(any SigningService)
        }

        var signature = Signature.good
        var changes: [String: JSONValue?] = [:]
        /// The time since the token was issued.
        var age: Duration = .zero

        /// A missing signature: `alg` is `none`.
        package static let unsigned = Self(signature: .missing)
        /// Another key's signature, with the ID of the server's key.
        package static let mixedUpKeys = Self(signature: .foreign)
        /// The signature of a key that the server doesn't publish.
        package static let unknownKey = Self(signature: .unknownKey)
        /// A missing key ID.
        package static let withoutKeyID = Self(signature: .withoutKeyID)
        /// An `alg` of `null` in the header.
        package static let withoutAlgorithm = Self(signature: .withoutAlgorithm)
        /// Another request's nonce.
        package static let wrongNonce = Self.claims(["nonce": "another-nonce"])
        /// Another issuer.
        package static let wrongIssuer = Self.claims(["iss": "https://evil.example"])
        /// Another client as the audience.
        package static let wrongAudience = Self.claims(["aud": "another-client"])
        /// Another access token's hash.
        package static let wrongAccessTokenHash = Self.claims(["at_hash": "AAAAAAAAAAAAAAAAAAAAAA"])
        /// Another code's hash.
        package static let wrongCodeHash = Self.claims(["c_hash": "AAAAAAAAAAAAAAAAAAAAAA"])

        /// Signs the token with another signer and its key ID, such as a client's secret.
        package static func signed(by service: any SigningService) -> Self { Self(signature: .by(service)) }

        /// Issues the token with a date of an age, but an expiration in the future.
        package static func old(_ age: Duration) -> Self { Self(age: age) }

        /// Changes claims; `nil` removes one.
        package static func claims(_ changes: [String: JSONValue?]) -> Self { Self(changes: changes) }
    }
}

extension MockAuthorizationServer.IDTokenFault {
    /// Returns a token with the fault, made from the claims of a valid one and the server's signer.
    func token(of claims: JSONObject, type: JSONValue? = nil, signedBy service: SigningKey) throws -> String {
        var claims = claims
        for name in ["iat", "auth_time"] {
            guard let time = claims[name]?.number?.double else { continue }
            claims[name] = .number(JSONNumber(Int(clamping: time) - Int(age.components.seconds)))
        }
        for (name, value) in changes { claims[name] = value }
        func signed(_ service: some SigningService) throws -> String {
            try JWTGenerator(header: ["typ": type ?? "JWT"], payload: claims, signingService: service).token()
        }
        switch signature {
        case .good: return try signed(service)
        case .missing: return UnsecuredToken(claims: claims).serialized()
        case .foreign: return try signed(SigningState.newService(service.algorithm, keyID: service.keyID))
        case .unknownKey: return try signed(SigningState.newService(service.algorithm))
        case .withoutKeyID: return try signed(NamelessSigner(service: service))
        case .withoutAlgorithm:
            let header = Base64URL.encode(Array(#"{"alg":null,"typ":"JWT"}"#.utf8))
            return try header + "." + signed(service).split(separator: ".").dropFirst().joined(separator: ".")
        case .by(let other): return try signed(other)
        }
    }
}

/// A signer that omits the key ID of another signer.
private struct NamelessSigner: SigningService {
    let service: SigningKey
    let keyID: String? = nil

    var algorithm: JWSAlgorithm { service.algorithm }

    func sign(data: Data) throws -> Data { try service.sign(data: data) }
}
