import Foundation
import TestSupport
import TestVectors
import Testing
import TokenGeneration

/// The cases of openwallet-foundation-labs/sd-jwt-python: claims, what a holder discloses, and what
/// a verifier sees.
@Suite(
    "Test cases of sd-jwt-python",
    .computing,
    .enabled(if: !SpecificationFile.names.isEmpty, "\(ExternalVector.hint)")
)
struct SDJWTSpecificationTests {
    private typealias Make = SDJWTFixture

    @Test("Issues, presents and verifies", .shows("J24"), arguments: SpecificationFile.names) func cases(
        name: String
    ) throws {
        let file = try SpecificationFile(name)
        let claims = try #require(file.members["user_claims"])
        let chosen = try #require(file.members["holder_disclosed_claims"])
        let expected = try #require(file.members["expect_verified_user_claims"]?.value.object)
        var header = file.members["extra_header_parameters"]?.value.object ?? [:]
        // The case has a number. RFC 7515 §4.1.4 requires a string.
        if let number = header["kid"]?.number { header["kid"] = .string(number.literal) }
        let isBound = file.members["key_binding"]?.value == true
        let token = try Make.issuer().issue(
            #require(claims.value.object),
            disclosable: claims.disclosable,
            holderKey: isBound ? Make.key("holder").verificationKey : nil,
            header: header
        )
        let isJSON = file.members["serialization_format"]?.value == "json"
        let verifier = try Make.verifier()
        let holder =
            isJSON
            ? try SDJWTHolder(json: token.flattenedJSON().serializedData(), verifiedBy: verifier)
            : try SDJWTHolder(token.compact, verifiedBy: verifier)
        #expect(JSONValue.object(Self.user(holder.claims)) == claims.value)
        #expect(Set(holder.disclosablePaths) == Set(claims.disclosable))
        let paths = Self.paths(chosen.value)
        let presentation =
            isBound ? try Make.bound(holder, disclosing: paths) : try holder.presentation(disclosing: paths)
        let rule = isBound ? Make.required : .notRequired
        let found =
            isJSON
            ? try verifier.verify(json: presentation.flattenedJSON().serializedData(), keyBinding: rule)
            : try verifier.verify(presentation.compact, keyBinding: rule)
        #expect(Self.user(found.claims) == expected)
        #expect(header.allSatisfy { found.header[$0.name] == $0.value })
    }

    @Test("Finds all cases") func count() {
        #expect(SpecificationFile.names.count == 17)
    }

    /// Returns the claims that the issuer doesn't add.
    private static func user(_ claims: JSONObject) -> JSONObject {
        var claims = claims
        claims["cnf"] = nil
        return claims
    }

    /// Returns the paths of a selection, in which `true` and containers disclose a claim.
    private static func paths(_ value: JSONValue) -> [ClaimPath] {
        var paths: [ClaimPath] = []
        func visit(_ value: JSONValue, _ path: [ClaimPath.Element]) {
            switch value {
            case .bool(true): paths.append(ClaimPath(path))
            case .object(let object):
                if !path.isEmpty { paths.append(ClaimPath(path)) }
                for member in object { visit(member.value, path + [.name(member.name)]) }
            case .array(let array):
                paths.append(ClaimPath(path))
                for (index, element) in array.enumerated() { visit(element, path + [.index(index)]) }
            default: break
            }
        }
        visit(value, [])
        return paths
    }
}
