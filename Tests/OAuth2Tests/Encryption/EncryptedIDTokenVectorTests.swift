import Foundation
import OAuth2
import Testing
import TokenGeneration

/// ID tokens that another implementation made.
@Suite("ID tokens of joserfc", .serialized)
struct EncryptedIDTokenVectorTests {
    /// Tokens of joserfc 1.6.5, signed with HS256 and encrypted with a key derived from the same
    /// secret.
    private static var tokens: [(algorithm: String, encryption: String, token: String)] {
        [
            (
                "dir", "A128CBC-HS256",
                """
                eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4Q0JDLUhTMjU2IiwiY3R5IjoiSldUIn0..UD51WZoVdI61gcFSbFZrRA.vLPc7vrZ\
                jfmTXyWermNG25W1W4ok_ZfZsGC5UQNc9XL0GwP28OYyOKAa-Q052i5QTFy0CAPki0JwPDN4YNdWYPnGLXsUJ40BCYE9Igiy\
                RoCoN0hrcgZT_5fhb8l9_hHWM6dsymSFcFRSr2tkV7a6k52crdkujQmEAaI1edtDaZ5XbSAHu4tbIqti9Vo5JdXUQzfrAaC7\
                VPdIM-TH_EyUmILxkD6lwlwZZedp6haI-ANDMo87EcYtNaXkgl5UL--Jt5CQb5EoWTXEue8a-O7LYh_g2nLmHF5GqmlN6BjJ\
                1mc.Vgjx1q71oJaEIxuV7Kx7mw
                """
            ),
            (
                "A128KW", "A256GCM",
                """
                eyJhbGciOiJBMTI4S1ciLCJlbmMiOiJBMjU2R0NNIiwiY3R5IjoiSldUIn0.YJHTpr4DMRqVSEicXgf2NpkmfCqJ80tQAUZs\
                IiUT_rsAVQms8Ot5uQ.lZXoVPnMWWgkUn3V.s5rDYnJuKdR0p_YBtcoyfQt56sTb849lRPm37t0kmDQhrwZDpI53amGYVCWS\
                dzCxYGCEltZrCzDOs6VhZ-XRsn0uhrUieMWELEEnKNpdEoStxScdQi0gjNvHlcKXVDkaBOyQbeULAwdTK1z7dGp5_qQ8h0ht\
                byxmV4PZ3TbfuLSapm0q6clHJQfLNAgZUMa0ZXY3-xsrorRdOlRd9Z5gAsUeJuSO7V7rDbmXGJx67xSPog8ffdH_AEEWQItO\
                -rW5abywHkorvWBWBFPuj6SOV1l7lSgf.b8toPPdMtW1sOlx3XfuM2A
                """
            ),
            (
                "dir", "A256CBC-HS512",
                """
                eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2Q0JDLUhTNTEyIiwiY3R5IjoiSldUIn0..y6apHL0O6LPVLpCHAVEEkg.zlkaB9X6\
                3pqDtQvyjNAulAUhizQ2ODi5gsnfoV-gEInn-91HVOSpJAZHICFsWuoM3K1wKQTpBfIvG7lzmFqWLoH-BKBWElACeRQ831yK\
                3pVuP323wtCs5fkoi2gnRqe8FPNFhrZ9O8vBQCCoF3z-fLh9D_yeMwZYataGYq5bn3c0ppJVW58xT0FCYHYZQEjIyipYbmVk\
                k6Eg39o6ed_r0v1CMrACOfvEBWRgcVr25kFnlb7Tjwo9OoW704hE3bWQTGze2cgV1Eh3V3HlagymZ3Hj7ayoygoz3-mvj4iz\
                Xdw.jxSovLuN735TJ5Pe1-xw4dIusZnvCIwB24y9EjNVpaY
                """
            ),
        ]
    }

    @Test("Reads an ID token for a key derived from the client's secret", arguments: tokens)
    func secretKeys(algorithm: String, encryption: String, token: String) async throws {
        let secret = Secret("a client secret that has more than thirty-two bytes: é")
        let metadata = ClientMetadata([
            "id_token_encrypted_response_alg": .string(algorithm),
            "id_token_encrypted_response_enc": .string(encryption),
        ])
        let key = try secret.expose { try VerificationKey(secret: $0.utf8, algorithm: .hs256) }
        var verifier = IDTokenVerifier(issuer: "https://id.example", clientID: "shop", key: key)
        verifier.currentDate = { Date(timeIntervalSince1970: 1_000_000_010) }
        verifier.decrypter = try metadata.decrypter(for: .idToken, clientSecret: secret)
        #expect(try await verifier.verify(token, nonce: "n").registered.subject == "ada")
        let other = Secret("another secret that has more than thirty-two bytes")
        verifier.decrypter = try metadata.decrypter(for: .idToken, clientSecret: other)
        let stranger = verifier
        await #expect(throws: TokenError(.decryptionFailed, "")) { try await stranger.verify(token, nonce: "n") }
    }
}
