/// A builder of an issuer-signed payload, which replaces claims by digests of their disclosures
/// ([RFC 9901 §4.2](https://www.rfc-editor.org/rfc/rfc9901#section-4.2)).
struct ClaimConcealer {
    /// The disclosable claims in and at a claim.
    struct Choice {
        var isDisclosable = false
        var children: [ClaimPath.Element: Choice] = [:]

        /// Chooses the claim at the end of a path.
        mutating func choose(_ path: some Collection<ClaimPath.Element>) {
            guard let first = path.first else {
                isDisclosable = true
                return
            }
            children[first, default: Choice()].choose(path.dropFirst())
        }
    }

    /// The disclosures of all concealed claims.
    private(set) var disclosures: [String] = []

    let hash: NamedHash
    let decoys: ClosedRange<Int>
    let limits: SDJWTLimits
    /// The source of random bytes.
    let random: @Sendable (Int) throws -> [UInt8]

    private(set) var digestCount = 0

    /// The size of a salt in bytes: the recommended 128 bits
    /// ([RFC 9901 §9.3](https://www.rfc-editor.org/rfc/rfc9901#section-9.3)).
    private static let saltSize = 16
}

extension ClaimConcealer {
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

    /// Returns the claims with digests in place of the chosen ones.
    ///
    /// - Throws: ``TokenError`` with the code `prohibitedClaim` for a reserved name, `tooLarge` or
    ///   `signingFailed`.
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

    /// Adds a disclosure.
    ///
    /// - Returns: Its digest.
    private mutating func disclose(_ name: String?, _ value: JSONValue) throws(TokenError) -> String {
        try limits.check(disclosureCount: disclosures.count + 1)
        let text = Disclosure.text(salt: try bytes(Self.saltSize), name: name, value: value)
        try limits.check(disclosureSize: text.utf8.count)
        disclosures.append(text)
        return try counted(hash.digest(of: Array(text.utf8)))
    }

    /// Returns a digest without a disclosure
    /// ([RFC 9901 §4.2.5](https://www.rfc-editor.org/rfc/rfc9901#section-4.2.5)).
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

    /// Returns a random number.
    ///
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
