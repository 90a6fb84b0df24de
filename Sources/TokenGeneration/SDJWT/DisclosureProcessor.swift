internal import OpenSSLCrypto

/// A processor that puts disclosed claims into an issuer-signed payload
/// ([RFC 9901 §7.1](https://www.rfc-editor.org/rfc/rfc9901#section-7.1), steps 3 to 5).
///
/// It visits the payload and each disclosure once.
struct DisclosureProcessor {
    /// A disclosure that a digest refers to.
    struct Found {
        /// The path of the disclosed claim in the processed claims.
        let path: ClaimPath
        /// The index of the disclosure.
        let index: Int
    }

    /// The disclosures that were found, each after those around it.
    private(set) var found: [Found] = []

    private let disclosures: [String]
    private let limits: SDJWTLimits
    /// The index of each disclosure by its digest.
    private var indices: [ByteComparedString: Int] = [:]
    private var digests: Set<ByteComparedString> = []
    private var path: [ClaimPath.Element] = []

    init(_ disclosures: [String], hash: NamedHash, limits: SDJWTLimits) throws(TokenError) {
        self.disclosures = disclosures
        self.limits = limits
        for (index, text) in disclosures.enumerated() {
            let digest = ByteComparedString(try hash.digest(of: Array(text.utf8)))
            guard indices.updateValue(index, forKey: digest) == nil else {
                throw TokenError(.disclosureMismatch, "disclosure \(index) is in the SD-JWT twice")
            }
        }
    }

    /// Returns the processed claims.
    ///
    /// - Throws: ``TokenError`` with the code `malformedClaim`, `malformedDisclosure`,
    ///   `disclosureMismatch` or `tooLarge`.
    mutating func process(_ payload: JSONObject) throws(TokenError) -> JSONObject {
        let claims = try processed(payload, depth: 1)
        guard found.count == disclosures.count else {
            throw TokenError(
                .disclosureMismatch,
                "\(disclosures.count - found.count) disclosures don't belong to the SD-JWT: nothing refers to them"
            )
        }
        return claims
    }
}

extension DisclosureProcessor {
    private mutating func processed(_ value: JSONValue, depth: Int) throws(TokenError) -> JSONValue {
        switch value {
        case .object(let object): return .object(try processed(object, depth: depth))
        case .array(let array): return .array(try processed(array, depth: depth))
        default: return value
        }
    }

    private mutating func processed(_ object: JSONObject, depth: Int) throws(TokenError) -> JSONObject {
        try limits.check(depth: depth)
        var members: [JSONObject.Member] = []
        members.reserveCapacity(object.count)
        var digests: [String] = []
        for member in object {
            if member.name.isExactly("_sd") {
                digests = try Self.digests(in: member.value)
            } else if member.name.isExactly(NamedHash.claim) {
                guard depth == 1 else {
                    throw TokenError(.malformedClaim, "“_sd_alg” is allowed only at the top of the payload")
                }
            } else if member.name.isExactly("...") {
                throw TokenError(.malformedClaim, "“...” is allowed only as the only member of an array's element")
            } else {
                let value = try processed(member.value, at: .name(member.name), depth: depth)
                members.append(JSONObject.Member(name: member.name, value: value))
            }
        }
        guard !digests.isEmpty else { return JSONObject(distinctMembers: members) }
        var names = Set(members.map { ByteComparedString($0.name) })
        for digest in digests {
            guard let (index, disclosure) = try disclosure(for: digest) else { continue }
            guard let name = disclosure.name else {
                throw TokenError(
                    .malformedDisclosure,
                    "a disclosure of an array's element is used for a member of an object"
                )
            }
            guard names.insert(ByteComparedString(name)).inserted else {
                throw TokenError(
                    .disclosureMismatch,
                    "the disclosed claim \(TokenError.shown(name)) is already in the object"
                )
            }
            let value = try processed(disclosure.value, at: .name(name), depth: depth, disclosure: index)
            members.append(JSONObject.Member(name: name, value: value))
        }
        return JSONObject(distinctMembers: members)
    }

    private mutating func processed(_ array: [JSONValue], depth: Int) throws(TokenError) -> [JSONValue] {
        try limits.check(depth: depth)
        var elements: [JSONValue] = []
        elements.reserveCapacity(array.count)
        for element in array {
            guard let object = element.object, object["..."] != nil else {
                elements.append(try processed(element, at: .index(elements.count), depth: depth))
                continue
            }
            guard object.count == 1, let digest = object[0].value.string else {
                throw TokenError(.malformedClaim, "an element with “...” must have only that member, a string")
            }
            guard let (index, disclosure) = try disclosure(for: digest) else { continue }
            guard disclosure.name == nil else {
                throw TokenError(
                    .malformedDisclosure,
                    "a disclosure of an object's member is used for an element of an array"
                )
            }
            elements.append(
                try processed(disclosure.value, at: .index(elements.count), depth: depth, disclosure: index)
            )
        }
        return elements
    }

    /// Processes the value of a member or element, and notes the disclosure that it comes from.
    private mutating func processed(
        _ value: JSONValue,
        at element: ClaimPath.Element,
        depth: Int,
        disclosure: Int? = nil
    ) throws(TokenError) -> JSONValue {
        path.append(element)
        if let disclosure { found.append(Found(path: ClaimPath(path), index: disclosure)) }
        let value = try processed(value, depth: depth + 1)
        path.removeLast()
        return value
    }

    /// Returns the disclosure with a digest, or `nil` for a decoy or a claim that isn't disclosed.
    ///
    /// - Throws: ``TokenError`` with the code `disclosureMismatch` if the digest is repeated,
    ///   `malformedDisclosure` or `tooLarge`.
    private mutating func disclosure(for digest: String) throws(TokenError) -> (index: Int, Disclosure)? {
        let digest = ByteComparedString(digest)
        guard digests.insert(digest).inserted else {
            throw TokenError(.disclosureMismatch, "a digest is in the SD-JWT twice")
        }
        try limits.check(digestCount: digests.count)
        guard let index = indices[digest] else { return nil }
        return (index, try Disclosure(disclosures[index], limits: limits))
    }

    private static func digests(in value: JSONValue) throws(TokenError) -> [String] {
        guard let elements = value.array else {
            throw TokenError(.malformedClaim, "“_sd” must be an array of strings, not \(value.kind)")
        }
        let digests = elements.compactMap(\.string)
        guard digests.count == elements.count else {
            throw TokenError(.malformedClaim, "“_sd” must contain only strings")
        }
        return digests
    }
}
