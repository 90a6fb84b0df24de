import Foundation
import TokenGeneration

extension FuzzTarget {
    /// Reads an SD-JWT as text, or as lines that are signed here.
    ///
    /// The lines are the claims of a key binding, which may be empty, the payload, and the JSON of
    /// each disclosure. `%` and a digit stand for the digest of the disclosure with that number. In
    /// a key binding, `%0` stands for the hash of the presentation.
    static func sdJWT(_ text: String) {
        let lines = text.split(separator: "\n", maxSplits: 9, omittingEmptySubsequences: false).map(String.init)
        guard lines.count > 1 else { return readSDJWT(text) }
        var disclosures = Array(lines.dropFirst(2))
        for index in disclosures.indices.reversed() {
            disclosures[index] = Base64URL.encode(Array(resolved(disclosures[index], disclosures, after: index).utf8))
        }
        let payload = resolved(lines[1], disclosures, after: -1)
        guard let jwt = signed(#"{"alg":"ES256","typ":"sd-jwt"}"#, payload) else { defect("the token can't be signed") }
        let token = ([jwt] + disclosures).map { "\($0)~" }.joined()
        if !lines[0].isEmpty { checkBinding(lines[0].replacing("%0", with: Seeds.digest(token)), to: token) }
        let unverified = try? UnverifiedSDJWT(token)
        guard let verified = try? Seeds.sdJWTVerifier.verify(token, keyBinding: .notRequired) else { return }
        require(unverified != nil, "a verified token can't be inspected")
        check(verified.claims, depth: 1)
        require(verified.disclosedPaths.count == disclosures.count, "a disclosure was ignored")
        require(verified.keyBinding == nil, "a key binding appeared")
        guard let holder = try? SDJWTHolder(unverified: token) else {
            defect("a holder rejects what a verifier accepts")
        }
        require(holder.claims == verified.claims, "holder and verifier see different claims")
        require(
            (try? holder.presentation(disclosing: holder.disclosablePaths))?.compact == token,
            "the presentation of all claims differs"
        )
        for paths in [[]] + holder.disclosablePaths.map({ [$0] }) {
            guard let part = try? holder.presentation(disclosing: paths),
                // The policy can reject claims that depend on each other, but not the disclosures.
                let shown = try? SDJWTHolder(unverified: part.compact)
            else { defect("a selection can't be presented") }
            let around = holder.disclosablePaths.count { path in
                paths.contains { $0.elements.starts(with: path.elements) }
            }
            require(shown.disclosablePaths.count == around, "a selection discloses too much or too little")
        }
    }

    private static func resolved(_ text: String, _ disclosures: [String], after index: Int) -> String {
        var text = text
        for (number, disclosure) in disclosures.enumerated() where number > index {
            if text.contains("%\(number)") { text = text.replacing("%\(number)", with: Seeds.digest(disclosure)) }
        }
        return text
    }

    private static func signed(_ header: String, _ claims: String) -> String? {
        let input = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(Array(claims.utf8)))"
        return Seeds.proofSignature(for: input).map { "\(input).\(Base64URL.encode($0))" }
    }

    private static func checkBinding(_ claims: String, to token: String) {
        guard let binding = signed(#"{"alg":"ES256","typ":"kb+jwt"}"#, claims) else { defect("it can't be signed") }
        guard let verified = try? Seeds.sdJWTVerifier.verify(token + binding, keyBinding: Seeds.keyBindingRule) else {
            return
        }
        guard let found = verified.keyBinding else { defect("a required key binding is missing") }
        require(found.claims["nonce"] == "n" && found.claims["aud"] == "a", "another key binding was accepted")
        require(found.claims["sd_hash"]?.string == Seeds.digest(token), "a key binding for another token was accepted")
        require(found.key.thumbprint == Seeds.keyThumbprint, "another key was accepted")
    }

    /// Reads a text in the form of one token, of which only the examples are signed.
    private static func readSDJWT(_ text: String) {
        let isJSON = text.utf8.first == UInt8(ascii: "{")
        let unverified = isJSON ? try? UnverifiedSDJWT(json: Data(text.utf8)) : try? UnverifiedSDJWT(text)
        let verifier = Seeds.exampleVerifier
        let verified =
            isJSON
            ? try? verifier.verify(json: Data(text.utf8), keyBinding: .notRequired)
            : try? verifier.verify(text, keyBinding: .notRequired)
        guard let verified else { return }
        check(verified.claims, depth: 1)
        require(unverified != nil, "a verified token can't be inspected")
        let signed = Seeds.exampleJWTs
        require(
            isJSON
                ? (try? JSONObject(parsing: text))?["payload"]?.string.map(signed.contains) ?? false
                : text.split(separator: "~").first.map { signed.contains(String($0)) } ?? false,
            "an unsigned token was accepted"
        )
        let plain = try? JWTVerifier(key: VerificationKey(jwk: Seeds.vector.key)).verify(text)
        require(plain == nil, "one text is an SD-JWT and a plain token")
    }

    /// Checks that processed claims have no digests.
    private static func check(_ claims: JSONObject, depth: Int) {
        require(depth <= 16, "the claims are too deep")
        for member in claims {
            require(!["_sd", "...", "_sd_alg"].contains(member.name), "a digest is a claim")
            check(member.value, depth: depth)
        }
    }

    private static func check(_ value: JSONValue, depth: Int) {
        switch value {
        case .object(let object): check(object, depth: depth + 1)
        case .array(let array): for element in array { check(element, depth: depth + 1) }
        default: break
        }
    }
}
