internal import OpenSSLCrypto

/// The hash function of a thumbprint.
public struct ThumbprintHash: Hashable, Sendable {
    let function: HashFunction
    /// The name of the hash function in the registry that
    /// [RFC 9278 §5](https://www.rfc-editor.org/rfc/rfc9278#section-5) refers to.
    let name: String

    /// SHA-256, the usual choice.
    public static let sha256 = ThumbprintHash(function: .sha256, name: "sha-256")
    /// SHA-384.
    public static let sha384 = ThumbprintHash(function: .sha384, name: "sha-384")
    /// SHA-512.
    public static let sha512 = ThumbprintHash(function: .sha512, name: "sha-512")
}

extension JWK {
    /// The SHA-256 thumbprint in base64url ([RFC 7638](https://www.rfc-editor.org/rfc/rfc7638)).
    ///
    /// It covers only the members that define the key. A private key and its public part therefore
    /// have the same thumbprint, regardless of `kid` or `alg`. The key's numbers aren't checked.
    ///
    /// - Warning: The thumbprint of a symmetric key (`oct`) is a hash of the secret. Don't publish
    ///   it if the secret could be guessed.
    /// - Throws: ``TokenError`` as ``thumbprint(_:)`` does.
    public var thumbprint: String {
        get throws(TokenError) { try thumbprint(.sha256) }
    }

    /// Returns the thumbprint in base64url, computed with the given hash function.
    ///
    /// - Parameter hash: The hash function.
    /// - Returns: The thumbprint. With SHA-256, it's the same as ``thumbprint``.
    /// - Throws: ``TokenError`` with the code `unsupportedKey` if thumbprints aren't defined for
    ///   the key type, or `malformedKey` if a member is missing.
    public func thumbprint(_ hash: ThumbprintHash) throws(TokenError) -> String {
        let canonical = try thumbprintInput().serializedBytes()
        do throws(CryptoError) {
            return Base64URL.encode(
                try canonical.withBytes { bytes throws(CryptoError) in try hash.function.hash(bytes) }
            )
        } catch {
            throw TokenError(.malformedKey, "can't compute the thumbprint", cause: error)
        }
    }

    /// The SHA-256 thumbprint as a URI ([RFC 9278](https://www.rfc-editor.org/rfc/rfc9278)).
    ///
    /// - Throws: ``TokenError`` as ``thumbprint(_:)`` does.
    public var thumbprintURI: String {
        get throws(TokenError) { try thumbprintURI(.sha256) }
    }

    /// Returns the thumbprint as a URI, computed with the given hash function.
    ///
    /// - Parameter hash: The hash function.
    /// - Returns: The URI: `urn:ietf:params:oauth:jwk-thumbprint:sha-256:`, for example, followed
    ///   by the thumbprint.
    /// - Throws: ``TokenError`` as ``thumbprint(_:)`` does.
    public func thumbprintURI(_ hash: ThumbprintHash) throws(TokenError) -> String {
        Self.thumbprintURI(try thumbprint(hash), hash)
    }

    /// Returns the URI of a thumbprint.
    static func thumbprintURI(_ thumbprint: String, _ hash: ThumbprintHash = .sha256) -> String {
        "urn:ietf:params:oauth:jwk-thumbprint:\(hash.name):\(thumbprint)"
    }

    private func thumbprintInput() throws(TokenError) -> JSONObject {
        guard let names = KeyType(rawValue: keyType).thumbprintMembers else {
            throw TokenError(
                .unsupportedKey,
                "thumbprints aren't defined for kty \(TokenError.shown(keyType))"
            )
        }
        var input = JSONObject()
        for name in names {
            guard let value = members[name]?.string else {
                throw TokenError(.malformedKey, "the thumbprint requires “\(name)” of the JWK to be a string")
            }
            input[name] = .string(value)
        }
        return input
    }
}
