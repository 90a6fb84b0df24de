/// A JOSE header whose members have been found well formed
/// ([RFC 7515 §4.1](https://www.rfc-editor.org/rfc/rfc7515#section-4.1)).
///
/// `jwk`, `jku`, `x5u` and `x5c` are left alone on purpose: a key that comes with the token proves nothing.
struct ProtectedHeader {
    let members: JSONObject
    /// `alg`, which may name any algorithm, `none` too.
    let algorithm: String
    /// `kid`, or `nil`.
    let keyID: String?
    /// `typ`, or `nil`.
    let type: String?

    /// - Throws: ``TokenError`` with the code `malformedToken`.
    init(_ members: JSONObject) throws(TokenError) {
        guard let algorithm = try Self.string("alg", in: members) else {
            throw TokenError(.malformedToken, "the header has no “alg”")
        }
        self.members = members
        self.algorithm = algorithm
        keyID = try Self.string("kid", in: members)
        type = try Self.string("typ", in: members)
        _ = try Self.string("cty", in: members)
    }

    /// Refuses a header that demands an extension, for none is understood.
    ///
    /// - Throws: ``TokenError`` with the code `criticalHeaderUnsupported`, or `malformedToken` if the demand itself breaks
    ///   [RFC 7515 §4.1.11](https://www.rfc-editor.org/rfc/rfc7515#section-4.1.11) or
    ///   [RFC 7797 §6](https://www.rfc-editor.org/rfc/rfc7797#section-6).
    func checkCriticalMembers() throws(TokenError) {
        guard let critical = members["crit"] else {
            // Whoever knows RFC 7797 must see that the payload is not encoded, whoever does not would decode it.
            guard members["b64"] == nil || members["b64"] == true else {
                throw TokenError(.malformedToken, "the header has “b64” without naming it in “crit”")
            }
            return
        }
        guard let names = critical.array, !names.isEmpty else {
            throw TokenError(.malformedToken, "“crit” of the header must be an array that is not empty")
        }
        var seen: [String] = []
        for name in names {
            guard let name = name.string, !name.isEmpty else {
                throw TokenError(.malformedToken, "“crit” of the header must have names only, not \(name.kind)")
            }
            let shown = TokenError.shown(name)
            guard !Self.registeredNames.contains(where: name.isExactly) else {
                throw TokenError(.malformedToken, "“crit” of the header names \(shown), which is no extension")
            }
            guard members[name] != nil else {
                throw TokenError(.malformedToken, "“crit” of the header names \(shown), which the header does not have")
            }
            guard !seen.contains(where: name.isExactly) else {
                throw TokenError(.malformedToken, "“crit” of the header names \(shown) twice")
            }
            seen.append(name)
        }
        throw TokenError(
            .criticalHeaderUnsupported,
            "the header demands \(seen.map(TokenError.shown).joined(separator: ", ")) to be understood, which it is not"
        )
    }

    /// The names that [RFC 7515 §4.1](https://www.rfc-editor.org/rfc/rfc7515#section-4.1) defines itself.
    private static let registeredNames = [
        "alg", "jku", "jwk", "kid", "x5u", "x5c", "x5t", "x5t#S256", "typ", "cty", "crit",
    ]

    private static func string(_ name: String, in members: JSONObject) throws(TokenError) -> String? {
        guard let value = members[name] else { return nil }
        guard let string = value.string else {
            throw TokenError(.malformedToken, "“\(name)” of the header must be a string, not \(value.kind)")
        }
        return string
    }
}
