public import Foundation
import Networking
import OpenSSLCrypto
public import TokenGeneration

extension MockAuthorizationServer {
    /// A fault in the response to one request.
    public struct Fault: Sendable {
        enum Kind: Sendable {
            case instead(LoopbackResponse)
            case changed(@Sendable (LoopbackResponse) -> LoopbackResponse)
            case signed(IDTokenFault)
            case encrypted(EncryptionFault)
        }

        let kind: Kind

        // MARK: Responses without processing

        /// Responds with an error, without processing the request
        /// ([RFC 6749 §5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)).
        ///
        /// - Parameters:
        ///   - code: The error code, such as `invalid_grant`.
        ///   - status: The status code. The default is 400.
        /// - Returns: The fault.
        public static func error(_ code: String, status: Int = 400) -> Self {
            .response(TokenEndpointError(code, "a simulated fault", status: status).response)
        }

        /// Responds with a 503, optionally with a `Retry-After`.
        ///
        /// - Parameter retryAfter: The value of `Retry-After`, seconds or a date.
        /// - Returns: The fault.
        public static func unavailable(retryAfter: String? = nil) -> Self { refusal(503, retryAfter) }

        /// Responds with a 429, optionally with a `Retry-After`.
        ///
        /// - Parameter retryAfter: The value of `Retry-After`, seconds or a date.
        /// - Returns: The fault.
        public static func tooManyRequests(retryAfter: String? = nil) -> Self { refusal(429, retryAfter) }

        /// Responds with an HTML page.
        ///
        /// - Parameter status: The status code. The default is 200.
        /// - Returns: The fault.
        public static func html(status: Int = 200) -> Self {
            .response(
                .text("<!doctype html><title>Sign in</title>", status: status, headers: ["Content-Type": "text/html"])
            )
        }

        /// Responds with any response, without processing the request.
        ///
        /// - Parameter response: The response.
        /// - Returns: The fault.
        public static func response(_ response: LoopbackResponse) -> Self { Self(kind: .instead(response)) }

        /// Responds with a redirect.
        ///
        /// - Parameters:
        ///   - url: The target.
        ///   - status: The status code. The default is 302.
        /// - Returns: The fault.
        public static func redirect(to url: URL, status: Int = 302) -> Self {
            .response(.status(status, headers: ["Location": url.absoluteString]))
        }

        /// Responds with JSON of excessive size: `{"keys":[],"padding":"…"}`.
        ///
        /// - Parameter size: The size of the padding in bytes. The default is 8 MiB.
        /// - Returns: The fault.
        public static func huge(_ size: Int = 8 << 20) -> Self {
            .response(.json(#"{"keys":[],"padding":"\#(String(repeating: "x", count: size))"}"#))
        }

        /// A missing response to a request that isn't processed.
        public static let silence = response(.never)

        // MARK: Changed responses

        /// A lost response: the request is processed, so a refresh token may be used and its
        /// successor lost.
        package static let lostAnswer = Self(kind: .changed { $0.cut(.beforeHead) })

        package static let cutAnswer = Self(kind: .changed { $0.cut(.afterBody(octets: 10)) })

        /// Delays the response.
        ///
        /// - Parameter delay: The delay.
        /// - Returns: The fault.
        public static func slow(_ delay: Duration) -> Self { Self(kind: .changed { $0.delayed(by: delay) }) }

        /// Changes or removes members of the response.
        ///
        /// - Parameter members: The new values. `nil` removes a member.
        /// - Returns: The fault.
        public static func members(_ members: [String: JSONValue?]) -> Self {
            Self(
                kind: .changed { response in
                    guard case .data(let body) = response.content, var object = try? JSONObject(parsing: body) else {
                        return response
                    }
                    for (name, value) in members { object[name] = value }
                    return .json(object.serialized(), status: response.status, headers: response.headers)
                }
            )
        }

        package static let noLifetime = Self.members(["expires_in": nil])

        /// Signs the JWT in the response incorrectly: an ID token, which is issued with a valid
        /// access token, or an authorization response with a valid code
        /// ([JARM](https://openid.net/specs/oauth-v2-jarm-final.html)).
        package static func signedToken(_ fault: MockAuthorizationServer.IDTokenFault) -> Self {
            Self(kind: .signed(fault))
        }

        /// Processes the request, and encrypts the JWT in the response incorrectly.
        ///
        /// - Parameter fault: The fault of the encryption.
        /// - Returns: The fault.
        public static func encryption(_ fault: MockAuthorizationServer.EncryptionFault) -> Self {
            Self(kind: .encrypted(fault))
        }

        private static func refusal(_ status: Int, _ retryAfter: String?) -> Self {
            var headers: HTTPHeaders = [:]
            headers["Retry-After"] = retryAfter
            return .response(.status(status, headers: headers))
        }
    }

    package struct IDTokenFault: Sendable {
        enum Signature: Sendable {
            case good, missing, foreign, unknownKey, withoutKeyID, withoutAlgorithm
            case by(SigningKey)
        }

        var signature = Signature.good
        var changes: [String: JSONValue?] = [:]
        var age: Duration = .zero

        /// A missing signature: `alg` is `none`.
        package static let unsigned = Self(signature: .missing)
        /// Another key's signature, with the ID of the server's key.
        package static let mixedUpKeys = Self(signature: .foreign)
        /// The signature of a key that the server doesn't publish.
        package static let unknownKey = Self(signature: .unknownKey)
        package static let withoutKeyID = Self(signature: .withoutKeyID)
        /// An `alg` of `null` in the header.
        package static let withoutAlgorithm = Self(signature: .withoutAlgorithm)
        package static let wrongNonce = Self.claims(["nonce": "another-nonce"])
        package static let wrongIssuer = Self.claims(["iss": "https://evil.example"])
        package static let wrongAudience = Self.claims(["aud": "another-client"])
        package static let wrongAccessTokenHash = Self.claims(["at_hash": "AAAAAAAAAAAAAAAAAAAAAA"])
        package static let wrongCodeHash = Self.claims(["c_hash": "AAAAAAAAAAAAAAAAAAAAAA"])

        /// Signs the token with another signer and its key ID, such as a client's secret.
        package static func signed(by key: SigningKey) -> Self { Self(signature: .by(key)) }

        /// Issues the token with a date of an age, but an expiration in the future.
        package static func old(_ age: Duration) -> Self { Self(age: age) }

        /// Changes claims; `nil` removes one.
        package static func claims(_ changes: [String: JSONValue?]) -> Self { Self(changes: changes) }
    }
}

extension MockAuthorizationServer.IDTokenFault {
    func token(of claims: JSONObject, type: JSONValue? = nil, signedBy service: SigningKey) throws -> String {
        var claims = claims
        for name in ["iat", "auth_time"] {
            guard let time = claims[name]?.number?.double else { continue }
            claims[name] = .number(JSONNumber(Int(clamping: time) - Int(age.components.seconds)))
        }
        for (name, value) in changes { claims[name] = value }
        func signed(_ service: SigningKey) throws -> String {
            try JWTGenerator(header: ["typ": type ?? "JWT"], payload: claims, signingService: service).token()
        }
        switch signature {
        case .good: return try signed(service)
        case .missing: return UnsecuredToken(claims: claims).serialized()
        case .foreign: return try signed(SigningState.newService(service.algorithm, keyID: service.keyID))
        case .unknownKey: return try signed(SigningState.newService(service.algorithm))
        case .withoutKeyID:
            var members = try service.privateJWK().members
            members["kid"] = nil
            return try signed(SigningKey(jwk: JWK(members), algorithm: service.algorithm))
        case .withoutAlgorithm:
            let header = Base64URL.encode(Array(#"{"alg":null,"typ":"JWT"}"#.utf8))
            return try header + "." + signed(service).split(separator: ".").dropFirst().joined(separator: ".")
        case .by(let other): return try signed(other)
        }
    }
}

extension MockAuthorizationServer {
    /// A fault in the encryption of an ID token, a UserInfo response, an authorization response or
    /// an introspection response, which a client must reject.
    ///
    /// ```swift
    /// authorization.misbehave(.encryption(.wrongKey))
    /// ```
    @nonexhaustive
    public enum EncryptionFault: Sendable, Hashable {
        /// A token that's signed only, although the client registered encryption.
        case unencrypted
        /// An encrypted token, although the client didn't register encryption.
        case unexpected
        /// Encryption for another key with the same ID.
        case wrongKey
        /// Another `alg` than the registered one.
        case wrongAlgorithm
        /// Another `enc` than the registered one.
        case wrongEncryption
        /// Claims that are encrypted but not signed.
        case unsigned
        /// A `cty` other than `JWT`.
        case wrongContentType
        /// An encrypted token inside another one.
        case nestedTwice
        /// A token of 300,000 bytes or more.
        case oversized
        /// A token whose authentication tag was changed.
        case altered
    }
}

extension MockAuthorizationServer.EncryptionFault {
    func token(of token: String, for recipient: MessageRecipient?) throws -> String {
        let recipient = try recipient ?? .stranger()
        switch self {
        case .unencrypted: return token
        case .unexpected: return try recipient.nested(token)
        case .wrongKey: return try recipient.withOtherKey(for: recipient.key.algorithm).nested(token)
        case .wrongAlgorithm:
            let other: JWEAlgorithm = recipient.key.algorithm == .ecdhESA256KW ? .a256KW : .ecdhESA256KW
            return try recipient.withOtherKey(for: other).nested(token)
        case .wrongEncryption:
            var other = recipient
            other.encryption = recipient.encryption == .a256GCM ? .a128GCM : .a256GCM
            // A key for `dir` is for one encryption.
            if other.key.encryption != nil { other = try other.withOtherKey(for: .dir) }
            return try other.nested(token)
        case .unsigned: return try recipient.encrypted(UnverifiedToken(token).unverifiedClaims.serialized(), [:])
        case .wrongContentType: return try recipient.encrypted(token, ["cty": "example"])
        case .nestedTwice: return try recipient.nested(recipient.nested(token))
        case .oversized: return try recipient.nested(token + String(repeating: "A", count: 300_000))
        case .altered:
            let text = try recipient.nested(token)
            let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            let tag = parts[4].first == "A" ? "B" : "A"
            return parts.dropLast().joined(separator: ".") + "." + tag + parts[4].dropFirst()
        }
    }
}
