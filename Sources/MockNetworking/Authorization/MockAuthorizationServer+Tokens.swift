public import Foundation
import Networking
import OAuth2
internal import OpenSSLCrypto
public import TokenGeneration

extension MockAuthorizationServer {
    /// Signs with a new key from now on, and publishes it.
    ///
    /// - Parameter withdrawingOld: Whether the keys before it are published no longer, as after one
    ///   of them was stolen.
    /// - Throws: `TokenError` if no key can be made.
    public func rotateKeys(withdrawingOld: Bool = false) throws {
        try signing.rotate(withdrawingOld: withdrawingOld)
    }

    /// Issues an access token in the form of [RFC 9068](https://www.rfc-editor.org/rfc/rfc9068), as
    /// if a client had asked for it.
    ///
    /// - Parameters:
    ///   - clientID: The client it is for.
    ///   - subject: Whom it speaks for.
    ///   - scope: What it entitles to.
    ///   - audience: The resource it is for; `nil` for the server itself.
    ///   - keyThumbprint: The thumbprint of the DPoP key that it is bound to; `nil` for none.
    ///   - certificateDER: The certificate that it is bound to; `nil` for none.
    ///   - claims: Other claims, or other values; `nil` takes a claim away.
    /// - Returns: The token.
    /// - Throws: `TokenError` if it can't be signed.
    public func issueAccessToken(
        clientID: String,
        subject: String,
        scope: String = "",
        audience: String? = nil,
        keyThumbprint: String? = nil,
        certificateDER: Data? = nil,
        claims: [String: JSONValue?] = [:]
    ) throws -> String {
        var authorization = Authorization(clientID: clientID, subject: subject, scope: scope)
        authorization.resources = audience.map { [$0] } ?? []
        authorization.keyThumbprint = keyThumbprint
        authorization.certificateThumbprint = try certificateDER.map { try Self.hash($0, octets: 32) }
        var changes = claims
        if let key = authorization.keyThumbprint, let certificate = authorization.certificateThumbprint {
            changes["cnf"] = JSONValue.object(["jkt": .string(key), "x5t#S256": .string(certificate)])
        }
        return try tokens.issueAccessToken(authorization, changing: changes).token
    }

    /// Issues an ID token
    /// ([OpenID Connect Core 1.0 §2](https://openid.net/specs/openid-connect-core-1_0.html#IDToken)).
    ///
    /// It is signed with ``Configuration/signingAlgorithm`` and the key that ``keys`` has last.
    ///
    /// - Parameters:
    ///   - clientID: The client it is for.
    ///   - subject: The user.
    ///   - nonce: The nonce of the authentication request.
    ///   - accessToken: The access token that it comes with, for `at_hash`.
    ///   - code: The code that it comes with, for `c_hash`.
    ///   - state: The state that it comes with, for `s_hash`.
    ///   - claims: Other claims, or other values; `nil` takes a claim away.
    ///   - fault: What is wrong with it; `nil` for a good one.
    /// - Returns: The token.
    /// - Throws: `TokenError` if it can't be signed.
    package func issueIDToken(
        clientID: String,
        subject: String,
        nonce: String? = nil,
        accessToken: String? = nil,
        code: String? = nil,
        state: String? = nil,
        claims: [String: JSONValue?] = [:],
        fault: IDTokenFault? = nil
    ) throws -> String {
        let now = Int(time.date().timeIntervalSince1970)
        var content: JSONObject = [
            "iss": .string(metadata.issuer),
            "sub": .string(subject),
            "aud": .string(clientID),
            "iat": .number(JSONNumber(now)),
            "exp": .number(JSONNumber(now + 300)),
            "auth_time": .number(JSONNumber(now)),
        ]
        content["nonce"] = nonce.map(JSONValue.string)
        let service = signing.service
        let hashes = [("at_hash", accessToken), ("c_hash", code), ("s_hash", state)]
        for case (let name, let text?) in hashes {
            content[name] = try service.verificationKey.idTokenHash(of: text).map(JSONValue.string)
        }
        for (name, value) in claims { content[name] = value }
        return try (fault ?? IDTokenFault()).token(of: content, signedBy: service)
    }

    /// The first octets of SHA-256, in base64url.
    private static func hash(_ data: Data, octets: Int) throws -> String {
        let digest = try Array(data).withBytes { bytes throws(CryptoError) in try HashFunction.sha256.hash(bytes) }
        return Base64URL.encode(Array(digest.prefix(octets)))
    }
}
