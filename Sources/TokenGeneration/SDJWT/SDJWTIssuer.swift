internal import OpenSSLCrypto

/// An issuer of SD-JWTs: signed tokens whose holder discloses only some of the claims to each
/// verifier ([RFC 9901](https://www.rfc-editor.org/rfc/rfc9901)).
///
/// ```swift
/// let issuer = try SDJWTIssuer(type: "example+sd-jwt", signingService: key)
/// let token = try issuer.issue(
///     claims,
///     disclosable: ["given_name", ["address", "locality"]],
///     holderKey: holderKey
/// )
/// send(token.compact)
/// ```
///
/// Each disclosable claim gets its own random salt of 128 bits. The digests in an object are
/// sorted, so that they don't show the order of the claims.
public struct SDJWTIssuer: Sendable {
    /// The hash algorithm of the digests, SHA-256 by default, which all verifiers support.
    ///
    /// For a signature algorithm with a longer hash, such as ES512, choose one of the same strength
    /// if the verifiers support it
    /// ([RFC 9901 §9.4](https://www.rfc-editor.org/rfc/rfc9901#section-9.4)).
    public var hashAlgorithm: NamedHash = .sha256
    /// The number of decoy digests in each object and array with disclosable claims, none by
    /// default.
    ///
    /// Decoys hide the number of claims from verifiers
    /// ([RFC 9901 §4.2.5](https://www.rfc-editor.org/rfc/rfc9901#section-4.2.5)). If the range has
    /// several numbers, each object and array gets a random one. Negative numbers count as zero.
    public var decoys: ClosedRange<Int> = 0...0
    /// The maximum size of an SD-JWT.
    ///
    /// Verifiers have the same limits by default.
    public var limits = SDJWTLimits()

    package var random: @Sendable (Int) throws -> [UInt8] = { try SecureRandom.bytes(count: $0) }

    private let type: String
    private let signingService: any LocalSigningService

    /// A holder mustn't be able to hide these ([RFC 9901
    /// §9.7](https://www.rfc-editor.org/rfc/rfc9901#section-9.7)).
    private static let validityClaims = ["iss", "exp", "nbf", "cnf", "status", "vct"]

    /// Creates an issuer.
    ///
    /// - Parameters:
    ///   - type: The media type of the tokens for the header's `typ`: `sd-jwt`, or a type that ends
    ///     with `+sd-jwt`. It distinguishes the tokens from other tokens that are signed with the
    ///     same key.
    ///   - signingService: The service that signs, with an asymmetric algorithm.
    /// - Throws: ``TokenError`` with the code `typeMismatch` for another type, or
    ///   `unsupportedAlgorithm` if the signing service uses a shared secret.
    public init(type: String, signingService: any LocalSigningService) throws(TokenError) {
        guard TypeRule.isSDJWT(type) else {
            throw TokenError(
                .typeMismatch,
                "\(TokenError.shown(type)) isn't a type of SD-JWTs; use one like “example+sd-jwt”"
            )
        }
        guard !signingService.algorithm.isSymmetric else {
            throw TokenError(
                .unsupportedAlgorithm,
                "\(signingService.algorithm) can't sign SD-JWTs, because every verifier could issue them; use a key pair"
            )
        }
        self.type = type
        self.signingService = signingService
    }

    /// Issues an SD-JWT.
    ///
    /// Claims without a path stay visible to every verifier. If both a claim and a claim inside it
    /// are disclosable, the holder can disclose the outer one without the inner one.
    ///
    /// - Parameters:
    ///   - claims: The claims. Their names can't be `_sd`, `_sd_alg` or `...`.
    ///   - paths: The paths of the claims that the holder can hide. The claims `iss`, `exp`, `nbf`,
    ///     `cnf`, `status` and `vct` can't be hidden, nor can `aud` as a whole, because they
    ///     control the token's validity.
    ///   - holderKey: The holder's key for `cnf`, which lets verifiers require a key binding; `nil`
    ///     for a token that anyone who has it can present.
    ///   - header: Members of the header in addition to `alg`, `kid` and `typ`.
    /// - Returns: The SD-JWT with all its disclosures, for the holder.
    /// - Throws: ``TokenError`` with the code `missingClaim` if a path leads to no claim,
    ///   `prohibitedClaim` for a claim that can't be hidden, a reserved name, or a `cnf` besides
    ///   `holderKey`, `tooLarge`, `unsupportedAlgorithm` if the holder's key is a shared secret,
    ///   `algorithmMismatch`, `criticalHeaderUnsupported` or `unencodableContent` for the header as
    ///   ``JWTGenerator/token()`` does, or `signingFailed`. Errors of a custom signing service are
    ///   passed on unchanged.
    public func issue(
        _ claims: JSONObject,
        disclosable paths: [ClaimPath],
        holderKey: VerificationKey? = nil,
        header: JSONObject = [:]
    ) throws -> SDJWT {
        let (payload, disclosures) = try content(claims, paths, holderKey)
        guard header["typ"] == nil || header["typ"] == .string(type) else {
            throw TokenError(.typeMismatch, "“typ” of the header contradicts the issuer's type; omit it")
        }
        var header = header
        header["typ"] = .string(type)
        let token = SDJWT(
            issuerJWT: try JWTGenerator(header: header, payload: payload, signingService: signingService).token(),
            disclosures: disclosures
        )
        try limits.check(size: token.compact.utf8.count)
        return token
    }

    private func content(
        _ claims: JSONObject,
        _ paths: [ClaimPath],
        _ holderKey: VerificationKey?
    ) throws(TokenError) -> (payload: JSONObject, disclosures: [String]) {
        var choice = ClaimConcealer.Choice()
        for path in paths {
            let resolved = path.resolved(in: claims)
            guard !resolved.isEmpty else { throw path.missing }
            for path in resolved {
                try Self.check(path)
                choice.choose(path.elements)
            }
        }
        var claims = claims
        if let holderKey {
            guard claims["cnf"] == nil else {
                throw TokenError(.prohibitedClaim, "the claims have “cnf” besides the holder's key; remove one of them")
            }
            claims["cnf"] = .object(["jwk": .object(try holderKey.jwkForMessages(of: "a holder's key"))])
        }
        var concealer = ClaimConcealer(hash: hashAlgorithm, decoys: decoys, limits: limits, random: random)
        var payload = try concealer.concealed(claims, choice)
        payload[NamedHash.claim] = .string(hashAlgorithm.rawValue)
        return (payload, concealer.disclosures)
    }

    private static func check(_ path: ClaimPath) throws(TokenError) {
        guard case .name(let name) = path.elements.first?.wrapped else { return }
        let isValidity =
            validityClaims.contains { $0.isExactly(name.text) }
            || path.elements.count == 1 && name.text.isExactly("aud")
        guard !isValidity else {
            throw TokenError(
                .prohibitedClaim,
                "\(TokenError.shown(name.text)) can't be disclosable, because it controls the token's validity"
            )
        }
    }
}

/// Replaces claims by digests of their disclosures ([RFC 9901
/// §4.2](https://www.rfc-editor.org/rfc/rfc9901#section-4.2)).
struct ClaimConcealer {
    struct Choice {
        var isDisclosable = false
        var children: [ClaimPath.Element: Choice] = [:]

        mutating func choose(_ path: some Collection<ClaimPath.Element>) {
            guard let first = path.first else {
                isDisclosable = true
                return
            }
            children[first, default: Choice()].choose(path.dropFirst())
        }
    }

    private(set) var disclosures: [String] = []

    let hash: NamedHash
    let decoys: ClosedRange<Int>
    let limits: SDJWTLimits
    let random: @Sendable (Int) throws -> [UInt8]

    private(set) var digestCount = 0

    /// In bytes: the recommended 128 bits ([RFC 9901
    /// §9.3](https://www.rfc-editor.org/rfc/rfc9901#section-9.3)).
    private static let saltSize = 16

    private mutating func concealed(
        _ value: JSONValue,
        _ choice: Choice?,
        depth: Int
    ) throws(TokenError) -> JSONValue {
        switch value {
        case .object(let object): return .object(try concealed(object, choice, depth: depth))
        case .array(let array): return .array(try concealed(array, choice, depth: depth))
        default: return value
        }
    }

    mutating func concealed(
        _ object: JSONObject,
        _ choice: Choice?,
        depth: Int = 1
    ) throws(TokenError) -> JSONObject {
        try limits.check(depth: depth)
        var members: [JSONObject.Member] = []
        var digests: [String] = []
        for member in object {
            guard !Disclosure.isReserved(member.name) else {
                throw TokenError(.prohibitedClaim, "\(TokenError.shown(member.name)) can't be the name of a claim")
            }
            let chosen = choice?.children[.name(member.name)]
            let value = try concealed(member.value, chosen, depth: depth + 1)
            if chosen?.isDisclosable ?? false {
                digests.append(try disclose(member.name, value))
            } else {
                members.append(JSONObject.Member(name: member.name, value: value))
            }
        }
        guard !digests.isEmpty else { return JSONObject(distinctMembers: members) }
        for _ in 0..<(try decoyCount()) { digests.append(try decoy()) }
        // The order of digests mustn't depend on the order of claims.
        members.append(JSONObject.Member(name: "_sd", value: .array(digests.sorted().map(JSONValue.string))))
        return JSONObject(distinctMembers: members)
    }

    private mutating func concealed(
        _ array: [JSONValue],
        _ choice: Choice?,
        depth: Int
    ) throws(TokenError) -> [JSONValue] {
        try limits.check(depth: depth)
        var elements: [JSONValue] = []
        var isConcealing = false
        for (index, element) in array.enumerated() {
            let chosen = choice?.children[.index(index)]
            let value = try concealed(element, chosen, depth: depth + 1)
            if chosen?.isDisclosable ?? false {
                isConcealing = true
                elements.append(Self.placeholder(try disclose(nil, value)))
            } else {
                elements.append(value)
            }
        }
        guard isConcealing else { return elements }
        for _ in 0..<(try decoyCount()) {
            elements.insert(Self.placeholder(try decoy()), at: try number(below: elements.count + 1))
        }
        return elements
    }

    private static func placeholder(_ digest: String) -> JSONValue { .object(["...": .string(digest)]) }

    /// Returns the digest.
    private mutating func disclose(_ name: String?, _ value: JSONValue) throws(TokenError) -> String {
        try limits.check(disclosureCount: disclosures.count + 1)
        let text = Disclosure.text(salt: try bytes(Self.saltSize), name: name, value: value)
        try limits.check(disclosureSize: text.utf8.count)
        disclosures.append(text)
        return try counted(hash.digest(of: Array(text.utf8)))
    }

    /// [RFC 9901 §4.2.5](https://www.rfc-editor.org/rfc/rfc9901#section-4.2.5).
    private mutating func decoy() throws(TokenError) -> String {
        try counted(hash.digest(of: bytes(2 * Self.saltSize)))
    }

    private mutating func counted(_ digest: String) throws(TokenError) -> String {
        digestCount += 1
        try limits.check(digestCount: digestCount)
        return digest
    }

    private func decoyCount() throws(TokenError) -> Int {
        guard decoys.lowerBound < decoys.upperBound else { return max(decoys.lowerBound, 0) }
        // Bounded, because a larger number exceeds the limit of digests anyway.
        let upper = min(max(decoys.upperBound, 0), limits.digestCount + 1)
        let lower = min(max(decoys.lowerBound, 0), upper)
        return lower + (try number(below: upper - lower + 1))
    }

    /// The remainder of 64 bits is uniform except for one part in 2⁵⁰.
    private func number(below limit: Int) throws(TokenError) -> Int {
        let word = try bytes(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        return Int(word % UInt64(max(limit, 1)))
    }

    private func bytes(_ count: Int) throws(TokenError) -> [UInt8] {
        do {
            return try random(count)
        } catch {
            throw TokenError(.signingFailed, "can't generate a salt; the system has no random numbers", cause: error)
        }
    }
}
