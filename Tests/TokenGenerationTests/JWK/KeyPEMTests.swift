import Testing
import TokenGeneration

@Suite("Keys in PEM", .serialized)
struct KeyPEMTests {
    @Test(
        "Rejects text that isn't a PEM key",
        arguments: [
            "", "garbage", "-----BEGIN PUBLIC KEY-----", "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n",
            "-----BEGIN PUBLIC KEY-----\n!!!!\n-----END PUBLIC KEY-----\n",
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
            "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----\n",
        ]
    )
    func malformedPEM(pem: String) {
        #expect(code { try VerificationKey(pem: pem) } == .malformedKey)
        let asPrivate = pem.replacing("PUBLIC", with: "PRIVATE")
        #expect(code { try SigningKey(pem: asPrivate) } == .malformedKey)
    }

    @Test("Rejects PEM of other key types, and algorithms other than the key's")
    func otherKinds() throws {
        #expect(code { try VerificationKey(pem: Self.rsaPublicPEM) } == .algorithmRequired)
        #expect(try VerificationKey(pem: Self.p384PublicPEM).algorithm == .es384)
        #expect(code { try VerificationKey(pem: Self.p384PublicPEM, algorithm: .es256) } == .algorithmMismatch)
        let pem = try Fixture.signingKey().pem()
        #expect(try SigningKey(pem: pem, algorithm: .es256).algorithm == .es256)
        let rs256 = try #require(JWSAlgorithm(rawValue: "RS256"))
        #expect(code { try SigningKey(pem: pem, algorithm: rs256) } == .algorithmMismatch)
    }

    @Test("An encrypted PEM requires its password, and SEC1 is supported")
    func encryptedPEM() throws {
        #expect(code { try SigningKey(pem: Self.encryptedPEM) } == .passwordRequired)
        #expect(code { try SigningKey(pem: Self.encryptedPEM, password: "wrong") } == .incorrectPassword)
        let key = try SigningKey(pem: Self.encryptedPEM, password: "correct horse")
        #expect(key.verificationKey.thumbprint == Self.thumbprint)
        #expect(try SigningKey(pem: Self.sec1PEM).verificationKey.thumbprint == Self.thumbprint)
        #expect(try key.pem() == SigningKey(pem: Self.sec1PEM).pem())
    }

    private static let rsaPublicPEM = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAsrY/ucIaeS5YZ+SpH/M8
        VGEY0lnNfl/WZWyum2a7raI31KyVG2ZX4h5pmZeMwcgfo2fTpKBo4a59d4LgtAdf
        B54TNOM8zW4WNnXUtaPl+WnFf8MT6Eu/emZhEHYRf3wgHxqoetB7PIl5bcYBR9V9
        najyr5b1zMxe4QYkP65DMKjVTAqOPGFsmkEFw4QTIJJEOGlu5fMV3sO5Yyplhqt5
        nyTHgKxuxbTDAFHSmtO3gS8wENJJHt0jgVZ3xiUiHh/WC9wXLqXB4Z16cd3KM90E
        3pYm08mviufOYbES5qkLbhWbEH5Gr/okURHb4Xd9rRXSIF22hwi6ctcoWvLTpHiX
        DwIDAQAB
        -----END PUBLIC KEY-----
        """

    private static let p384PublicPEM = """
        -----BEGIN PUBLIC KEY-----
        MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEdWNDDeiwXx7M2v8UlL1zBpzZr3P0411w
        OnXszVbtDVqA9BdoUUjVwKNhHl7I1DiM39uQtldiP3DiCq/h694DW+gKAC4fjena
        vMJXQ+vidLAgYHRF+7zrMZxVxSbm0LNL
        -----END PUBLIC KEY-----
        """

    /// The same key as ``sec1PEM``, encrypted by the `openssl` command with the password "correct
    /// horse".
    private static let encryptedPEM = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiYw84cS9KkoQICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEHungIbJdrnxyzQ7lgc7ngYEgZAK
        43/i8Y3VmIJXKMPckCdkWNPerWUsE5VKwvSZ73nS83bICHFlpY77YjDklvY5Jxad
        MuUTPTaCAryVhsASpxncvxn4yJi/j9CNxVHBQFokOkfoSgyJzt5F08ZF6alIzM/B
        E157hGEjBjKmRzsYpsSQl5hwHH1JIROvByI8MREZjV5qg6BNxTcQxjWecPDG0vo=
        -----END ENCRYPTED PRIVATE KEY-----
        """

    /// A key for these tests only.
    private static let sec1PEM = """
        -----BEGIN EC PARAMETERS-----
        BggqhkjOPQMBBw==
        -----END EC PARAMETERS-----
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIEaozILrlHHDe8e1KdeIP5F1OCIhSZRzd/zfqXoCB2NcoAoGCCqGSM49
        AwEHoUQDQgAElR5VQMm8WJWu6J6AIzdQIOOX/Ml5qz6vFlPOMlA2SBBFvz+CklSP
        5bVXyeZ7c6Me2SgQzSye6LezAznn2h8tNg==
        -----END EC PRIVATE KEY-----
        """

    /// Computed from the public key with another tool.
    private static let thumbprint = "O1GxJLOYcXgB1P9U-bfvHrYGbuud4PbDfWVSc1_8tz4"
}
