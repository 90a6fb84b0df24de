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
            MHcCAQEEIFSgaTasSV40tnyOkLwEqI6xf4KRMqk1RqP7S3QP+eWzoAoGCCqGSM49AwEHoUQDQgAEYvybd0/uPvPDsAhn6GkEi73F5R0OYfkj
            ezaRyTmKWOPKrxhlStFYddKzwYjZ2XbsC/9nayN5MAV1pcrl1Br9NQ==
            """.pem("EC PRIVATE KEY"),
        pkcs8: """
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgVKBpNqxJXjS2fI6QvASojrF/gpEyqTVGo/tLdA/55bOhRANCAARi/Jt3T+4+
            88OwCGfoaQSLvcXlHQ5h+SN7NpHJOYpY48qvGGVK0Vh10rPBiNnZduwL/2drI3kwBXWlyuXUGv01
            """.pem("PRIVATE KEY"),
        spki: """
            MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYvybd0/uPvPDsAhn6GkEi73F5R0OYfkjezaRyTmKWOPKrxhlStFYddKzwYjZ2XbsC/9nayN5
            MAV1pcrl1Br9NQ==
            """.pem("PUBLIC KEY")
    )
    static let p384 = TestKey(
        curve: .p384,
        sec1: """
            MIGkAgEBBDCD8s5dkUgQ4bjgZDbUzdDnCvQhY/Ehyw5n1g/cgYuI0PjFRypNwBYg9SIp9FV8A7GgBwYFK4EEACKhZANiAAQvoaXJj2i0hjJy
            bxT2boN/uAk1KBZrHGUW050UyGnvrAdrKNMqBG66ZV7DqboJWTfb2rdA0Cf84QROmPJkljnVQvSTRpjDUxxnofZZWuEVdKCU5XorvRmqR0ZJ
            3r1cbkI=
            """.pem("EC PRIVATE KEY"),
        pkcs8: """
            MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDCD8s5dkUgQ4bjgZDbUzdDnCvQhY/Ehyw5n1g/cgYuI0PjFRypNwBYg9SIp9FV8
            A7GhZANiAAQvoaXJj2i0hjJybxT2boN/uAk1KBZrHGUW050UyGnvrAdrKNMqBG66ZV7DqboJWTfb2rdA0Cf84QROmPJkljnVQvSTRpjDUxxn
            ofZZWuEVdKCU5XorvRmqR0ZJ3r1cbkI=
            """.pem("PRIVATE KEY"),
        spki: """
            MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEL6GlyY9otIYycm8U9m6Df7gJNSgWaxxlFtOdFMhp76wHayjTKgRuumVew6m6CVk329q3QNAn/OEE
            TpjyZJY51UL0k0aYw1McZ6H2WVrhFXSglOV6K70ZqkdGSd69XG5C
            """.pem("PUBLIC KEY")
    )
    static let p521 = TestKey(
        curve: .p521,
        sec1: """
            MIHcAgEBBEIBdHBqBk8zbTJdiaT9uvxmdMAojHDpEu75lXMZ7TeDD37pUHkgUSk0RHX4aH2D1KSzfJMf9WC2PlNvAKzFQuyPGPCgBwYFK4EE
            ACOhgYkDgYYABAAoIWwuuEThgpb1XnRsjo1bUZPqDcZMmdoOPZmF1/bcgQM+IzwtA+3usNmc/TFUogyhQJjbOl0yaD5J8tkSUFkZDAGyMPn/
            S0Tp2CKDm22ASdzknIQC6XGxl7dJyAJpMtDqhyQD4ErsWHRr0re5OCgzwYEf9lI9XVBpnfuwdZxZPm8fPQ==
            """.pem("EC PRIVATE KEY"),
        pkcs8: """
            MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHWMIHTAgEBBEIBdHBqBk8zbTJdiaT9uvxmdMAojHDpEu75lXMZ7TeDD37pUHkgUSk0RHX4aH2D
            1KSzfJMf9WC2PlNvAKzFQuyPGPChgYkDgYYABAAoIWwuuEThgpb1XnRsjo1bUZPqDcZMmdoOPZmF1/bcgQM+IzwtA+3usNmc/TFUogyhQJjb
            Ol0yaD5J8tkSUFkZDAGyMPn/S0Tp2CKDm22ASdzknIQC6XGxl7dJyAJpMtDqhyQD4ErsWHRr0re5OCgzwYEf9lI9XVBpnfuwdZxZPm8fPQ==
            """.pem("PRIVATE KEY"),
        spki: """
            MIGbMBAGByqGSM49AgEGBSuBBAAjA4GGAAQAKCFsLrhE4YKW9V50bI6NW1GT6g3GTJnaDj2Zhdf23IEDPiM8LQPt7rDZnP0xVKIMoUCY2zpd
            Mmg+SfLZElBZGQwBsjD5/0tE6dgig5ttgEnc5JyEAulxsZe3ScgCaTLQ6ockA+BK7Fh0a9K3uTgoM8GBH/ZSPV1QaZ37sHWcWT5vHz0=
            """.pem("PUBLIC KEY")
    )
    static let secp256k1 = TestKey(
        curve: .secp256k1,
        sec1: """
            MHQCAQEEIIyb3dN4eL5UUDpwR0HnbfF8BgVv/qinq6xNaaGSayQvoAcGBSuBBAAKoUQDQgAEWNDZhrBpchx6WKQ6WglR2nNg6eprNvjE3LVu
            dBjS/zRBXuGyK1/Gw0Qebq3wLKQuVEh0A6sx9axNu7gxGTtvKw==
            """.pem("EC PRIVATE KEY"),
        pkcs8: """
            MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQgjJvd03h4vlRQOnBHQedt8XwGBW/+qKerrE1poZJrJC+hRANCAARY0NmGsGlyHHpY
            pDpaCVHac2Dp6ms2+MTctW50GNL/NEFe4bIrX8bDRB5urfAspC5USHQDqzH1rE27uDEZO28r
            """.pem("PRIVATE KEY"),
        spki: """
            MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAEWNDZhrBpchx6WKQ6WglR2nNg6eprNvjE3LVudBjS/zRBXuGyK1/Gw0Qebq3wLKQuVEh0A6sx9axN
            u7gxGTtvKw==
            """.pem("PUBLIC KEY")
    )
}

/// Other encodings of `TestKey.p256` and other kinds of keys, written by the OpenSSL 3.0
/// command-line tool.
///
/// The private keys are public: use them for tests only. The password of the encrypted keys is
/// `correct`.
enum TestPEM {
    /// `gnutls_x509_privkey_generate` of GnuTLS 3.7.9, in SEC1 and in PKCS#8, with the public keys
    /// that OpenSSL derives. Each scalar has one zero too many.
    static let gnuTLS = [
        (
            """
            MHgCAQEEIQDHuQL1qDYvnLJLS+iI9DX9Og2gUel7etPUbBkClPuCbqAKBggqhkjOPQMBB6FEA0IABP7CKIrIxF3qlIth/Yx6C/irhMosnWpM
            fSDDS5wpv5tAVDkY2vdDvZhsBfYE/xTdo4NHgH7p4uNGo9m8he0wiPk=
            """.pem("EC PRIVATE KEY"),
            """
            MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE/sIoisjEXeqUi2H9jHoL+KuEyiydakx9IMNLnCm/m0BUORja90O9mGwF9gT/FN2jg0eAfuni
            40aj2byF7TCI+Q==
            """.pem("PUBLIC KEY")
        ),
        (
            """
            MIGUAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBHoweAIBAQQhAMgmX4geYzOcCio1OI0A23QcCs6YjSUi3GZVxFDatvqkoAoGCCqGSM49AwEH
            oUQDQgAEtxMLPWJiICyUbmlXC44I0bNI6MBKbnvHmunYg7EI3x7f4TiqyoUbUBEgkO+y/ezij8WxDXhy/zx6a2QFb6tUtQ==
            """.pem("PRIVATE KEY"),
            """
            MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEtxMLPWJiICyUbmlXC44I0bNI6MBKbnvHmunYg7EI3x7f4TiqyoUbUBEgkO+y/ezij8WxDXhy
            /zx6a2QFb6tUtQ==
            """.pem("PUBLIC KEY")
        ),
        (
            """
            MIGlAgEBBDEAxkWlvLyvFvepMB1XPDDtohpgumudPxhRIhpVveya6LviUX9eHbt3WzLFDwc7GzbgoAcGBSuBBAAioWQDYgAEZrvS9aEkB02W
            nbkJ3ZM/JfLRurFqh6cdS0IaloCDlGQDM6mQ/gFphticGUHzwcuhp4ZWR8zVWSQElXy9x6RXADL3uzrKCT7685URPHVGmKmNbVrCwWt2gY6G
            PIsSOY1o
            """.pem("EC PRIVATE KEY"),
            """
            MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEZrvS9aEkB02WnbkJ3ZM/JfLRurFqh6cdS0IaloCDlGQDM6mQ/gFphticGUHzwcuhp4ZWR8zVWSQE
            lXy9x6RXADL3uzrKCT7685URPHVGmKmNbVrCwWt2gY6GPIsSOY1o
            """.pem("PUBLIC KEY")
        ),
        (
            """
            MIHAAgEAMBAGByqGSM49AgEGBSuBBAAiBIGoMIGlAgEBBDEAmVkthLk6PBdCItL7j8yYYOw/yUwxzm2ikOEqKQgumOF07wig3izwHIC7A63h
            gHwCoAcGBSuBBAAioWQDYgAEEHqBiiYTqKycbxlGbRmypS2jsaBCTa7mxF0+xutdlmCjlqEjImtW0xYFuzmsjPYrnqEz7rvTH0YewXT5WbVm
            ceCqkvYHcb4R3HlO+T61Rt2MBFQJJNfLxBXa2a1Rfy2w
            """.pem("PRIVATE KEY"),
            """
            MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEEHqBiiYTqKycbxlGbRmypS2jsaBCTa7mxF0+xutdlmCjlqEjImtW0xYFuzmsjPYrnqEz7rvTH0Ye
            wXT5WbVmceCqkvYHcb4R3HlO+T61Rt2MBFQJJNfLxBXa2a1Rfy2w
            """.pem("PUBLIC KEY")
        ),
    ]

    /// `openssl ecparam -genkey`: starts with an EC PARAMETERS block.
    static let sec1WithParameters = "BggqhkjOPQMBBw==".pem("EC PARAMETERS") + TestKey.p256.sec1
    /// `openssl ec -no_public`.
    static let sec1WithoutPoint = """
        MDECAQEEIFSgaTasSV40tnyOkLwEqI6xf4KRMqk1RqP7S3QP+eWzoAoGCCqGSM49AwEH
        """.pem("EC PRIVATE KEY")
    /// The same key as PKCS#8.
    static let pkcs8WithoutPoint = """
        MEECAQAwEwYHKoZIzj0CAQYIKoZIzj0DAQcEJzAlAgEBBCBUoGk2rEleNLZ8jpC8BKiOsX+CkTKpNUaj+0t0D/nlsw==
        """.pem("PRIVATE KEY")
    /// `openssl ec -pubout -conv_form compressed`.
    static let compressedPoint = """
        MDkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDIgADYvybd0/uPvPDsAhn6GkEi73F5R0OYfkjezaRyTmKWOM=
        """.pem("PUBLIC KEY")
    /// `openssl ec -pubout -conv_form hybrid`.
    static let hybridPoint = """
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAHYvybd0/uPvPDsAhn6GkEi73F5R0OYfkjezaRyTmKWOPKrxhlStFYddKzwYjZ2XbsC/9nayN5MAV1
        pcrl1Br9NQ==
        """.pem("PUBLIC KEY")
    /// `openssl ec -param_enc explicit`.
    static let explicitSEC1 = """
        MIIBaAIBAQQgVKBpNqxJXjS2fI6QvASojrF/gpEyqTVGo/tLdA/55bOggfowgfcCAQEwLAYHKoZIzj0BAQIhAP////8AAAABAAAAAAAAAAAAAAAA
        ////////////////MFsEIP////8AAAABAAAAAAAAAAAAAAAA///////////////8BCBaxjXYqjqT57PrvVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMV
        AMSdNgiG5wSTamZ44ROdJreBn36QBEEEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBo
        N79R9QIhAP////8AAAAA//////////+85vqtpxeehPO5ysL8YyVRAgEBoUQDQgAEYvybd0/uPvPDsAhn6GkEi73F5R0OYfkjezaRyTmKWOPKrxhl
        StFYddKzwYjZ2XbsC/9nayN5MAV1pcrl1Br9NQ==
        """.pem("EC PRIVATE KEY")
    /// The same key as PKCS#8.
    static let explicitPKCS8 = """
        MIIBeQIBADCCAQMGByqGSM49AgEwgfcCAQEwLAYHKoZIzj0BAQIhAP////8AAAABAAAAAAAAAAAAAAAA////////////////MFsEIP////8AAAAB
        AAAAAAAAAAAAAAAA///////////////8BCBaxjXYqjqT57PrvVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMVAMSdNgiG5wSTamZ44ROdJreBn36QBEEE
        axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9QIhAP////8AAAAA//////////+8
        5vqtpxeehPO5ysL8YyVRAgEBBG0wawIBAQQgVKBpNqxJXjS2fI6QvASojrF/gpEyqTVGo/tLdA/55bOhRANCAARi/Jt3T+4+88OwCGfoaQSLvcXl
        HQ5h+SN7NpHJOYpY48qvGGVK0Vh10rPBiNnZduwL/2drI3kwBXWlyuXUGv01
        """.pem("PRIVATE KEY")
    /// `openssl pkey -pubout -ec_param_enc explicit`.
    static let explicitSPKI = """
        MIIBSzCCAQMGByqGSM49AgEwgfcCAQEwLAYHKoZIzj0BAQIhAP////8AAAABAAAAAAAAAAAAAAAA////////////////MFsEIP////8AAAABAAAA
        AAAAAAAAAAAA///////////////8BCBaxjXYqjqT57PrvVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMVAMSdNgiG5wSTamZ44ROdJreBn36QBEEEaxfR
        8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9QIhAP////8AAAAA//////////+85vqt
        pxeehPO5ysL8YyVRAgEBA0IABGL8m3dP7j7zw7AIZ+hpBIu9xeUdDmH5I3s2kck5iljjyq8YZUrRWHXSs8GI2dl27Av/Z2sjeTAFdaXK5dQa/TU=
        """.pem("PUBLIC KEY")
    /// `openssl pkcs8 -topk8 -v2 aes-256-cbc`.
    static let encryptedPBKDF2 = """
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgkq8utnr+lZgICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEPIN2jnoiImZ
        P/2YTQtelswEgZCl3ODqwPHSAG7+w2j0OgTHfyPbF6fwFIX2EBFIchcNCk+RwW8e/QUZB1Ifhm/YyfMTNTj5T+b23+0Ftl0stMdSN8L0x3S5BPJA
        KOw8ZL8vxCFFBT3eVh6NPqHH5vqYbstUutIoiYFS8JE/SBT0pUMxOF1rmqh47YKU1VXDwwQ1x3sfNvBBO7DSYu/7eC3sVVY=
        """.pem("ENCRYPTED PRIVATE KEY")
    /// `openssl pkcs8 -topk8 -scrypt`.
    static let encryptedScrypt = """
        MIHkME8GCSqGSIb3DQEFDTBCMCEGCSsGAQQB2kcECzAUBAgZANnnxaH2WAICQAACAQgCAQEwHQYJYIZIAWUDBAEqBBCIsDjL4g9mWvS6dKyw1hUF
        BIGQLp/L1aFqQ8h3Cjmx5J7xKZ9qaKKCTMMrwF4ZExnwpRNMWKCHFbawzjU9P/mchRcZuHYe6PhJCynwGqH33+MhY4gpPmnyAttwKiUya7yVxnaH
        9PSgeDem6u2nGekyDOiRn2vHJXIRRwdHlX+NEm9a1TG1+RNcMDaOcg3y7mkaZUli7kn+03Pwfo8B48PDoKKp
        """.pem("ENCRYPTED PRIVATE KEY")
    /// `openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES`.
    static let encrypted3DES = """
        MIGxMBwGCiqGSIb3DQEMAQMwDgQIQAMGG7Sg3NMCAggABIGQ/E5Rp3n3nR264XxOtzQrVS13uI26Lrio41EPGmjyciBrUuM7Lty4TgnPC5SIi1mx
        MO2ZeyWX9go6iWjPc5RzaBHpFnoUHt7LiRFbaLyl4VWVy4GTqztrnxuSbEdt0GJbFlm5qwoBSDjPjT3Hqo/qYbHVd6MgzNvgLG1zWfPdiLqxHo+9
        syz1wYjWfsy3ttPW
        """.pem("ENCRYPTED PRIVATE KEY")
    /// `openssl pkcs8 -topk8 -v1 PBE-MD5-DES`: requires the legacy provider.
    static let encryptedDES = """
        MIGwMBsGCSqGSIb3DQEFAzAOBAjvSr+60AyRmQICCAAEgZCjaK/m/hlKLWSeGSi19nPvFjT4mpoii3mYVvLkvG/gES8RjyG1mZh10Hg570oHZAuL
        bsbIbTMFsD8blIS/k5iaXmbsl8kcrjnqyRz7tPH5mx9ojv7r4zbeKR55LoYBEsBXwdrkQbhlZj6OeDJf/8SIHgZOLCHdfG9sZn6XvoozRc4o/S2Z
        g6dAlq1EJY1hS/M=
        """.pem("ENCRYPTED PRIVATE KEY")
    /// `openssl ec -aes128`: OpenSSL's legacy encryption, stated in the PEM header.
    static let encryptedSEC1 = """
        -----BEGIN EC PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-128-CBC,CF35C318D159987205AF1BA2C74DF590

        O2oluh9z0BQxovACwxzYoQ2NgPeVmJvy6K2pNfGxv2gPL6jvi4ZQqWwleOmT+024
        sJb8HXhfICFNbQAp9fMArAAzuMmW8H1WoA0UJ1DSSEGoTnEi6N3vV/mqdsVGsbiZ
        UlBs2pjfoVVwDu4y4zfuEALOf1V8g1QPjIg/BoDP7qg=
        -----END EC PRIVATE KEY-----

        """
    /// A key on brainpoolP256r1.
    static let brainpoolSEC1 = """
        MHgCAQEEIH2ay8OHcDsVVm9mFCbTEyQjITs3nIFdVQxF2QBottlJoAsGCSskAwMCCAEBB6FEA0IABDyeuIN9ebeEn3ss0q34kQh4vTd3gzbdEqUb
        wE26T+GsatmWGzypjJnQoKxxfUXyjyunNwFpfdVoAtJmQ0VjV2E=
        """.pem("EC PRIVATE KEY")
    /// A certificate.
    static let certificate = """
        MIIBbDCCAROgAwIBAgIUV74fci/daIRLEEpc2frYIIOPhMYwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBdDAeFw0yNjExMjEwMjQyMDBaFw0yNjEx
        MjIwMjQyMDBaMAwxCjAIBgNVBAMMAXQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARi/Jt3T+4+88OwCGfoaQSLvcXlHQ5h+SN7NpHJOYpY48qv
        GGVK0Vh10rPBiNnZduwL/2drI3kwBXWlyuXUGv01o1MwUTAdBgNVHQ4EFgQUNnVw9GER4ezigoOphPlIunTxkbcwHwYDVR0jBBgwFoAUNnVw9GER
        4ezigoOphPlIunTxkbcwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiACRdmSbtGsXd0rQZrIf3KrFLgo+VIuwgtAcxUP+Ib+kQIg
        WQ0potp4Z/mCwL6GdunE3PxP3BdvEHklNSlV53oNrEY=
        """.pem("CERTIFICATE")
}
