internal import OpenSSLCrypto

/// [RFC 9901 §4.2](https://www.rfc-editor.org/rfc/rfc9901#section-4.2).
struct Disclosure {
    let name: String?
    let value: JSONValue

    static let reservedNames = ["_sd", "...", NamedHash.claim]

    init(_ text: String, limits: SDJWTLimits) throws(TokenError) {
        let content: JSONValue
        do throws(TokenError) {
            let json = try Base64URL.decode(text)
            content = try JSONParser.parse(json, limits: JSONLimits(size: json.count, depth: limits.depth + 1))
        } catch {
            let code: TokenError.Code = error.code == .tooLarge ? .tooLarge : .malformedDisclosure
            throw TokenError(code, "a disclosure isn't base64url of JSON: \(error.message)")
        }
        guard let elements = content.array, (2...3).contains(elements.count), elements[0].string != nil else {
            throw TokenError(.malformedDisclosure, "a disclosure isn't an array of a salt, a name and a value")
        }
        value = elements[elements.count - 1]
        guard elements.count == 3 else {
            name = nil
            return
        }
        guard let name = elements[1].string else {
            throw TokenError(.malformedDisclosure, "the name in a disclosure must be a string, not \(elements[1].kind)")
        }
        guard !Self.isReserved(name) else {
            throw TokenError(.malformedDisclosure, "a disclosure has the reserved name \(TokenError.shown(name))")
        }
        self.name = name
    }

    static func isReserved(_ name: String) -> Bool { reservedNames.contains { $0.isExactly(name) } }

    static func text(salt: [UInt8], name: String?, value: JSONValue) -> String {
        var elements: [JSONValue] = [.base64URL(salt)]
        if let name { elements.append(.string(name)) }
        elements.append(value)
        var writer = JSONWriter()
        writer.write(.array(elements))
        return Base64URL.encode(writer.finished())
    }
}

extension NamedHash {
    static let claim = "_sd_alg"

    init(in payload: JSONObject) throws(TokenError) {
        guard let name = try payload.stringClaim(Self.claim) else {
            self = .sha256
            return
        }
        guard let algorithm = NamedHash(rawValue: name) else {
            throw TokenError(
                .unsupportedAlgorithm,
                "“_sd_alg” is \(TokenError.shown(name)), but only sha-256, sha-384 and sha-512 are supported"
            )
        }
        self = algorithm
    }
}

/// Unlike a ``DisclosureProcessor``, a finder rejects nothing.
///
/// It visits the payload and each disclosure at most once, down to the same depth.
struct DisclosureFinder {
    private(set) var undisclosedCount = 0

    private let limits: SDJWTLimits
    private let digests: [String?]
    private let contents: [Disclosure?]
    private var indices: [ByteComparedString: Int] = [:]
    private var paths: [ClaimPath?]
    private var path: [ClaimPath.Element] = []

    /// `hash` is `nil` if it isn't supported.
    init(_ disclosures: [String], hash: NamedHash?, limits: SDJWTLimits) {
        self.limits = limits
        digests = disclosures.map { text in try? hash?.digest(of: Array(text.utf8)) }
        contents = disclosures.map { text in try? Disclosure(text, limits: limits) }
        paths = disclosures.map { _ in nil }
        for (index, digest) in digests.enumerated() {
            // The first of repeated disclosures gets the path.
            if let digest { indices[ByteComparedString(digest)] = indices[ByteComparedString(digest)] ?? index }
        }
    }

    var disclosures: [UnverifiedSDJWT.Disclosed] {
        contents.indices.map { index in
            UnverifiedSDJWT.Disclosed(
                digest: digests[index],
                path: paths[index],
                name: contents[index]?.name,
                value: contents[index]?.value
            )
        }
    }

    mutating func visit(_ value: JSONValue) {
        guard path.count < limits.depth else { return }
        switch value {
        case .object(let object):
            for member in object {
                if member.name.isExactly("_sd") {
                    for digest in member.value.array ?? [] {
                        visit(digest: digest.string) { $0.name.map { .name($0) } }
                    }
                } else {
                    visit(member.value, at: .name(member.name))
                }
            }
        case .array(let array):
            var index = 0
            for element in array {
                if let digest = element.object?["..."] {
                    if visit(digest: digest.string, { $0.name == nil ? .index(index) : nil }) { index += 1 }
                } else {
                    visit(element, at: .index(index))
                    index += 1
                }
            }
        default: break
        }
    }

    private mutating func visit(_ value: JSONValue, at element: ClaimPath.Element) {
        path.append(element)
        visit(value)
        path.removeLast()
    }

    /// The digest is `nil` if it isn't a string, and `element` returns the step to the claim, or
    /// `nil` for the wrong form; the result is whether there's a disclosure of the right form.
    @discardableResult
    private mutating func visit(digest: String?, _ element: (Disclosure) -> ClaimPath.Element?) -> Bool {
        guard let digest else { return false }
        guard let index = indices[ByteComparedString(digest)] else {
            undisclosedCount += 1
            return false
        }
        guard paths[index] == nil, let content = contents[index], let element = element(content) else { return false }
        paths[index] = ClaimPath(path + [element])
        visit(content.value, at: element)
        return true
    }
}

/// Puts disclosed claims into an issuer-signed payload ([RFC 9901
/// §7.1](https://www.rfc-editor.org/rfc/rfc9901#section-7.1), steps 3 to 5), visiting each
/// disclosure once.
struct DisclosureProcessor {
    struct Found {
        let path: ClaimPath
        let index: Int
    }

    private(set) var found: [Found] = []

    private let disclosures: [String]
    private let limits: SDJWTLimits
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

    /// Returns `nil` for a decoy or a claim that isn't disclosed.
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
