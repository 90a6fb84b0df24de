internal import OpenSSLCrypto

extension JWK {
    /// The thumbprint with SHA-256, in base64url ([RFC 7638](https://www.rfc-editor.org/rfc/rfc7638)).
    ///
    /// It covers the members that make the key what it is and nothing else, so a private key and its public part have the
    /// same one, whatever their `kid` or `alg` is. Its members are taken as they are: the key's numbers are not checked.
    ///
    /// - Warning: The thumbprint of a symmetric key (`oct`) is a hash of the secret. Don't publish it if the secret could be
    ///   guessed.
    public var thumbprint: String {
        get throws(TokenError) {
            let canonical = try thumbprintInput().serializedBytes()
            do throws(CryptoError) {
                return Base64URL.encode(
                    try canonical.withBytes { bytes throws(CryptoError) in try HashFunction.sha256.hash(bytes) }
                )
            } catch {
                throw TokenError(.malformedKey, "the thumbprint could not be computed", cause: error)
            }
        }
    }

    /// The thumbprint as a URI ([RFC 9278](https://www.rfc-editor.org/rfc/rfc9278)).
    public var thumbprintURI: String {
        get throws(TokenError) { Self.thumbprintURI(try thumbprint) }
    }

    /// The URI of a thumbprint that was made with SHA-256.
    static func thumbprintURI(_ thumbprint: String) -> String {
        "urn:ietf:params:oauth:jwk-thumbprint:sha-256:\(thumbprint)"
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
