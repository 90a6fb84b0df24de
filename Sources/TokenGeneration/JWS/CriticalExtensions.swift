internal import OpenSSLCrypto

/// What a header demands to be understood: its `crit`
/// ([RFC 7515 §4.1.11](https://www.rfc-editor.org/rfc/rfc7515#section-4.1.11)).
///
/// Its rules are the same in every serialization, for who makes a JWS and who reads one.
struct CriticalExtensions {
    /// The names in the order of `crit`; empty if there is no `crit`.
    let names: [String]

    /// Reads `crit` of a protected header.
    ///
    /// `b64` may not stand in a header without being named in `crit`
    /// ([RFC 7797 §6](https://www.rfc-editor.org/rfc/rfc7797#section-6)): whoever knows it must see that the payload is not
    /// encoded, whoever does not would decode it.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken`.
    init(of header: JSONObject) throws(TokenError) {
        guard let critical = header["crit"] else {
            names = []
            guard header["b64"] == nil else {
                throw TokenError(.malformedToken, "the header has “b64” without naming it in “crit”")
            }
            return
        }
        guard let elements = critical.array, !elements.isEmpty else {
            throw TokenError(.malformedToken, "“crit” of the header must be an array that is not empty")
        }
        var names: [String] = []
        for element in elements {
            let name = try Self.name(element, in: header)
            guard !names.contains(where: name.isExactly) else {
                throw TokenError(.malformedToken, "“crit” of the header names \(TokenError.shown(name)) twice")
            }
            names.append(name)
        }
        self.names = names
        guard header["b64"] == nil || names.contains(where: "b64".isExactly) else {
            throw TokenError(.malformedToken, "the header has “b64” without naming it in “crit”")
        }
    }

    /// The strings in `crit`, however malformed it is otherwise.
    static func names(in header: JSONObject) -> [String] {
        header["crit"]?.array?.compactMap(\.string) ?? []
    }

    /// Refuses names that are not understood.
    ///
    /// - Throws: ``TokenError`` with the code `criticalHeaderUnsupported`.
    func check(areIn understood: Set<String>) throws(TokenError) {
        let understood = Set(understood.map(ByteComparedString.init))
        let unknown = names.filter { !understood.contains(ByteComparedString($0)) }
        guard unknown.isEmpty else {
            throw TokenError(
                .criticalHeaderUnsupported,
                "the header demands \(unknown.map(TokenError.shown).joined(separator: ", ")) to be understood, which it is not"
            )
        }
    }

    private static func name(_ element: JSONValue, in header: JSONObject) throws(TokenError) -> String {
        guard let name = element.string, !name.isEmpty else {
            throw TokenError(.malformedToken, "“crit” of the header must have names only, not \(element.kind)")
        }
        let shown = TokenError.shown(name)
        guard !registeredNames.contains(where: name.isExactly) else {
            throw TokenError(.malformedToken, "“crit” of the header names \(shown), which is no extension")
        }
        guard header[name] != nil else {
            throw TokenError(.malformedToken, "“crit” of the header names \(shown), which the header does not have")
        }
        return name
    }

    /// The names that [RFC 7515 §4.1](https://www.rfc-editor.org/rfc/rfc7515#section-4.1) defines itself.
    private static let registeredNames = [
        "alg", "jku", "jwk", "kid", "x5u", "x5c", "x5t", "x5t#S256", "typ", "cty", "crit",
    ]
}
