public import FoundationEssentials
internal import OpenSSLCrypto

/// A JSON Web Key with all its members
/// ([RFC 7517 §4](https://www.rfc-editor.org/rfc/rfc7517#section-4)).
///
/// A `JWK` is a document, not yet a key: it can have any `kty`, and keeps members that this package
/// doesn't know. The numbers are checked when you create a ``SigningKey`` or a ``VerificationKey``
/// from it. Descriptions show only the public part, and reflections nothing; ``members`` has
/// everything. A property that is set to `nil` removes its member.
public struct JWK: Sendable, Hashable, Redacted {
    /// All members, including private ones.
    public var members: JSONObject

    /// Creates a JWK from its members, which must have the right JSON types.
    ///
    /// - Parameter members: The members, at most 128.
    /// - Throws: ``TokenError`` with the code `malformedKey` or `tooLarge`.
    public init(_ members: JSONObject) throws(TokenError) {
        self.members = members
        try checkTypes()
    }

    /// Parses a JWK from JSON text.
    ///
    /// - Parameter text: The JSON text.
    /// - Throws: ``TokenError`` with the code `malformedJSON`, `tooLarge` or `malformedKey`.
    public init(parsing text: String) throws(TokenError) {
        try self.init(JSONObject(parsing: text))
    }

    /// Parses a JWK from JSON text in UTF-8.
    ///
    /// - Parameter data: The JSON text.
    /// - Throws: ``TokenError`` with the code `malformedJSON`, `tooLarge` or `malformedKey`.
    public init(parsing data: Data) throws(TokenError) {
        try self.init(JSONObject(parsing: data))
    }

    /// The key type, `kty`: `EC`, `RSA`, `OKP`, `oct` or another.
    public var keyType: String { members["kty"]?.string ?? "" }
    /// The curve, `crv`, for the key types that have one.
    public var curve: String? { members["crv"]?.string }
    /// The key's ID, `kid`.
    public var keyID: String? {
        get { members["kid"]?.string }
        set { members["kid"] = newValue.map(JSONValue.string) }
    }
    /// The algorithm that the key is for, `alg`.
    ///
    /// It can be any algorithm, not only a signature algorithm.
    public var algorithm: String? {
        get { members["alg"]?.string }
        set { members["alg"] = newValue.map(JSONValue.string) }
    }
    /// The use of the key, `use`: `sig` or `enc`.
    public var use: String? {
        get { members["use"]?.string }
        set { members["use"] = newValue.map(JSONValue.string) }
    }
    package var keyOperations: [String]? {
        get { members["key_ops"]?.array?.compactMap(\.string) }
        set { members["key_ops"] = newValue.map { .array($0.map(JSONValue.string)) } }
    }

    /// A Boolean value that indicates whether the key has a private member or is symmetric.
    public var isPrivate: Bool {
        KeyType.privateMembers.contains { members[$0] != nil }
    }

    /// The key without its private members.
    ///
    /// Its `key_ops` are those of the public part: `verify` for `sign`, `encrypt` for `decrypt`,
    /// `wrapKey` for `unwrapKey`. A symmetric key (`oct`) has no usable public part: only its
    /// metadata remains.
    public var publicPart: JWK {
        guard isPrivate else { return self }
        var part = self
        for name in KeyType.privateMembers { part.members[name] = nil }
        if let operations = keyOperations {
            var publicOperations: [JSONValue] = []
            var known: Set<ByteComparedString> = []
            for operation in operations.map(ByteComparedString.init) {
                let counterpart = Self.publicCounterparts[operation] ?? operation
                if known.insert(counterpart).inserted { publicOperations.append(.string(counterpart.text)) }
            }
            part.members["key_ops"] = .array(publicOperations)
        }
        return part
    }

    private static let publicCounterparts = [
        ByteComparedString("sign"): ByteComparedString("verify"),
        ByteComparedString("decrypt"): ByteComparedString("encrypt"),
        ByteComparedString("unwrapKey"): ByteComparedString("wrapKey"),
    ]

    /// Fewer than 30 members are registered.
    static let maximumMemberCount = 128

    private func checkTypes() throws(TokenError) {
        guard members.count <= Self.maximumMemberCount else {
            throw TokenError(
                .tooLarge,
                "the JWK has \(members.count) members, but the limit is \(Self.maximumMemberCount)"
            )
        }
        guard let keyType = members["kty"] else {
            throw TokenError(.malformedKey, "the JWK has no “kty”, the key type")
        }
        guard let keyType = keyType.string, !keyType.isEmpty else {
            throw TokenError(.malformedKey, "“kty” of the JWK must be a non-empty string")
        }
        for name in ["crv", "kid", "alg", "use", "x5u", "x5t", "x5t#S256"] {
            guard let value = members[name] else { continue }
            guard value.string != nil else {
                throw TokenError(.malformedKey, "“\(name)” of the JWK must be a string, not \(value.kind)")
            }
        }
        try checkStrings(in: "x5c")
        if let operations = try checkStrings(in: "key_ops"),
            Set(operations.map(ByteComparedString.init)).count != operations.count
        {
            throw TokenError(.malformedKey, "“key_ops” of the JWK has an operation twice")
        }
    }

    @discardableResult
    private func checkStrings(in name: String) throws(TokenError) -> [String]? {
        guard let value = members[name] else { return nil }
        let strings = value.array?.compactMap(\.string)
        guard let strings, strings.count == value.array?.count else {
            throw TokenError(.malformedKey, "“\(name)” of the JWK must be an array of strings")
        }
        return strings
    }

    /// The public part as JSON, with a note if there is a private part.
    public var description: String {
        isPrivate ? "\(publicPart.members) (private members not shown)" : members.description
    }

    /// Ignores private members.
    func publicKey(maximumRSAKeySize: Int = RSAKeyLimit.configuration) throws(TokenError) -> PublicKey {
        switch KeyType(rawValue: keyType) {
        case .ec:
            let curve = try supportedCurve(EllipticCurve.init(name:))
            let x = try octets(of: "x", count: curve.coordinateSize)
            let y = try octets(of: "y", count: curve.coordinateSize)
            return try TokenError.refusingKey(.ellipticCurve(ECPublicKey(curve: curve, x: x, y: y)))
        case .rsa:
            let modulus = try number("n")
            let exponent = try number("e")
            return try TokenError.refusingKey(
                .rsa(RSAPublicKey(modulus: modulus, exponent: exponent, maximumBitCount: maximumRSAKeySize))
            )
        case .okp:
            if let curve = montgomeryCurve {
                let octets = try octets(of: "x", count: curve.keySize)
                return try TokenError.refusingKey(.montgomery(MontgomeryPublicKey(curve: curve, octets: octets)))
            }
            let curve = try supportedCurve(EdwardsCurve.init(name:))
            let octets = try octets(of: "x", count: curve.keySize)
            return try TokenError.refusingKey(.edwards(EdwardsPublicKey(curve: curve, octets: octets)))
        case .akp:
            let parameters = try mldsaParameters()
            let octets = try octets(of: "pub", count: parameters.keySize)
            return try TokenError.refusingKey(.mldsa(MLDSAPublicKey(parameters: parameters, octets: octets)))
        default:
            throw TokenError(.unsupportedKey, "a key of kty \(TokenError.shown(keyType)) has no public part")
        }
    }

    func keyPair() throws(TokenError) -> PrivateKey {
        switch KeyType(rawValue: keyType) {
        case .ec:
            let curve = try supportedCurve(EllipticCurve.init(name:))
            let x = try octets(of: "x", count: curve.coordinateSize)
            let y = try octets(of: "y", count: curve.coordinateSize)
            let scalar = try secretOctets(of: "d", count: curve.coordinateSize)
            return try TokenError.refusingKey(.ellipticCurve(ECPrivateKey(curve: curve, scalar: scalar, x: x, y: y)))
        case .rsa:
            let modulus = try number("n")
            let exponent = try number("e")
            let privateExponent = try secretNumber("d")
            let factors = try rsaFactors()
            return try TokenError.refusingKey(
                .rsa(
                    RSAPrivateKey(
                        modulus: modulus,
                        exponent: exponent,
                        privateExponent: privateExponent,
                        factors: factors
                    )
                )
            )
        case .okp:
            if let curve = montgomeryCurve {
                let octets = try octets(of: "x", count: curve.keySize)
                let seed = try secretOctets(of: "d", count: curve.keySize)
                return try TokenError.refusingKey(
                    .montgomery(MontgomeryPrivateKey(curve: curve, seed: seed, expecting: octets))
                )
            }
            let curve = try supportedCurve(EdwardsCurve.init(name:))
            let octets = try octets(of: "x", count: curve.keySize)
            let seed = try secretOctets(of: "d", count: curve.keySize)
            return try TokenError.refusingKey(.edwards(EdwardsPrivateKey(curve: curve, seed: seed, expecting: octets)))
        case .akp:
            let parameters = try mldsaParameters()
            let octets = try octets(of: "pub", count: parameters.keySize)
            let seed = try secretOctets(of: "priv", count: MLDSAParameters.seedSize)
            return try TokenError.refusingKey(
                .mldsa(MLDSAPrivateKey(parameters: parameters, seed: seed, expecting: octets))
            )
        default:
            throw TokenError(.unsupportedKey, "a key of kty \(TokenError.shown(keyType)) isn't a key pair")
        }
    }

    private var montgomeryCurve: MontgomeryCurve? { curve.flatMap(MontgomeryCurve.init(name:)) }

    private func secretOctets(of name: String, count: Int) throws(TokenError) -> SecretBytes {
        try octets(of: name, count: count).withBytes { SecretBytes(copying: $0) }
    }

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
    public func thumbprint(_ hash: NamedHash) throws(TokenError) -> String {
        try hash.digest(of: thumbprintInput().serializedBytes(), failure: .malformedKey)
    }

    /// Returns the thumbprint as a URI ([RFC 9278](https://www.rfc-editor.org/rfc/rfc9278)).
    ///
    /// - Parameter hash: The hash function. The default is SHA-256.
    /// - Returns: The URI: `urn:ietf:params:oauth:jwk-thumbprint:sha-256:`, for example, followed
    ///   by the thumbprint.
    /// - Throws: ``TokenError`` as ``thumbprint(_:)`` does.
    public func thumbprintURI(_ hash: NamedHash = .sha256) throws(TokenError) -> String {
        "urn:ietf:params:oauth:jwk-thumbprint:\(hash.rawValue):\(try thumbprint(hash))"
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

extension PublicKey {
    /// Without `kty`.
    var jwkMembers: JSONObject {
        switch self {
        case .ellipticCurve(let key):
            ["crv": .string(key.curve.name), "x": .base64URL(key.x), "y": .base64URL(key.y)]
        case .rsa(let key): ["n": .base64URL(key.modulus), "e": .base64URL(key.exponent)]
        case .edwards(let key): ["crv": .string(key.curve.name), "x": .base64URL(key.octets)]
        case .montgomery(let key): ["crv": .string(key.curve.name), "x": .base64URL(key.octets)]
        case .mldsa(let key): ["alg": .string(key.parameters.name), "pub": .base64URL(key.octets)]
        }
    }
}

extension PrivateKey {
    func jwkPrivateMembers() throws(CryptoError) -> JSONObject {
        switch self {
        case .ellipticCurve(let key): return ["d": .base64URL(try key.scalar())]
        case .rsa(let key):
            let factors = try key.factors()
            return [
                "d": .base64URL(try key.privateExponent()), "p": .base64URL(factors.p), "q": .base64URL(factors.q),
                "dp": .base64URL(factors.dp), "dq": .base64URL(factors.dq), "qi": .base64URL(factors.qi),
            ]
        case .edwards(let key): return ["d": .base64URL(try key.seed())]
        case .montgomery(let key): return ["d": .base64URL(try key.seed())]
        case .mldsa(let key): return ["priv": .base64URL(try key.seed())]
        }
    }
}

extension JSONValue {
    static func base64URL(_ bytes: [UInt8]) -> JSONValue { .string(Base64URL.encode(bytes)) }

    static func base64URL(_ bytes: SecretBytes) -> JSONValue {
        .string(bytes.withBytes { Base64URL.encode(Span<UInt8>(_bytes: $0)) })
    }
}
