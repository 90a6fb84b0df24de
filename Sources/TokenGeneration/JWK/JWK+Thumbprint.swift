internal import OpenSSLCrypto

/// The hash function of a thumbprint.
public struct ThumbprintHash: Hashable, Sendable {
    let function: HashFunction
    /// The name in the registry that [RFC 9278 §5](https://www.rfc-editor.org/rfc/rfc9278#section-5) refers to.
    let name: String

    /// SHA-256, which everybody uses.
    public static let sha256 = ThumbprintHash(function: .sha256, name: "sha-256")
    /// SHA-384.
    public static let sha384 = ThumbprintHash(function: .sha384, name: "sha-384")
    /// SHA-512.
    public static let sha512 = ThumbprintHash(function: .sha512, name: "sha-512")
}

extension JWK {
    /// The thumbprint with SHA-256, in base64url ([RFC 7638](https://www.rfc-editor.org/rfc/rfc7638)).
    ///
    /// It covers the members that make the key what it is and nothing else, so a private key and its public part have the
    /// same one, whatever their `kid` or `alg` is. Its members are taken as they are: the key's numbers are not checked.
    ///
    /// - Warning: The thumbprint of a symmetric key (`oct`) is a hash of the secret. Don't publish it if the secret could be
    ///   guessed.
    /// - Throws: ``TokenError`` as ``thumbprint(_:)`` does.
    public var thumbprint: String {
        get throws(TokenError) { try thumbprint(.sha256) }
    }

    /// The thumbprint in base64url, with a hash function of the caller's.
    ///
    /// - Parameter hash: The hash function.
    /// - Returns: The thumbprint, as ``thumbprint`` has it with SHA-256.
    /// - Throws: ``TokenError`` with the code `unsupportedKey` if it is not known what a thumbprint of this kind of key covers, or
    ///   `malformedKey` if a member is missing.
    public func thumbprint(_ hash: ThumbprintHash) throws(TokenError) -> String {
        let canonical = try thumbprintInput().serializedBytes()
        do throws(CryptoError) {
            return Base64URL.encode(
                try canonical.withBytes { bytes throws(CryptoError) in try hash.function.hash(bytes) }
            )
        } catch {
            throw TokenError(.malformedKey, "the thumbprint could not be computed", cause: error)
        }
    }

    /// The thumbprint with SHA-256 as a URI ([RFC 9278](https://www.rfc-editor.org/rfc/rfc9278)).
    ///
    /// - Throws: ``TokenError`` as ``thumbprint(_:)`` does.
    public var thumbprintURI: String {
        get throws(TokenError) { try thumbprintURI(.sha256) }
    }

    /// The thumbprint as a URI, with a hash function of the caller's.
    ///
    /// - Parameter hash: The hash function.
    /// - Returns: The URI, such as `urn:ietf:params:oauth:jwk-thumbprint:sha-256:` and the thumbprint.
    /// - Throws: ``TokenError`` as ``thumbprint(_:)`` does.
    public func thumbprintURI(_ hash: ThumbprintHash) throws(TokenError) -> String {
        Self.thumbprintURI(try thumbprint(hash), hash)
    }

    /// The URI of a thumbprint.
    static func thumbprintURI(_ thumbprint: String, _ hash: ThumbprintHash = .sha256) -> String {
        "urn:ietf:params:oauth:jwk-thumbprint:\(hash.name):\(thumbprint)"
    }

    private func thumbprintInput() throws(TokenError) -> JSONObject {
        guard let names = KeyType(rawValue: keyType).thumbprintMembers else {
            throw TokenError(
                .unsupportedKey,
                "what a thumbprint covers is not known for kty \(TokenError.shown(keyType))"
            )
        }
        var input = JSONObject()
        for name in names {
            guard let value = members[name]?.string else {
                throw TokenError(.malformedKey, "the thumbprint needs “\(name)” of the JWK as a string")
            }
            input[name] = .string(value)
        }
        return input
    }
}
