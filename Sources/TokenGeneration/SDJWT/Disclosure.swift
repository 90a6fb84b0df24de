internal import OpenSSLCrypto

/// The content of a disclosure: a salted claim
/// ([RFC 9901 §4.2](https://www.rfc-editor.org/rfc/rfc9901#section-4.2)).
struct Disclosure {
    /// The claim's name, or `nil` for an element of an array.
    let name: String?
    /// The claim's value.
    let value: JSONValue

    /// The names that SD-JWTs reserve, which can't be names of claims.
    static let reservedNames = ["_sd", "...", NamedHash.claim]

    /// Decodes a disclosure.
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

    /// Returns a Boolean value that indicates whether a name is reserved.
    static func isReserved(_ name: String) -> Bool { reservedNames.contains { $0.isExactly(name) } }

    /// Encodes a claim, or an element of an array if `name` is `nil`.
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
    /// The claim that names the algorithm of an SD-JWT.
    static let claim = "_sd_alg"

    /// Reads the algorithm of an issuer-signed payload.
    ///
    /// - Throws: ``TokenError`` with the code `malformedClaim` or `unsupportedAlgorithm`.
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
