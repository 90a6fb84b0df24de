internal import OpenSSLCrypto

/// The header parameters of a JWE for one recipient, each in an allowed place ([RFC 7516
/// §4](https://www.rfc-editor.org/rfc/rfc7516#section-4)).
///
/// It deliberately ignores `jwk`, `jku`, `x5u` and `x5c`.
struct JWEHeader: Sendable {
    let algorithm: String
    let encryption: String
    let keyID: String?

    private let shared: Shared
    private let recipientHeader: JSONObject

    /// The headers of all recipients, which are checked once.
    struct Shared: Sendable {
        fileprivate let protected: JSONObject
        fileprivate let unprotected: JSONObject
        fileprivate let protectedNames: [String]
        fileprivate let critical: Result<CriticalExtensions, TokenError>
        fileprivate let placement: JWEHeaderPlacement

        init(_ token: EncryptedToken, _ placement: JWEHeaderPlacement) throws(TokenError) {
            let header = token.protectedHeader
            protected = header
            unprotected = token.sharedHeader
            protectedNames = ["crit", "zip", "b64"] + CriticalExtensions.names(in: header)
            critical = Result { () throws(TokenError) in
                try CriticalExtensions(of: header, registered: JWEHeader.registeredNames)
            }
            self.placement = placement
            for member in unprotected where protected[member.name] != nil { throw JWEHeader.repeated(member.name) }
            guard !unprotected.isEmpty else { return }
            for name in protectedNames { try JWEHeader.refuse(name, in: unprotected) }
            guard !placement.allowsUnprotected else { return }
            for name in ["alg", "enc"] + JWEHeader.managementNames { try JWEHeader.refuse(name, in: unprotected) }
        }

        fileprivate subscript(name: String) -> JSONValue? { protected[name] ?? unprotected[name] }
    }

    init(_ shared: Shared, _ recipient: EncryptedToken.Recipient) throws(TokenError) {
        let own = recipient.header
        for member in own where shared[member.name] != nil { throw Self.repeated(member.name) }
        if !own.isEmpty {
            for name in shared.protectedNames { try Self.refuse(name, in: own) }
            if !shared.placement.allowsUnprotected { try Self.refuse("enc", in: own) }
        }
        func string(_ name: String) throws(TokenError) -> String? { try Self.string(name, own, shared) }
        for name in ["typ", "cty"] { _ = try string(name) }
        guard let algorithm = try string("alg") else { throw Self.missing("alg") }
        guard let encryption = try string("enc") else { throw Self.missing("enc") }
        self.algorithm = algorithm
        self.encryption = encryption
        keyID = try string("kid")
        self.shared = shared
        recipientHeader = own
    }

    /// The names in all headers are distinct.
    subscript(name: String) -> JSONValue? { recipientHeader[name] ?? shared[name] }

    func criticalExtensions() throws(TokenError) -> CriticalExtensions { try shared.critical.get() }

    /// [RFC 7518 §4](https://www.rfc-editor.org/rfc/rfc7518#section-4).
    static let writtenNames = ["epk", "iv", "tag", "p2s", "p2c"]
    static let managementNames = writtenNames + ["apu", "apv"]

    /// The names of [RFC 7516 §4.1](https://www.rfc-editor.org/rfc/rfc7516#section-4.1) and [RFC
    /// 7518 §4](https://www.rfc-editor.org/rfc/rfc7518#section-4), and those of a JWS.
    static let registeredNames = CriticalExtensions.registeredNames.union(
        (["enc", "zip"] + managementNames).map(ByteComparedString.init)
    )

    func octets(_ name: String, limit: Int) throws(TokenError) -> [UInt8] {
        guard let octets = try optionalOctets(name, limit: limit) else {
            throw TokenError(.malformedToken, "the header has no “\(name)”, but \(algorithm) requires it")
        }
        return octets
    }

    func optionalOctets(_ name: String, limit: Int) throws(TokenError) -> [UInt8]? {
        guard let text = try Self.string(name, recipientHeader, shared) else { return nil }
        guard text.utf8.count <= Base64URL.encodedSize(limit) else {
            throw TokenError(.tooLarge, "“\(name)” of the header has more than \(limit) bytes")
        }
        return try Base64URL.decode(text.utf8.span, "“\(name)” of the header")
    }

    private static func string(_ name: String, _ own: JSONObject, _ shared: Shared) throws(TokenError) -> String? {
        if own[name] != nil { return try ProtectedHeader.string(name, in: own) }
        return try ProtectedHeader.string(
            name,
            in: shared.protected[name] == nil ? shared.unprotected : shared.protected
        )
    }

    private static func missing(_ name: String) -> TokenError {
        TokenError(.malformedToken, "the header has no “\(name)”")
    }

    private static func repeated(_ name: String) -> TokenError {
        TokenError(.malformedToken, "\(TokenError.shown(name)) is in two headers of the JWE")
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

/// The maximum size of a JWE, so that an untrusted text can't exhaust the process.
///
/// A text that exceeds a limit is rejected with the code `tooLarge`, before any decryption.
public struct JWELimits: Sendable, Hashable {
    /// The maximum size of the whole text in bytes, 256 KiB by default.
    public var size: Int
    /// The maximum size of a protected header's JSON in bytes, 8 KiB by default.
    public var headerSize = 8_192
    /// The maximum number of recipients in a JSON serialization, 16 by default.
    ///
    /// Only one of them is decrypted.
    public var recipientCount = 16
    /// The maximum nesting depth of objects and arrays in JSON, 64 by default and at most 512.
    ///
    /// A larger number becomes 512, because each level uses stack space.
    public var depth: Int {
        get { allowedDepth }
        set { allowedDepth = min(newValue, JWSLimits.maximumDepth) }
    }
    private var allowedDepth = 64
    /// The maximum number of members in one JSON object, 1000 by default.
    public var memberCount = 1_000

    /// Creates limits in which the other properties have their default values.
    public init(size: Int = 262_144) {
        self.size = size
    }

    static let encryptedKeySize = 1_024
    static let partyInfoSize = 256
    static let saltSize = 1_024

    var document: JSONLimits { JSONLimits(size: size, depth: depth, members: memberCount) }

    var header: JWSLimits {
        var limits = JWSLimits(size: size)
        limits.headerSize = headerSize
        limits.depth = depth
        limits.memberCount = memberCount
        return limits
    }
}
