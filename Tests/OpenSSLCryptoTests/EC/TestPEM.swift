/// Other encodings of `TestKey.p256` and other kinds of keys, written by the OpenSSL 3.0
/// command-line tool.
///
/// The private keys are public: use them for tests only. The password of the encrypted keys is
/// `correct`.
enum TestPEM {
    /// `openssl ecparam -genkey`: starts with an EC PARAMETERS block.
    static let sec1WithParameters = """
        -----BEGIN EC PARAMETERS-----
        BggqhkjOPQMBBw==
        -----END EC PARAMETERS-----
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIFSgaTasSV40tnyOkLwEqI6xf4KRMqk1RqP7S3QP+eWzoAoGCCqGSM49
        AwEHoUQDQgAEYvybd0/uPvPDsAhn6GkEi73F5R0OYfkjezaRyTmKWOPKrxhlStFY
        ddKzwYjZ2XbsC/9nayN5MAV1pcrl1Br9NQ==
        -----END EC PRIVATE KEY-----

        """

    /// `openssl ec -no_public`.
    static let sec1WithoutPoint = """
        -----BEGIN EC PRIVATE KEY-----
        MDECAQEEIFSgaTasSV40tnyOkLwEqI6xf4KRMqk1RqP7S3QP+eWzoAoGCCqGSM49
        AwEH
        -----END EC PRIVATE KEY-----

        """

    /// The same key as PKCS#8.
    static let pkcs8WithoutPoint = """
        -----BEGIN PRIVATE KEY-----
        MEECAQAwEwYHKoZIzj0CAQYIKoZIzj0DAQcEJzAlAgEBBCBUoGk2rEleNLZ8jpC8
        BKiOsX+CkTKpNUaj+0t0D/nlsw==
        -----END PRIVATE KEY-----

        """

    /// `openssl ec -pubout -conv_form compressed`.
    static let compressedPoint = """
        -----BEGIN PUBLIC KEY-----
        MDkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDIgADYvybd0/uPvPDsAhn6GkEi73F5R0O
        YfkjezaRyTmKWOM=
        -----END PUBLIC KEY-----

        """

    /// `openssl ec -pubout -conv_form hybrid`.
    static let hybridPoint = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAHYvybd0/uPvPDsAhn6GkEi73F5R0O
        YfkjezaRyTmKWOPKrxhlStFYddKzwYjZ2XbsC/9nayN5MAV1pcrl1Br9NQ==
        -----END PUBLIC KEY-----

        """

    /// `openssl ec -param_enc explicit`.
    static let explicitSEC1 = """
        -----BEGIN EC PRIVATE KEY-----
        MIIBaAIBAQQgVKBpNqxJXjS2fI6QvASojrF/gpEyqTVGo/tLdA/55bOggfowgfcC
        AQEwLAYHKoZIzj0BAQIhAP////8AAAABAAAAAAAAAAAAAAAA////////////////
        MFsEIP////8AAAABAAAAAAAAAAAAAAAA///////////////8BCBaxjXYqjqT57Pr
        vVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMVAMSdNgiG5wSTamZ44ROdJreBn36QBEEE
        axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54W
        K84zV2sxXs7LtkBoN79R9QIhAP////8AAAAA//////////+85vqtpxeehPO5ysL8
        YyVRAgEBoUQDQgAEYvybd0/uPvPDsAhn6GkEi73F5R0OYfkjezaRyTmKWOPKrxhl
        StFYddKzwYjZ2XbsC/9nayN5MAV1pcrl1Br9NQ==
        -----END EC PRIVATE KEY-----

        """

    /// The same key as PKCS#8.
    static let explicitPKCS8 = """
        -----BEGIN PRIVATE KEY-----
        MIIBeQIBADCCAQMGByqGSM49AgEwgfcCAQEwLAYHKoZIzj0BAQIhAP////8AAAAB
        AAAAAAAAAAAAAAAA////////////////MFsEIP////8AAAABAAAAAAAAAAAAAAAA
        ///////////////8BCBaxjXYqjqT57PrvVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMV
        AMSdNgiG5wSTamZ44ROdJreBn36QBEEEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg
        9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9QIhAP////8A
        AAAA//////////+85vqtpxeehPO5ysL8YyVRAgEBBG0wawIBAQQgVKBpNqxJXjS2
        fI6QvASojrF/gpEyqTVGo/tLdA/55bOhRANCAARi/Jt3T+4+88OwCGfoaQSLvcXl
        HQ5h+SN7NpHJOYpY48qvGGVK0Vh10rPBiNnZduwL/2drI3kwBXWlyuXUGv01
        -----END PRIVATE KEY-----

        """

    /// `openssl pkey -pubout -ec_param_enc explicit`.
    static let explicitSPKI = """
        -----BEGIN PUBLIC KEY-----
        MIIBSzCCAQMGByqGSM49AgEwgfcCAQEwLAYHKoZIzj0BAQIhAP////8AAAABAAAA
        AAAAAAAAAAAA////////////////MFsEIP////8AAAABAAAAAAAAAAAAAAAA////
        ///////////8BCBaxjXYqjqT57PrvVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMVAMSd
        NgiG5wSTamZ44ROdJreBn36QBEEEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5
        RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9QIhAP////8AAAAA
        //////////+85vqtpxeehPO5ysL8YyVRAgEBA0IABGL8m3dP7j7zw7AIZ+hpBIu9
        xeUdDmH5I3s2kck5iljjyq8YZUrRWHXSs8GI2dl27Av/Z2sjeTAFdaXK5dQa/TU=
        -----END PUBLIC KEY-----

        """

    /// `openssl pkcs8 -topk8 -v2 aes-256-cbc`.
    static let encryptedPBKDF2 = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgkq8utnr+lZgICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEPIN2jnoiImZP/2YTQtelswEgZCl
        3ODqwPHSAG7+w2j0OgTHfyPbF6fwFIX2EBFIchcNCk+RwW8e/QUZB1Ifhm/YyfMT
        NTj5T+b23+0Ftl0stMdSN8L0x3S5BPJAKOw8ZL8vxCFFBT3eVh6NPqHH5vqYbstU
        utIoiYFS8JE/SBT0pUMxOF1rmqh47YKU1VXDwwQ1x3sfNvBBO7DSYu/7eC3sVVY=
        -----END ENCRYPTED PRIVATE KEY-----

        """

    /// `openssl pkcs8 -topk8 -scrypt`.
    static let encryptedScrypt = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHkME8GCSqGSIb3DQEFDTBCMCEGCSsGAQQB2kcECzAUBAgZANnnxaH2WAICQAAC
        AQgCAQEwHQYJYIZIAWUDBAEqBBCIsDjL4g9mWvS6dKyw1hUFBIGQLp/L1aFqQ8h3
        Cjmx5J7xKZ9qaKKCTMMrwF4ZExnwpRNMWKCHFbawzjU9P/mchRcZuHYe6PhJCynw
        GqH33+MhY4gpPmnyAttwKiUya7yVxnaH9PSgeDem6u2nGekyDOiRn2vHJXIRRwdH
        lX+NEm9a1TG1+RNcMDaOcg3y7mkaZUli7kn+03Pwfo8B48PDoKKp
        -----END ENCRYPTED PRIVATE KEY-----

        """

    /// `openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES`.
    static let encrypted3DES = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIGxMBwGCiqGSIb3DQEMAQMwDgQIQAMGG7Sg3NMCAggABIGQ/E5Rp3n3nR264XxO
        tzQrVS13uI26Lrio41EPGmjyciBrUuM7Lty4TgnPC5SIi1mxMO2ZeyWX9go6iWjP
        c5RzaBHpFnoUHt7LiRFbaLyl4VWVy4GTqztrnxuSbEdt0GJbFlm5qwoBSDjPjT3H
        qo/qYbHVd6MgzNvgLG1zWfPdiLqxHo+9syz1wYjWfsy3ttPW
        -----END ENCRYPTED PRIVATE KEY-----

        """

    /// `openssl pkcs8 -topk8 -v1 PBE-MD5-DES`: requires the legacy provider.
    static let encryptedDES = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIGwMBsGCSqGSIb3DQEFAzAOBAjvSr+60AyRmQICCAAEgZCjaK/m/hlKLWSeGSi1
        9nPvFjT4mpoii3mYVvLkvG/gES8RjyG1mZh10Hg570oHZAuLbsbIbTMFsD8blIS/
        k5iaXmbsl8kcrjnqyRz7tPH5mx9ojv7r4zbeKR55LoYBEsBXwdrkQbhlZj6OeDJf
        /8SIHgZOLCHdfG9sZn6XvoozRc4o/S2Zg6dAlq1EJY1hS/M=
        -----END ENCRYPTED PRIVATE KEY-----

        """

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
        -----BEGIN EC PRIVATE KEY-----
        MHgCAQEEIH2ay8OHcDsVVm9mFCbTEyQjITs3nIFdVQxF2QBottlJoAsGCSskAwMC
        CAEBB6FEA0IABDyeuIN9ebeEn3ss0q34kQh4vTd3gzbdEqUbwE26T+GsatmWGzyp
        jJnQoKxxfUXyjyunNwFpfdVoAtJmQ0VjV2E=
        -----END EC PRIVATE KEY-----

        """

    /// A certificate.
    static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBbDCCAROgAwIBAgIUV74fci/daIRLEEpc2frYIIOPhMYwCgYIKoZIzj0EAwIw
        DDEKMAgGA1UEAwwBdDAeFw0yNjExMjEwMjQyMDBaFw0yNjExMjIwMjQyMDBaMAwx
        CjAIBgNVBAMMAXQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARi/Jt3T+4+88Ow
        CGfoaQSLvcXlHQ5h+SN7NpHJOYpY48qvGGVK0Vh10rPBiNnZduwL/2drI3kwBXWl
        yuXUGv01o1MwUTAdBgNVHQ4EFgQUNnVw9GER4ezigoOphPlIunTxkbcwHwYDVR0j
        BBgwFoAUNnVw9GER4ezigoOphPlIunTxkbcwDwYDVR0TAQH/BAUwAwEB/zAKBggq
        hkjOPQQDAgNHADBEAiACRdmSbtGsXd0rQZrIf3KrFLgo+VIuwgtAcxUP+Ib+kQIg
        WQ0potp4Z/mCwL6GdunE3PxP3BdvEHklNSlV53oNrEY=
        -----END CERTIFICATE-----

        """
}
