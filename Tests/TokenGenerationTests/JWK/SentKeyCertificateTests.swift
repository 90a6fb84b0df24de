import COpenSSLCalls
import Foundation
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@Suite("Certificates of keys that messages carry", .computing)
struct SentKeyCertificateTests {
    private static var hostile: JSONValue { [.string(Data(HostileCertificate.explicitCurve).base64EncodedString())] }

    /// Returns the number of OpenSSL's calls that decode certificates.
    private static func decodedCertificates(_ body: () throws -> Void) rethrows -> Int {
        openssl_calls_start()
        defer { _ = openssl_calls_stop() }
        try body()
        return (0..<min(openssl_calls_stop(), 64)).count {
            unsafe String(cString: openssl_calls_name($0)) == "d2i_X509"
        }
    }

    @Test(
        "A DPoP proof's key is accepted without reading its certificates",
        arguments: ["x5c", "x5u", "x5t", "x5t#S256"]
    )
    func proof(name: String) throws {
        var jwk = try Fixture.signingKey().verificationKey.jwk.members
        jwk[name] = name == "x5c" ? Self.hostile : "AAAA"
        let header: JSONObject = ["typ": "dpop+jwt", "alg": "ES256", "jwk": .object(jwk)]
        let claims: JSONObject = [
            "jti": "1", "htm": "GET", "htu": "https://api.example/", "iat": .number(JSONNumber(Fixture.now)),
        ]
        let proof = try Fixture.token(header: header.serialized(), payload: claims.serialized())
        let verifier = DPoPVerifier(
            replayCache: InMemoryReplayCache(),
            currentDate: { Date(timeIntervalSince1970: Double(Fixture.now)) }
        )
        let count = try Self.decodedCertificates {
            let accepted = try verifier.verifySkippingReplayCheck(
                proof,
                method: "GET",
                url: "https://api.example/",
                for: .tokenEndpoint,
                nonce: .notRequired
            )
            #expect(try accepted.thumbprint == Fixture.signingKey().verificationKey.thumbprint)
        }
        #expect(count == 0)
    }

    @Test("A key of a set with a certificate on an explicit curve isn't decoded")
    func keySet() throws {
        var jwk = try Fixture.signingKey().verificationKey.jwk
        jwk.members["x5c"] = Self.hostile
        let count = Self.decodedCertificates {
            #expect(code { try VerificationKey(jwk: jwk) } == .unsupportedKey)
            #expect(code { try VerificationKey(der: Data(HostileCertificate.explicitCurve)) } == .unsupportedKey)
        }
        #expect(count == 0)
    }
}
