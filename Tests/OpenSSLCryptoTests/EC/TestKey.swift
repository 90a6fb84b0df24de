import OpenSSLCrypto
import Testing

/// Key pairs written by the OpenSSL 3.0 command-line tool, each in several formats.
///
/// The private keys are public: use them for tests only.
struct TestKey: Sendable, CustomTestStringConvertible {
    let curve: EllipticCurve
    let sec1: String
    let pkcs8: String
    let spki: String

    var testDescription: String { curve.name }

    static let all: [TestKey] = [p256, p384, p521, secp256k1]

    static let p256 = TestKey(
        curve: .p256,
        sec1: """
            -----BEGIN EC PRIVATE KEY-----
            MHcCAQEEIFSgaTasSV40tnyOkLwEqI6xf4KRMqk1RqP7S3QP+eWzoAoGCCqGSM49
            AwEHoUQDQgAEYvybd0/uPvPDsAhn6GkEi73F5R0OYfkjezaRyTmKWOPKrxhlStFY
            ddKzwYjZ2XbsC/9nayN5MAV1pcrl1Br9NQ==
            -----END EC PRIVATE KEY-----

            """,
        pkcs8: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgVKBpNqxJXjS2fI6Q
            vASojrF/gpEyqTVGo/tLdA/55bOhRANCAARi/Jt3T+4+88OwCGfoaQSLvcXlHQ5h
            +SN7NpHJOYpY48qvGGVK0Vh10rPBiNnZduwL/2drI3kwBXWlyuXUGv01
            -----END PRIVATE KEY-----

            """,
        spki: """
            -----BEGIN PUBLIC KEY-----
            MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYvybd0/uPvPDsAhn6GkEi73F5R0O
            YfkjezaRyTmKWOPKrxhlStFYddKzwYjZ2XbsC/9nayN5MAV1pcrl1Br9NQ==
            -----END PUBLIC KEY-----

            """
    )
    static let p384 = TestKey(
        curve: .p384,
        sec1: """
            -----BEGIN EC PRIVATE KEY-----
            MIGkAgEBBDCD8s5dkUgQ4bjgZDbUzdDnCvQhY/Ehyw5n1g/cgYuI0PjFRypNwBYg
            9SIp9FV8A7GgBwYFK4EEACKhZANiAAQvoaXJj2i0hjJybxT2boN/uAk1KBZrHGUW
            050UyGnvrAdrKNMqBG66ZV7DqboJWTfb2rdA0Cf84QROmPJkljnVQvSTRpjDUxxn
            ofZZWuEVdKCU5XorvRmqR0ZJ3r1cbkI=
            -----END EC PRIVATE KEY-----

            """,
        pkcs8: """
            -----BEGIN PRIVATE KEY-----
            MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDCD8s5dkUgQ4bjgZDbU
            zdDnCvQhY/Ehyw5n1g/cgYuI0PjFRypNwBYg9SIp9FV8A7GhZANiAAQvoaXJj2i0
            hjJybxT2boN/uAk1KBZrHGUW050UyGnvrAdrKNMqBG66ZV7DqboJWTfb2rdA0Cf8
            4QROmPJkljnVQvSTRpjDUxxnofZZWuEVdKCU5XorvRmqR0ZJ3r1cbkI=
            -----END PRIVATE KEY-----

            """,
        spki: """
            -----BEGIN PUBLIC KEY-----
            MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEL6GlyY9otIYycm8U9m6Df7gJNSgWaxxl
            FtOdFMhp76wHayjTKgRuumVew6m6CVk329q3QNAn/OEETpjyZJY51UL0k0aYw1Mc
            Z6H2WVrhFXSglOV6K70ZqkdGSd69XG5C
            -----END PUBLIC KEY-----

            """
    )
    static let p521 = TestKey(
        curve: .p521,
        sec1: """
            -----BEGIN EC PRIVATE KEY-----
            MIHcAgEBBEIBdHBqBk8zbTJdiaT9uvxmdMAojHDpEu75lXMZ7TeDD37pUHkgUSk0
            RHX4aH2D1KSzfJMf9WC2PlNvAKzFQuyPGPCgBwYFK4EEACOhgYkDgYYABAAoIWwu
            uEThgpb1XnRsjo1bUZPqDcZMmdoOPZmF1/bcgQM+IzwtA+3usNmc/TFUogyhQJjb
            Ol0yaD5J8tkSUFkZDAGyMPn/S0Tp2CKDm22ASdzknIQC6XGxl7dJyAJpMtDqhyQD
            4ErsWHRr0re5OCgzwYEf9lI9XVBpnfuwdZxZPm8fPQ==
            -----END EC PRIVATE KEY-----

            """,
        pkcs8: """
            -----BEGIN PRIVATE KEY-----
            MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHWMIHTAgEBBEIBdHBqBk8zbTJdiaT9
            uvxmdMAojHDpEu75lXMZ7TeDD37pUHkgUSk0RHX4aH2D1KSzfJMf9WC2PlNvAKzF
            QuyPGPChgYkDgYYABAAoIWwuuEThgpb1XnRsjo1bUZPqDcZMmdoOPZmF1/bcgQM+
            IzwtA+3usNmc/TFUogyhQJjbOl0yaD5J8tkSUFkZDAGyMPn/S0Tp2CKDm22ASdzk
            nIQC6XGxl7dJyAJpMtDqhyQD4ErsWHRr0re5OCgzwYEf9lI9XVBpnfuwdZxZPm8f
            PQ==
            -----END PRIVATE KEY-----

            """,
        spki: """
            -----BEGIN PUBLIC KEY-----
            MIGbMBAGByqGSM49AgEGBSuBBAAjA4GGAAQAKCFsLrhE4YKW9V50bI6NW1GT6g3G
            TJnaDj2Zhdf23IEDPiM8LQPt7rDZnP0xVKIMoUCY2zpdMmg+SfLZElBZGQwBsjD5
            /0tE6dgig5ttgEnc5JyEAulxsZe3ScgCaTLQ6ockA+BK7Fh0a9K3uTgoM8GBH/ZS
            PV1QaZ37sHWcWT5vHz0=
            -----END PUBLIC KEY-----

            """
    )
    static let secp256k1 = TestKey(
        curve: .secp256k1,
        sec1: """
            -----BEGIN EC PRIVATE KEY-----
            MHQCAQEEIIyb3dN4eL5UUDpwR0HnbfF8BgVv/qinq6xNaaGSayQvoAcGBSuBBAAK
            oUQDQgAEWNDZhrBpchx6WKQ6WglR2nNg6eprNvjE3LVudBjS/zRBXuGyK1/Gw0Qe
            bq3wLKQuVEh0A6sx9axNu7gxGTtvKw==
            -----END EC PRIVATE KEY-----

            """,
        pkcs8: """
            -----BEGIN PRIVATE KEY-----
            MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQgjJvd03h4vlRQOnBHQedt
            8XwGBW/+qKerrE1poZJrJC+hRANCAARY0NmGsGlyHHpYpDpaCVHac2Dp6ms2+MTc
            tW50GNL/NEFe4bIrX8bDRB5urfAspC5USHQDqzH1rE27uDEZO28r
            -----END PRIVATE KEY-----

            """,
        spki: """
            -----BEGIN PUBLIC KEY-----
            MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAEWNDZhrBpchx6WKQ6WglR2nNg6eprNvjE
            3LVudBjS/zRBXuGyK1/Gw0Qebq3wLKQuVEh0A6sx9axNu7gxGTtvKw==
            -----END PUBLIC KEY-----

            """
    )
}
