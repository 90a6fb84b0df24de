import Networking
internal import OpenSSLCrypto
internal import TokenGeneration

/// The proof that the client that redeems a code is the one that requested it
/// ([RFC 7636](https://www.rfc-editor.org/rfc/rfc7636), PKCE).
///
/// The authorization request has the verifier's digest, and the token request the verifier.
public struct CodeVerifier: Sendable, Hashable {
    /// The verifier itself: 43 to 128 letters, digits, `-`, `.`, `_` and `~`.
    public let value: Secret

    /// Creates a verifier of 256 random bits.
    ///
    /// - Throws: ``OAuth2Error`` with the code `assertionFailed` if there are no random numbers.
    public init() throws(OAuth2Error) {
        value = Secret(try String.random())
    }

    /// Creates a verifier from an existing value, such as from another process.
    ///
    /// - Parameter value: The verifier.
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest` if the value doesn't have the
    ///   required syntax ([RFC 7636 §4.1](https://www.rfc-editor.org/rfc/rfc7636#section-4.1)).
    public init(_ value: Secret) throws(OAuth2Error) {
        let isWellFormed = value.expose { text in
            (43...128).contains(text.utf8.count) && text.utf8.allSatisfy(PercentEncoding.isUnreserved)
        }
        guard isWellFormed else {
            throw OAuth2Error(
                .malformedRequest,
                "the code verifier must have 43 to 128 letters, digits, “-”, “.”, “_” and “~” (RFC 7636 §4.1)"
            )
        }
        self.value = value
    }

    /// Returns the digest for the authorization request, with the method `S256`, the only one that
    /// keeps the verifier secret from an observer of the request.
    ///
    /// - Returns: The challenge.
    /// - Throws: ``OAuth2Error`` with the code `assertionFailed` if SHA-256 isn't available.
    public func challenge() throws(OAuth2Error) -> String {
        do {
            return try value.expose { text in
                let digest = try [UInt8](text.utf8).withBytes { try HashFunction.sha256.hash($0) }
                return Base64URL.encode(Array(digest))
            }
        } catch {
            throw OAuth2Error(.assertionFailed, "the code verifier's digest can't be computed", cause: error)
        }
    }
}

extension String {
    /// Returns 256 random bits, base64url-encoded.
    static func random() throws(OAuth2Error) -> String {
        do { return Base64URL.encode(try SecureRandom.bytes(count: 32)) } catch {
            throw OAuth2Error(.assertionFailed, "the system can't generate random numbers", cause: error)
        }
    }
}
