internal import OpenSSLCrypto

/// A JOSE header with well-formed members
/// ([RFC 7515 §4.1](https://www.rfc-editor.org/rfc/rfc7515#section-4.1)).
///
/// It deliberately ignores `jwk`, `jku`, `x5u` and `x5c`, because a key that comes with the token
/// proves nothing.
struct ProtectedHeader {
    let members: JSONObject
    let algorithm: String
    /// May come from the unprotected header of a JSON serialization, because it's only a hint.
    var keyID: String?
    let type: String?

    /// The algorithm is stated for a token that isn't signed; it's that of its encryption.
    init(_ members: JSONObject, algorithm stated: String? = nil) throws(TokenError) {
        let algorithm = if let stated { stated } else { try Self.string("alg", in: members) }
        guard let algorithm else {
            throw TokenError(.malformedToken, "the header has no “alg”")
        }
        self.members = members
        self.algorithm = algorithm
        keyID = try Self.string("kid", in: members)
        type = try Self.string("typ", in: members)
        _ = try Self.string("cty", in: members)
    }

    func checkCriticalMembers(understanding extensions: Set<String> = []) throws(TokenError) {
        try CriticalExtensions(of: members).check(areIn: extensions)
    }

    static func string(_ name: String, in members: JSONObject) throws(TokenError) -> String? {
        try members.string(name, " of the header")
    }
}

/// The extensions that a header requires, from its `crit` ([RFC 7515
/// §4.1.11](https://www.rfc-editor.org/rfc/rfc7515#section-4.1.11)), with the same rules in every
/// serialization, for signing and for verifying.
struct CriticalExtensions {
    let names: [String]

    /// If a header has `b64`, `crit` must name it ([RFC 7797
    /// §6](https://www.rfc-editor.org/rfc/rfc7797#section-6)): otherwise a verifier that doesn't
    /// know `b64` would decode a payload that isn't encoded.
    ///
    /// The names in `registered` aren't extensions.
    init(of header: JSONObject, registered: Set<ByteComparedString> = registeredNames) throws(TokenError) {
        var names: [String] = []
        var known: Set<ByteComparedString> = []
        if let critical = header["crit"] {
            guard let elements = critical.array, !elements.isEmpty else {
                throw TokenError(.malformedToken, "“crit” of the header must be a non-empty array")
            }
            for element in elements {
                let name = try Self.name(element, in: header, registered)
                guard known.insert(ByteComparedString(name)).inserted else {
                    throw TokenError(.malformedToken, "“crit” of the header names \(TokenError.shown(name)) twice")
                }
                names.append(name)
            }
        }
        self.names = names
        guard header["b64"] == nil || known.contains(ByteComparedString("b64")) else {
            throw TokenError(.malformedToken, "the header has “b64” but doesn't name it in “crit”")
        }
    }

    /// Returns the strings even if `crit` is malformed otherwise.
    static func names(in header: JSONObject) -> [String] {
        header["crit"]?.array?.compactMap(\.string) ?? []
    }

    func check(areIn understood: Set<String>) throws(TokenError) {
        let understood = Set(understood.map(ByteComparedString.init))
        let unknown = names.filter { !understood.contains(ByteComparedString($0)) }
        guard unknown.isEmpty else {
            let shown = unknown.prefix(10).map(TokenError.shown).joined(separator: ", ")
            throw TokenError(
                .criticalHeaderUnsupported,
                "the header requires unsupported extensions: \(shown)\(unknown.count > 10 ? ", …" : "")"
            )
        }
    }

    private static func name(
        _ element: JSONValue,
        in header: JSONObject,
        _ registered: Set<ByteComparedString>
    ) throws(TokenError) -> String {
        guard let name = element.string, !name.isEmpty else {
            throw TokenError(.malformedToken, "“crit” of the header must contain only names, not \(element.kind)")
        }
        let shown = TokenError.shown(name)
        guard !registered.contains(ByteComparedString(name)) else {
            throw TokenError(.malformedToken, "“crit” of the header names \(shown), which isn't an extension")
        }
        guard header[name] != nil else {
            throw TokenError(.malformedToken, "“crit” of the header names \(shown), which isn't in the header")
        }
        return name
    }

    /// [RFC 7515 §4.1](https://www.rfc-editor.org/rfc/rfc7515#section-4.1).
    static let registeredNames = Set(
        ["alg", "jku", "jwk", "kid", "x5u", "x5c", "x5t", "x5t#S256", "typ", "cty", "crit"].map(ByteComparedString.init)
    )
}
