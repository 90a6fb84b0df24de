internal import OpenSSLCrypto

/// The header parameters of a JWE for one recipient, with every parameter in an allowed place
/// ([RFC 7516 §4](https://www.rfc-editor.org/rfc/rfc7516#section-4)).
///
/// It deliberately ignores `jwk`, `jku`, `x5u` and `x5c`.
struct JWEHeader: Sendable {
    /// The members of all headers, which are disjoint.
    let members: JSONObject
    /// The value of `alg`, which can be any name.
    let algorithm: String
    /// The value of `enc`, which can be any name.
    let encryption: String
    /// The value of `kid`, or `nil`.
    let keyID: String?

    /// Collects the parameters of a recipient.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken` or `unprotectedParameter`.
    init(
        _ token: EncryptedToken,
        _ recipient: EncryptedToken.Recipient,
        _ placement: JWEHeaderPlacement
    ) throws(TokenError) {
        var members = token.protectedHeader
        for member in Array(recipient.header) + Array(token.sharedHeader) {
            guard members[member.name] == nil else {
                throw TokenError(.malformedToken, "\(TokenError.shown(member.name)) is in two headers of the JWE")
            }
            members[member.name] = member.value
        }
        if !recipient.header.isEmpty || !token.sharedHeader.isEmpty {
            let critical = CriticalExtensions.names(in: members)
            for name in ["crit", "zip", "b64"] + critical {
                try Self.refuse(name, in: recipient.header)
                try Self.refuse(name, in: token.sharedHeader)
            }
            if !placement.allowsUnprotected {
                try Self.refuse("enc", in: recipient.header)
                for name in ["alg", "enc"] + Self.managementNames { try Self.refuse(name, in: token.sharedHeader) }
            }
        }
        for name in ["typ", "cty"] { _ = try ProtectedHeader.string(name, in: members) }
        algorithm = try Self.required("alg", in: members)
        encryption = try Self.required("enc", in: members)
        keyID = try ProtectedHeader.string("kid", in: members)
        self.members = members
    }

    /// The parameters that key management writes
    /// ([RFC 7518 §4](https://www.rfc-editor.org/rfc/rfc7518#section-4)).
    static let writtenNames = ["epk", "iv", "tag", "p2s", "p2c"]
    /// The parameters that key management reads.
    static let managementNames = writtenNames + ["apu", "apv"]

    /// The names that [RFC 7516 §4.1](https://www.rfc-editor.org/rfc/rfc7516#section-4.1) and
    /// [RFC 7518 §4](https://www.rfc-editor.org/rfc/rfc7518#section-4) define, in addition to those
    /// of a JWS.
    static let registeredNames = ["enc", "zip"] + managementNames

    /// Returns the bytes of a base64url parameter.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken` if it's missing or malformed, or
    ///   `tooLarge`.
    func octets(_ name: String, limit: Int) throws(TokenError) -> [UInt8] {
        guard let octets = try optionalOctets(name, limit: limit) else {
            throw TokenError(.malformedToken, "the header has no “\(name)”, but \(algorithm) requires it")
        }
        return octets
    }

    /// Returns the bytes of a base64url parameter, or `nil` if it's missing.
    func optionalOctets(_ name: String, limit: Int) throws(TokenError) -> [UInt8]? {
        guard let text = try ProtectedHeader.string(name, in: members) else { return nil }
        guard text.utf8.count <= Base64URL.encodedSize(limit) else {
            throw TokenError(.tooLarge, "“\(name)” of the header has more than \(limit) bytes")
        }
        return try Base64URL.decode(text.utf8.span, "“\(name)” of the header")
    }

    private static func required(_ name: String, in members: JSONObject) throws(TokenError) -> String {
        guard let value = try ProtectedHeader.string(name, in: members) else {
            throw TokenError(.malformedToken, "the header has no “\(name)”")
        }
        return value
    }

    private static func refuse(_ name: String, in header: JSONObject) throws(TokenError) {
        guard header[name] == nil else {
            throw TokenError(
                .unprotectedParameter,
                "\(TokenError.shown(name)) is in an unprotected header, where anyone can change it"
            )
        }
    }
}
