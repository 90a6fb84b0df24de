/// Certificates created by the OpenSSL command-line tool in November 2026, valid for 9000 days.
///
/// Their private keys aren't published.
enum TestCertificate {
    /// A root.
    static let root = """
        MIIBiTCCAS6gAwIBAgIUbEpxJ96H8KynPjnt1S+GgNpQJg0wCgYIKoZIzj0EAwIwITEQMA4GA1UECgwHRXhhbXBsZTENMAsGA1UEAwwEUm9vdDAg
        Fw0yNjExMjEwNTAyMjZaGA8yMDUxMDcxMzA1MDIyNlowITEQMA4GA1UECgwHRXhhbXBsZTENMAsGA1UEAwwEUm9vdDBZMBMGByqGSM49AgEGCCqG
        SM49AwEHA0IABFFmxBodGq+x3FaZnaear0aJuk3TQXOSYonB20UUjMQrXV56kyPbz/0f+f8WlT+jLEJveIaKOJx3nG8+P1Sp6BOjQjBAMA8GA1Ud
        EwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgIEMB0GA1UdDgQWBBQspjBPJ0GNBp10LFxqn1/i56ezkzAKBggqhkjOPQQDAgNJADBGAiEAwKhqzwEU
        hTQLwy/oV3/4JlY8+/SDVkRlbGQhNBqifNECIQCNgUmLJVgg1jhRg2RvC64lVtXkRSNrtyLaQSJ5yGLsyA==
        """.pem("CERTIFICATE")
    /// A root with the same name but another key.
    static let otherRoot = """
        MIIBiTCCAS6gAwIBAgIUa/tiSMqrqT4mYaOODaKZBxd09VgwCgYIKoZIzj0EAwIwITEQMA4GA1UECgwHRXhhbXBsZTENMAsGA1UEAwwEUm9vdDAg
        Fw0yNjExMjEwNTAyMjZaGA8yMDUxMDcxMzA1MDIyNlowITEQMA4GA1UECgwHRXhhbXBsZTENMAsGA1UEAwwEUm9vdDBZMBMGByqGSM49AgEGCCqG
        SM49AwEHA0IABLlDREAKcF0U+ouyZUR5QKUl6a7SPWGrQJXRcHkJ3A9pvr3xc4WKe/OL4PabeD61A3o1PUpq+q/GDUm3feEVkNKjQjBAMA8GA1Ud
        EwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgIEMB0GA1UdDgQWBBSsq2qWQsEJqdLRz9io0BMmxSeE0zAKBggqhkjOPQQDAgNJADBGAiEA55JfPpgy
        fIyH+GxbRaV2V1CMU/omKj3zZbRK2hGzo6gCIQC4owX3rcieMc62CrzFBpAycnFjprMT+ZrzfSG7X0Ci3w==
        """.pem("CERTIFICATE")
    /// Issued by the root; must not issue other authorities.
    static let intermediate = """
        MIIBozCCAUigAwIBAgICA/QwCgYIKoZIzj0EAwIwITEQMA4GA1UECgwHRXhhbXBsZTENMAsGA1UEAwwEUm9vdDAgFw0yNjExMjEwNTAyMjZaGA8y
        MDUxMDcxMzA1MDIyNlowKTEQMA4GA1UECgwHRXhhbXBsZTEVMBMGA1UEAwwMSW50ZXJtZWRpYXRlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
        5yBDHu29d/Kd8VCtUXD6/meCNqVKD8M3IkPGRtvOHHXdepQuTYeJTprN/IA6Hxnua7i5ISy5UdfSL5cgtjsV6aNmMGQwEgYDVR0TAQH/BAgwBgEB
        /wIBADAOBgNVHQ8BAf8EBAMCAgQwHQYDVR0OBBYEFHk4dk/pKI2H4ayNpmoSyMZ1oii1MB8GA1UdIwQYMBaAFCymME8nQY0GnXQsXGqfX+Lnp7OT
        MAoGCCqGSM49BAMCA0kAMEYCIQCMrdQzL8wcgHxtbUo5m6PpuDFe1jds4uFCsGWuZK8S2wIhALFjHtJWlGee6PW7/gOlsVboR6V+oNB3V21Zi1w5
        lnDc
        """.pem("CERTIFICATE")
    /// Issued by the intermediate, for signatures.
    static let leaf = """
        MIIBpjCCAUygAwIBAgICA+wwCgYIKoZIzj0EAwIwKTEQMA4GA1UECgwHRXhhbXBsZTEVMBMGA1UEAwwMSW50ZXJtZWRpYXRlMCAXDTI2MTEyMTA1
        MDIyNloYDzIwNTEwNzEzMDUwMjI2WjArMRcwFQYDVQQKDA5FeMOkbXBsZSwgSW5jLjEQMA4GA1UEAwwHSsO8cmdlbjBZMBMGByqGSM49AgEGCCqG
        SM49AwEHA0IABFmxw/0oqBl6BPQkA9+Dow5IVTYmMuesNjB7wVC+N+xGi3ziceFTQCOzYmRFz9alvsLNJ73knfdW4I+a1ryaei2jYDBeMAwGA1Ud
        EwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeAMB0GA1UdDgQWBBSxIYG2Wr/nq8B8SkrbbLvB8GwgQzAfBgNVHSMEGDAWgBR5OHZP6SiNh+GsjaZqEsjG
        daIotTAKBggqhkjOPQQDAgNIADBFAiEAsfWCnmVzpvCamqIcA7DeRyFIUvaO6ZUyBpY0vbD0eGMCICuTOjQwUGhcQIaJYMSR4dhQB6CdGCbu731R
        XQPNCNXW
        """.pem("CERTIFICATE")
    /// Issued by the intermediate, without key usage.
    static let leafWithoutUsage = """
        MIIBezCCASCgAwIBAgICA/gwCgYIKoZIzj0EAwIwKTEQMA4GA1UECgwHRXhhbXBsZTEVMBMGA1UEAwwMSW50ZXJtZWRpYXRlMCAXDTI2MTEyMTA1
        MDIyNloYDzIwNTEwNzEzMDUwMjI2WjAPMQ0wCwYDVQQDDARsZWFmMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEjf1c9gUqhU3BUew6Ul1NnxBq
        dKpus4q4DQPsXJ5HtlNTY2Gbj+l9FgUulbNbOSz1jhKHuXPC5Jz/7ILlBeUDkaNQME4wDAYDVR0TAQH/BAIwADAdBgNVHQ4EFgQUq8Cfs38N1IYz
        wnR//PSbDAKfLSUwHwYDVR0jBBgwFoAUeTh2T+kojYfhrI2mahLIxnWiKLUwCgYIKoZIzj0EAwIDSQAwRgIhANPjpCWzpA47yWJ5IsXv8/zn6Iy7
        slixDsPmByCYTeVGAiEAsNJmTE6hZwzvn56E3vSnVJ1bvZotUsL6gpvVRT7C3GI=
        """.pem("CERTIFICATE")
    /// Issued by the intermediate, for key encipherment only.
    static let leafForEncryption = """
        MIIBfTCCASKgAwIBAgICA/kwCgYIKoZIzj0EAwIwKTEQMA4GA1UECgwHRXhhbXBsZTEVMBMGA1UEAwwMSW50ZXJtZWRpYXRlMCAXDTI2MTEyMTA1
        MDIyNloYDzIwNTEwNzEzMDUwMjI2WjAPMQ0wCwYDVQQDDARsZWFmMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEtZ727by9j10Y9Z8dS42v5Gdb
        MGzKTT0YJr9FlhwaQwbS/cFWkmWzLKIk3o+5V13ZVyJ8pBfUryhSL8n0SzQN+6NSMFAwDgYDVR0PAQH/BAQDAgUgMB0GA1UdDgQWBBSpVv+ZFlvy
        zYo7Ca1FkJO84tVnnjAfBgNVHSMEGDAWgBR5OHZP6SiNh+GsjaZqEsjGdaIotTAKBggqhkjOPQQDAgNJADBGAiEAv+poL4TZylO9Ej0KsLG4dc4K
        WxCPTvx7hiVdweQor2wCIQDuz+OsZPcNwwzhrlz8ogsdbJT1+kNNDIn3apryO2naeA==
        """.pem("CERTIFICATE")
    /// Issued by the intermediate, valid for thirty days.
    static let shortLived = """
        MIIBiTCCAS6gAwIBAgICA/IwCgYIKoZIzj0EAwIwKTEQMA4GA1UECgwHRXhhbXBsZTEVMBMGA1UEAwwMSW50ZXJtZWRpYXRlMB4XDTI2MTEyMTA1
        MDIyN1oXDTI2MTIyMTA1MDIyN1owDzENMAsGA1UEAwwEbGVhZjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABH+/QMUY6gKwiN6Eigy1NM3Ur3IK
        FUWWy0zWpAAhMjztKy/RIDGHHSPHUeXF3ymfZyfqbN4J6Yv3JoPwqfnm8FCjYDBeMAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeAMB0GA1Ud
        DgQWBBR8l8Lo/7+1S66FXv+T8CFLCpfU6TAfBgNVHSMEGDAWgBR5OHZP6SiNh+GsjaZqEsjGdaIotTAKBggqhkjOPQQDAgNJADBGAiEAv1NwgQ4A
        QpdoTv7gycCDCzIjuhhja8r+AkIDgusIq80CIQC0WnU6j2eTkbAv9xfn89JnCFjbZSFRuLpCU4NxznP/Kw==
        """.pem("CERTIFICATE")
    /// Issued by the leaf, which isn't an authority.
    static let issuedByLeaf = """
        MIIBizCCATKgAwIBAgICA/QwCgYIKoZIzj0EAwIwKzEXMBUGA1UECgwORXjDpG1wbGUsIEluYy4xEDAOBgNVBAMMB0rDvHJnZW4wIBcNMjYxMTIx
        MDUwMjI3WhgPMjA1MTA3MTMwNTAyMjdaMA8xDTALBgNVBAMMBGxlYWYwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATJhOT9/c+4lIWrRpHti7Z0
        3yWgSj3rv6aVQBU5XBiaPoa9QUtOCBGQNmw/z6IriBilNWc8UyHozY82IxWY3uvio2AwXjAMBgNVHRMBAf8EAjAAMA4GA1UdDwEB/wQEAwIHgDAd
        BgNVHQ4EFgQU5evK/NMikP7VmLg5hNAi/WgECSgwHwYDVR0jBBgwFoAUsSGBtlq/56vAfEpK22y7wfBsIEMwCgYIKoZIzj0EAwIDRwAwRAIgCz/z
        pvuA9uPpdVBJcyLGsDCXANEGoKw5ScW1wnei9qICIC6MMwWXztTMxSWgQt/YV7YANmUh6AGl5pJ58hLjSK1L
        """.pem("CERTIFICATE")
    /// Issued by the intermediate despite its path length.
    static let secondIntermediate = """
        MIIBjzCCATWgAwIBAgICA/owCgYIKoZIzj0EAwIwKTEQMA4GA1UECgwHRXhhbXBsZTEVMBMGA1UEAwwMSW50ZXJtZWRpYXRlMCAXDTI2MTEyMTA1
        MDIyN1oYDzIwNTEwNzEzMDUwMjI3WjARMQ8wDQYDVQQDDAZTZWNvbmQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASEL/hDqK6yVWn4qVEpy5Mi
        VmUNTVBWxqASz/jkqd+0fGHaabHOiK9nX2ktJdHDvp5BvrFqnKcsgopJIRzpagkno2MwYTAPBgNVHRMBAf8EBTADAQH/MA4GA1UdDwEB/wQEAwIC
        BDAdBgNVHQ4EFgQUyHOFeaWM8CV8jsF/ErDroykLnpowHwYDVR0jBBgwFoAUeTh2T+kojYfhrI2mahLIxnWiKLUwCgYIKoZIzj0EAwIDSAAwRQIg
        SOFRmdNSrBwSaU1IbQ+LGm/G/Dzrqn2zJonyLocVhhgCIQDjE8hoVkxvhoYPGiF2TcWOTo6e/XGOGgtoilDNA/kMKw==
        """.pem("CERTIFICATE")
    /// Issued by the second intermediate.
    static let leafTooDeep = """
        MIIBcTCCARigAwIBAgICA/MwCgYIKoZIzj0EAwIwETEPMA0GA1UEAwwGU2Vjb25kMCAXDTI2MTEyMTA1MDIyN1oYDzIwNTEwNzEzMDUwMjI3WjAP
        MQ0wCwYDVQQDDARsZWFmMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEczI6hX99xeytGlz3x4pxBNw11ScKwFbYNt7vqXN5LrC9O7iyBLlQOYtM
        OWLwPkfAxjKVF+heqMDN6vhJ79jfE6NgMF4wDAYDVR0TAQH/BAIwADAOBgNVHQ8BAf8EBAMCB4AwHQYDVR0OBBYEFE6PI7FwnBGL6NKwMAh1QApQ
        KkulMB8GA1UdIwQYMBaAFMhzhXmljPAlfI7BfxKw66MpC56aMAoGCCqGSM49BAMCA0cAMEQCIB5ZfjmMMeZBgcOx2v294F+3bDbwBgf7rLOK+hDu
        hMd4AiBIY4/AcebAxRgTdmmzWLBabIsgBGcXUzA1PvBwBaJHyg==
        """.pem("CERTIFICATE")
    /// Issued by the root with SHA-1.
    static let sha1 = """
        MIIBgDCCASegAwIBAgICA+wwCQYHKoZIzj0EATAhMRAwDgYDVQQKDAdFeGFtcGxlMQ0wCwYDVQQDDARSb290MCAXDTI2MTEyMTA1MDIyN1oYDzIw
        NTEwNzEzMDUwMjI3WjAPMQ0wCwYDVQQDDARsZWFmMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf/ZVHprgPAEZU8tW+Ex2lw5xQwE9VgCkvbiY
        eHkOb3JxbKPLrdtmj6ZEKoMHWAq2jaCruhOM5KrxAAq15hh6YKNgMF4wDAYDVR0TAQH/BAIwADAOBgNVHQ8BAf8EBAMCB4AwHQYDVR0OBBYEFM9e
        xCWbQzyyyQx5BId6vqshXB3zMB8GA1UdIwQYMBaAFCymME8nQY0GnXQsXGqfX+Lnp7OTMAkGByqGSM49BAEDSAAwRQIhAPgSr1bggnljU+slOPGq
        ddet9ZFSyceSDXO0OU1VpH42AiBUTPxyVkuFv2ncd52QDbNx4urmlVwSoaaIwVvtEz+AFg==
        """.pem("CERTIFICATE")
    /// Issued by the root for an RSA key of 1024 bits.
    static let weakKey = """
        MIIByTCCAW+gAwIBAgICA+8wCgYIKoZIzj0EAwIwITEQMA4GA1UECgwHRXhhbXBsZTENMAsGA1UEAwwEUm9vdDAgFw0yNjExMjEwNTAyMjdaGA8y
        MDUxMDcxMzA1MDIyN1owDzENMAsGA1UEAwwEbGVhZjCBnzANBgkqhkiG9w0BAQEFAAOBjQAwgYkCgYEAoa4dbGVwA9WWyN7qvB3t7rfnj04mbBZn
        co78AAFmMhufKySocwE2FIRiA8ox+SIR9Xr11bMAl7RrUSAZsx7VKlqYSuDrT2yrGhvTjDpw6lKF9cRRMKTXrh30p9kfFZu7zcosDzeAM0ThK5fA
        tmp7a5FspsfDliGiR/vDddRX+WcCAwEAAaNgMF4wDAYDVR0TAQH/BAIwADAOBgNVHQ8BAf8EBAMCB4AwHQYDVR0OBBYEFJytrdM00HrEOggtlqUP
        Qgtu5jMPMB8GA1UdIwQYMBaAFCymME8nQY0GnXQsXGqfX+Lnp7OTMAoGCCqGSM49BAMCA0gAMEUCIB2Y75nIm5tJ6Clgt20ImVk3x0P5kXEHAZQx
        M/AFiZXeAiEAnYAkmQwC9wpJ9uclvuS8uc+JQk3t51g+sP0AdLbHep8=
        """.pem("CERTIFICATE")
    /// Issued by the root with an unknown critical extension.
    static let unknownCritical = """
        MIIBmTCCAT6gAwIBAgICA/cwCgYIKoZIzj0EAwIwITEQMA4GA1UECgwHRXhhbXBsZTENMAsGA1UEAwwEUm9vdDAgFw0yNjExMjEwNTAyMjdaGA8y
        MDUxMDcxMzA1MDIyN1owDzENMAsGA1UEAwwEbGVhZjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABEkmL6l3g3kcdXFJ6D/ACdE1M44D1u5aEEWS
        kUelG4X0tV4MPgQhGpEguMB7shsJEMbo3QedG4mRvagb9tt6zoCjdjB0MAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeAMBQGBCoDBAUBAf8E
        CQwHdW5rbm93bjAdBgNVHQ4EFgQUsC3nGI2r1Flto88WHRyNhqki1E8wHwYDVR0jBBgwFoAULKYwTydBjQaddCxcap9f4uens5MwCgYIKoZIzj0E
        AwIDSQAwRgIhAPNElLMmcvh0CklVTImYa38IGaIDr5wD66R4EYwv0YlIAiEAuMvD8BkPL6v515zIEKWM6ud+k5G+pcbdIEoMqR8de9A=
        """.pem("CERTIFICATE")
    /// An intermediate that may only issue for example.org.
    static let constrained = """
        MIIBrTCCAVOgAwIBAgICA/MwCgYIKoZIzj0EAwIwITEQMA4GA1UECgwHRXhhbXBsZTENMAsGA1UEAwwEUm9vdDAgFw0yNjExMjEwNTAyMjdaGA8y
        MDUxMDcxMzA1MDIyN1owFjEUMBIGA1UEAwwLQ29uc3RyYWluZWQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASPORJGPvVTBnxOfmv13PfFklS2
        wmkxvDYXIaOoE6wx5o7aUo5/3+LnfIisDL+tH/DaMKiG4qMYB+cEwfdsLjIqo4GDMIGAMA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgIE
        MB0GA1UdDgQWBBRxsUNtxjX6wAtZh4ZWqipC3IskjjAdBgNVHR4BAf8EEzARoA8wDYILZXhhbXBsZS5vcmcwHwYDVR0jBBgwFoAULKYwTydBjQad
        dCxcap9f4uens5MwCgYIKoZIzj0EAwIDSAAwRQIgV/IIMttXgERXhFoldBTZRqRQp+QTaDKQ0SimaFmh6LgCIQDoVDt/VMGKnpA3+bjdGNv7eoof
        ThWSnb8NPppU4/d1WA==
        """.pem("CERTIFICATE")
    /// Issued by the constrained intermediate for example.com.
    static let outsideConstraint = """
        MIIBjzCCATWgAwIBAgICA/kwCgYIKoZIzj0EAwIwFjEUMBIGA1UEAwwLQ29uc3RyYWluZWQwIBcNMjYxMTIxMDUwMjI3WhgPMjA1MTA3MTMwNTAy
        MjdaMA8xDTALBgNVBAMMBGxlYWYwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATS7lrAkJdo1AjKo1jpY9lG5Kq59uhcaZSzluV8LVc5Jm+bbIfz
        4kmk1F7tJHiOWAPAPxKB6SUOKqpAAiR3SYA6o3gwdjAMBgNVHRMBAf8EAjAAMA4GA1UdDwEB/wQEAwIHgDAWBgNVHREEDzANggtleGFtcGxlLmNv
        bTAdBgNVHQ4EFgQUM3Cw4etTLHgg0Rq/8pnLzF6/2C8wHwYDVR0jBBgwFoAUcbFDbcY1+sALWYeGVqoqQtyLJI4wCgYIKoZIzj0EAwIDSAAwRQIh
        AJoKoKmh+SKHhWo8gVBzFSqy9/KynukcoSc9dZ1yq0fnAiBGzhhuR6TCDeAIXsx7ed3FW83fdm1pGlggAAz3eWF+FA==
        """.pem("CERTIFICATE")
    /// Self-signed, for signatures.
    static let selfSigned = """
        MIIBYTCCAQegAwIBAgIUKQysU5bolq7Y5kvNjTVTxunSy8swCgYIKoZIzj0EAwIwDzENMAsGA1UEAwwEc2VsZjAgFw0yNjExMjEwNTAyMjdaGA8y
        MDUxMDcxMzA1MDIyN1owDzENMAsGA1UEAwwEc2VsZjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBj4Cx56jyije0cLkI35Zsia5yKZ+MtP8izd
        WiL3heGJYuokVCTsVQBqb/pBNg/i69jl4o/KvNcRMcZCIlhiWx2jPzA9MAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeAMB0GA1UdDgQWBBT3
        9Hyb8WZFfiFPys//3ofG5mPOmDAKBggqhkjOPQQDAgNIADBFAiBP9Wx19FeaHzxyJ+SrL0WDhtQbVPPwENxA9jbNuWQ6KAIhALAxy58PViuV1pcX
        ld2IKggTxgMrmCEmKEV9ueu6+6du
        """.pem("CERTIFICATE")
    /// Issued by the root for the RSA key of `RSATestNumbers`.
    static let rsa = """
        MIICSzCCAfKgAwIBAgICA+swCgYIKoZIzj0EAwIwITEQMA4GA1UECgwHRXhhbXBsZTENMAsGA1UEAwwEUm9vdDAgFw0yNjExMjEwNTAyMjdaGA8y
        MDUxMDcxMzA1MDIyN1owDjEMMAoGA1UEAwwDcnNhMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA8lhw+MIpeJb2TeM7swcpKZu3/DzI
        5jI1PxpuIvOTdsNWVbdyMsk0LZNLD6T0gSet3M2SowYvQeC8lvR9WDzBoZFdLvcMmN3jsJw7sOOqS9gitMfQBfr3XRQ+gdpCQGjG8Z7Wvyk4Pm5p
        oRhm19EVVn6QU45le62QzXoUSg13eF2FKVZJDPXJ12TU7px23rnt64HfyPNwgkA6ywhRa63JMxcPWEzY+2J+UnFef+e5smRGh5EHxh62svM5GkYq
        zhpmUuuXioj8lDOrVVSSMkSLizpLYaFYAIuO05RHtquoU4BgeY9HZg7oxENw+eVlKlIt2WEQrEOCsVneTMmtWDmybwIDAQABo2AwXjAMBgNVHRMB
        Af8EAjAAMA4GA1UdDwEB/wQEAwIHgDAdBgNVHQ4EFgQUgrNlS/dBM0bpx1AKfgoVPSJLjDUwHwYDVR0jBBgwFoAULKYwTydBjQaddCxcap9f4uen
        s5MwCgYIKoZIzj0EAwIDRwAwRAIgf07OKOyRP6pOLmSauQSxAHAqrdLHMTUrxpD4WehKxAMCIHmv+bvepC10ydtSr4ItiXqKduQWsEy2wRuxd5MO
        E8fm
        """.pem("CERTIFICATE")
    /// Issued by the root for an X25519 key.
    static let x25519 = """
        MIIBOTCB4qADAgECAgFNMAoGCCqGSM49BAMCMCExEDAOBgNVBAoMB0V4YW1wbGUxDTALBgNVBAMMBFJvb3QwIBcNMjYxMTIxMDUwMjI3WhgPMjA1
        MTA3MTMwNTAyMjdaMAwxCjAIBgNVBAMMAXgwKjAFBgMrZW4DIQD8jnaFF30/v3+RQv29skESL+T/DycP4sWf6QYpTJvASqNNMEswCQYDVR0TBAIw
        ADAdBgNVHQ4EFgQUly2MgKiR/FL+G+jDf/KdOrrvu1AwHwYDVR0jBBgwFoAULKYwTydBjQaddCxcap9f4uens5MwCgYIKoZIzj0EAwIDRgAwQwIg
        e+vIKRdwDRcl/OBad9DV9KWFazVdmqnf+nmVs3/C9LACH0mjpg6mWNfilEM8nD6EIzJjp2mjYCevAXitCBI/jEs=
        """.pem("CERTIFICATE")

    /// The values that the OpenSSL command-line tool prints for the leaf.
    static let leafSHA256 = "2915597e62437393de9df789eb6cfb4c0dc47d6f0977a883c2ea6aca8eec5ea3"
    static let leafSHA1 = "405673c7e3b80cfcc3c9f8c8f2c85e25e3e09d9d"
    static let leafKeySHA256 = "b7ac7496dc4f0e629a2012a030221894fea9abef9879e8febdf604f36fee5828"
    static let leafNotBefore: Int64 = 1795237346
    static let leafNotAfter: Int64 = 2572837346
    /// A time at which all certificates except the short-lived one are valid.
    static let time: Int64 = leafNotBefore + 400 * 86_400
    static let shortLivedNotBefore: Int64 = 1795237347
    static let shortLivedNotAfter: Int64 = 1797829347
}

/// A server's certificates and key, created by the OpenSSL command-line tool, valid from 2020 to
/// 2095 for handshakes at the current time.
enum TestServer {
    static let host = "server.example"
    static let root = """
        MIIBUTCB+KADAgECAgIQATAKBggqhkjOPQQDAjAPMQ0wCwYDVQQDDARyb290MCAXDTIwMDEwMTAwMDAwMFoYDzIwOTYwMTAxMDAwMDAwWjAPMQ0w
        CwYDVQQDDARyb290MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAERSG0/DcRlUzVneir/brLlpF8zhic6x+U81gMJre3dbI/9AVJQt7xmWxgJfeA
        MTFOymvTJN2G+zPxdIKL9mjWlqNCMEAwDwYDVR0TAQH/BAUwAwEB/zAOBgNVHQ8BAf8EBAMCAQYwHQYDVR0OBBYEFM2iqtYtBLyzc9A0vO2qYcJl
        w4gBMAoGCCqGSM49BAMCA0gAMEUCIGrCmprkk7ta0rw7c9KOKaa5FveE0XzrAjQwmhdcTtgjAiEAvSJjdiLxqpDBFFCsjfN7bKaMNoHMzhJ5dHoF
        wiMpQpg=
        """.pem("CERTIFICATE")
    /// Issued by the root for the host.
    static let certificate = """
        MIIBrDCCAVKgAwIBAgICEAIwCgYIKoZIzj0EAwIwDzENMAsGA1UEAwwEcm9vdDAgFw0yMDAxMDEwMDAwMDBaGA8yMDk2MDEwMTAwMDAwMFowGTEX
        MBUGA1UEAwwOc2VydmVyLmV4YW1wbGUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQFRImnAw+3cOnRrD3KrONCYDj/eLrXNIltpfTt8SV+J91M
        00wrMqdDPX+kWGDcP1yjpJd6hp6Ggc09UVmQvKP3o4GRMIGOMAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeAMBMGA1UdJQQMMAoGCCsGAQUF
        BwMBMBkGA1UdEQQSMBCCDnNlcnZlci5leGFtcGxlMB0GA1UdDgQWBBQPnDnaVNfStwoXodVo9Ox5lmal/DAfBgNVHSMEGDAWgBTNoqrWLQS8s3PQ
        NLztqmHCZcOIATAKBggqhkjOPQQDAgNIADBFAiEAsCuPS2lS+eL/xc0g2Yx6PA4rNUZUzCGZJmu1DRPPee8CICf3qzuIscsl6RfUNMviFJMkHKtu
        GxAyrG/yLFZIWI4A
        """.pem("CERTIFICATE")
    /// Without alternative names; its common name is the host.
    static let namelessCertificate = """
        MIIBjzCCATWgAwIBAgICEAMwCgYIKoZIzj0EAwIwDzENMAsGA1UEAwwEcm9vdDAgFw0yMDAxMDEwMDAwMDBaGA8yMDk2MDEwMTAwMDAwMFowGTEX
        MBUGA1UEAwwOc2VydmVyLmV4YW1wbGUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQFRImnAw+3cOnRrD3KrONCYDj/eLrXNIltpfTt8SV+J91M
        00wrMqdDPX+kWGDcP1yjpJd6hp6Ggc09UVmQvKP3o3UwczAMBgNVHRMBAf8EAjAAMA4GA1UdDwEB/wQEAwIHgDATBgNVHSUEDDAKBggrBgEFBQcD
        ATAdBgNVHQ4EFgQUD5w52lTX0rcKF6HVaPTseZZmpfwwHwYDVR0jBBgwFoAUzaKq1i0EvLNz0DS87aphwmXDiAEwCgYIKoZIzj0EAwIDSAAwRQIg
        NH7QoSmdSE8HhHXXaBNCYLzMlksuW0AfGm8swmnAtCkCIQCnv9is2MjNDMvClYUzwfSjxYPuLhgTs5gidCDhbPwxNA==
        """.pem("CERTIFICATE")
    /// The key of both certificates.
    static let key = """
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgfZ1eWL9MnDXNdW3rbfW/ewG050MkOTL9JvJnaZOVS3uhRANCAAQFRImnAw+3cOnR
        rD3KrONCYDj/eLrXNIltpfTt8SV+J91M00wrMqdDPX+kWGDcP1yjpJd6hp6Ggc09UVmQvKP3
        """.pem("PRIVATE KEY")
}
