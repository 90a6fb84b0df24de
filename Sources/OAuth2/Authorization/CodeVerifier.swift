internal import OpenSSLCrypto
internal import TokenGeneration

/// What proves that whoever redeems a code is who asked for it
/// ([RFC 7636](https://www.rfc-editor.org/rfc/rfc7636), PKCE): the server learns its digest first, and the verifier with the code.
public struct CodeVerifier: Sendable, Hashable {
    /// The verifier itself: 43 to 128 letters, digits, `-`, `.`, `_` and `~`.
    public let value: Secret

    /// Makes a verifier of 256 random bits.
    ///
    /// - Throws: ``OAuth2Error`` with the code `assertionFailed` if the system has no random numbers.
    public init() throws(OAuth2Error) {
        value = Secret(try String.random())
    }

    /// Takes a verifier that was made before, such as by the process that began.
    ///
    /// - Parameter value: The verifier.
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest` if it is not one
    ///   ([RFC 7636 §4.1](https://www.rfc-editor.org/rfc/rfc7636#section-4.1)).
    public init(_ value: Secret) throws(OAuth2Error) {
        let isWellFormed = value.expose { text in
            (43...128).contains(text.utf8.count) && text.utf8.allSatisfy(Self.isUnreserved)
        }
        guard isWellFormed else {
            throw OAuth2Error(
                .malformedRequest,
                "the code verifier is not of 43 to 128 letters, digits, “-”, “.”, “_” and “~” (RFC 7636 §4.1)"
            )
        }
        self.value = value
    }

    /// The digest that the server gets first: `S256`, the only method that keeps the verifier from who sees the request.
    ///
    /// - Returns: The challenge.
    /// - Throws: ``OAuth2Error`` with the code `assertionFailed` if there is no SHA-256.
    public func challenge() throws(OAuth2Error) -> String {
        do {
            return try value.expose { text in
                let digest = try [UInt8](text.utf8).withBytes { try HashFunction.sha256.hash($0) }
                return Base64URL.encode(Array(digest))
            }
        } catch {
            throw OAuth2Error(.assertionFailed, "the code verifier's digest could not be made", cause: error)
        }
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

extension String {
    /// 256 random bits that need no encoding anywhere.
    static func random() throws(OAuth2Error) -> String {
        do { return Base64URL.encode(try SecureRandom.bytes(count: 32)) } catch {
            throw OAuth2Error(.assertionFailed, "the system has no random numbers", cause: error)
        }
    }
}
