import Foundation
package import TokenGeneration

extension MockAuthorizationServer {
    /// What is wrong with an ID token, or with a signed answer to an authorization request.
    package struct IDTokenFault: Sendable {
        enum Signature: Sendable {
            case good, missing, foreign, unknownKey, withoutKeyID, withoutAlgorithm
            case by(any SigningService)
        }

        var signature = Signature.good
        var changes: [String: JSONValue?] = [:]
        /// How long ago the token was issued.
        var age: Duration = .zero

        /// It has no signature: `alg` is `none`.
        package static let unsigned = Self(signature: .missing)
        /// It has the ID of the server's key, and another key's signature.
        package static let mixedUpKeys = Self(signature: .foreign)
        /// It is signed with a key that the server does not publish.
        package static let unknownKey = Self(signature: .unknownKey)
        /// It does not say with which of the server's keys it is signed.
        package static let withoutKeyID = Self(signature: .withoutKeyID)
        /// Its header's `alg` is `null`.
        package static let withoutAlgorithm = Self(signature: .withoutAlgorithm)
        /// It is another request's.
        package static let wrongNonce = Self.claims(["nonce": "another-nonce"])
        /// It is another issuer's, by its own words.
        package static let wrongIssuer = Self.claims(["iss": "https://evil.example"])
        /// It is another client's.
        package static let wrongAudience = Self.claims(["aud": "another-client"])
        /// It came with another access token.
        package static let wrongAccessTokenHash = Self.claims(["at_hash": "AAAAAAAAAAAAAAAAAAAAAA"])
        /// It came with another code.
        package static let wrongCodeHash = Self.claims(["c_hash": "AAAAAAAAAAAAAAAAAAAAAA"])

        /// Somebody else has signed it, or the server with another key, such as a client's secret.
        ///
        /// - Parameter service: Who signs, under whatever key ID it has.
        /// - Returns: That fault.
        package static func signed(by service: any SigningService) -> Self { Self(signature: .by(service)) }

        /// It was issued long ago, and has not expired.
        ///
        /// - Parameter age: How long ago.
        /// - Returns: That fault.
        package static func old(_ age: Duration) -> Self { Self(age: age) }

        /// Claims have other values, or are missing.
        ///
        /// - Parameter changes: The new values; `nil` takes a claim away.
        /// - Returns: That fault.
        package static func claims(_ changes: [String: JSONValue?]) -> Self { Self(changes: changes) }
    }
}

extension MockAuthorizationServer.IDTokenFault {
    /// Signs claims, with the fault.
    ///
    /// - Parameters:
    ///   - claims: The claims of a good token.
    ///   - service: The server's own.
    /// - Returns: The token.
    /// - Throws: `TokenError` if it can't be signed.
    func token(of claims: JSONObject, signedBy service: SigningKey) throws -> String {
        var claims = claims
        for name in ["iat", "auth_time"] {
            guard let time = claims[name]?.number?.double else { continue }
            claims[name] = .number(JSONNumber(Int(time) - Int(age.components.seconds)))
        }
        for (name, value) in changes { claims[name] = value }
        func signed(_ service: some SigningService) throws -> String {
            try JWTGenerator(payload: claims, signingService: service).token()
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

/// Signs as another service does, and does not say with which key.
private struct NamelessSigner: SigningService {
    let service: SigningKey
    let keyID: String? = nil

    var algorithm: JWSAlgorithm { service.algorithm }

    func sign(data: Data) throws -> Data { try service.sign(data: data) }
}
