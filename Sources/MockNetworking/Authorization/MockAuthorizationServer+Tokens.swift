public import Foundation
import Networking
import OAuth2
internal import OpenSSLCrypto
public import TokenGeneration

extension MockAuthorizationServer {
    /// Replaces the signing key with a new one, and publishes it.
    ///
    /// - Parameter withdrawingOld: Whether to stop publishing the previous keys, as after a key was
    ///   stolen. The default is `false`.
    /// - Throws: `TokenError` if generating a key fails.
    public func rotateKeys(withdrawingOld: Bool = false) throws {
        try signing.rotate(withdrawingOld: withdrawingOld)
    }

    /// Issues an access token in the format of [RFC 9068](https://www.rfc-editor.org/rfc/rfc9068),
    /// as if a client had requested it.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier.
    ///   - subject: The token's subject.
    ///   - scope: The token's scope.
    ///   - audience: The resource. The default is the server itself.
    ///   - keyThumbprint: The thumbprint of the DPoP key to bind the token to. The default is
    ///     `nil`.
    ///   - certificateDER: The certificate to bind the token to. The default is `nil`.
    ///   - claims: Additional or changed claims. `nil` removes a claim.
    /// - Returns: The token.
    /// - Throws: `TokenError` if signing fails.
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
        authorization.certificateThumbprint = try certificateDER.map { certificate in
            Base64URL.encode(try [UInt8](certificate).withBytes { try HashFunction.sha256.hash($0) })
        }
        var changes = claims
        if let key = authorization.keyThumbprint, let certificate = authorization.certificateThumbprint {
            changes["cnf"] = JSONValue.object(["jkt": .string(key), "x5t#S256": .string(certificate)])
        }
        return try tokens.issueAccessToken(authorization, changing: changes).token
    }

    /// Issues an ID token ([OpenID Connect Core 1.0
    /// §2](https://openid.net/specs/openid-connect-core-1_0.html#IDToken)).
    ///
    /// It's signed with ``Configuration/signingAlgorithm`` and the last key of ``keys``. The hashes
    /// are of the access token, the code and the state that it's issued with. A claim of `nil`
    /// removes a claim.
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
        let authorization = Authorization(clientID: clientID, subject: subject, scope: "")
        var content = tokens.idTokenClaims(authorization, nonce: nonce)
        let service = signing.service
        let hashes = [("at_hash", accessToken), ("c_hash", code), ("s_hash", state)]
        for case (let name, let text?) in hashes {
            content[name] = try service.verificationKey.idTokenHash(of: text).map(JSONValue.string)
        }
        for (name, value) in claims { content[name] = value }
        return try (fault ?? IDTokenFault()).token(of: content, signedBy: service)
    }
}
