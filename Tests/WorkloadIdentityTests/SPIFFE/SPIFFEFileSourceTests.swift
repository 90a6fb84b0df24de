import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration
import WorkloadIdentity

@Suite("SPIFFEFileSource", .limitedConcurrency)
struct SPIFFEFileSourceTests {
    private let folder: TokenFolder
    private let environment = WorkloadEnvironment(timeSource: ManualTime(advancesWhenSleeping: true).timeSource)

    init() throws { folder = try TokenFolder() }

    private var source: SPIFFEFileSource {
        SPIFFEFileSource(audience: "https://as.example", path: folder.path, environment: environment)
    }

    @Test("Reads a JWT-SVID", arguments: ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS512"])
    func reads(algorithm: String) async throws {
        var svid = SampleToken.svid
        svid.header["alg"] = .string(algorithm)
        try folder.write(svid.text)
        let token = try await source.token()
        #expect(text(token) == svid.text)
        #expect(token.type == "N_A")
    }

    @Test("Refuses other algorithms", arguments: ["none", "HS256", "EdDSA", "RS1", "ES256K", "RSA256", ""])
    func algorithms(name: String) async throws {
        var svid = SampleToken.svid
        svid.header["alg"] = .string(name)
        try folder.write(svid.text)
        #expect(await failure(of: source)?.code == .malformedToken)
    }

    @Test("Refuses a document without a SPIFFE ID or an expiry, for another audience, or in JSON")
    func refusals() async throws {
        let cases: [(String, WorkloadIdentityError.Code)] = [
            (SampleToken(["sub": "reports"]).text, .malformedToken), (SampleToken(["sub": nil]).text, .malformedToken),
            (SampleToken(["sub": "spiffe://example.org/a", "exp": nil]).text, .malformedToken),
            (SampleToken(["sub": "spiffe://example.org/a", "aud": "b"]).text, .wrongAudience),
            (SampleToken(["sub": "spiffe://example.org/a", "exp": 1]).text, .expiredToken),
            (#"{"svid":"\#(SampleToken.svid.text)"}"#, .malformedToken),
        ]
        for (content, code) in cases {
            try folder.write(content)
            #expect(await failure(of: source)?.code == code, "\(content)")
        }
    }

    @Test("A missing file names the helper's setting")
    func missing() async throws {
        let error = await failure(of: source)
        #expect(error?.code == .notConfigured)
        #expect(error?.message.contains(#"jwt_audience = "https://as.example""#) == true)
    }
}
