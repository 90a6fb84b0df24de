import Foundation
import TokenGeneration

/// A JWT of a platform, with a signature that is never verified.
struct SampleToken {
    /// The time of `ManualTime`, 2001-09-09T01:46:40Z.
    static let now = 1_000_000_000

    var header: JSONObject = ["alg": "RS256", "kid": "k"]
    var claims: JSONObject = [
        "iss": "https://platform.example", "sub": "system:serviceaccount:reports:api", "aud": ["https://as.example"],
        "exp": .number(JSONNumber(now + 600)), "jti": "S3cr3t-jti",
    ]

    /// Creates a token with claims that replace the default ones; `nil` removes a claim.
    init(_ changes: [String: JSONValue?] = [:]) {
        for (name, value) in changes { claims[name] = value }
    }

    static let svid = SampleToken(["sub": "spiffe://example.org/reports", "iss": nil])

    var text: String {
        [header, claims].map { Self.base64URL($0.serializedData()) }.joined(separator: ".") + ".c2lnbmF0dXJl"
    }

    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }
}
