/// Certificates created by the OpenSSL command-line tool in November 2026, valid for 9000 days.
///
/// Their private keys aren't published.
enum TestCertificate {
    /// A root.
    static let root = """
        -----BEGIN CERTIFICATE-----
        MIIBiTCCAS6gAwIBAgIUbEpxJ96H8KynPjnt1S+GgNpQJg0wCgYIKoZIzj0EAwIw
        ITEQMA4GA1UECgwHRXhhbXBsZTENMAsGA1UEAwwEUm9vdDAgFw0yNjExMjEwNTAy
        MjZaGA8yMDUxMDcxMzA1MDIyNlowITEQMA4GA1UECgwHRXhhbXBsZTENMAsGA1UE
        AwwEUm9vdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABFFmxBodGq+x3FaZnaea
        r0aJuk3TQXOSYonB20UUjMQrXV56kyPbz/0f+f8WlT+jLEJveIaKOJx3nG8+P1Sp
        6BOjQjBAMA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgIEMB0GA1UdDgQW
        BBQspjBPJ0GNBp10LFxqn1/i56ezkzAKBggqhkjOPQQDAgNJADBGAiEAwKhqzwEU
        hTQLwy/oV3/4JlY8+/SDVkRlbGQhNBqifNECIQCNgUmLJVgg1jhRg2RvC64lVtXk
        RSNrtyLaQSJ5yGLsyA==
        -----END CERTIFICATE-----

        """
    /// A root with the same name but another key.
    static let otherRoot = """
        -----BEGIN CERTIFICATE-----
        MIIBiTCCAS6gAwIBAgIUa/tiSMqrqT4mYaOODaKZBxd09VgwCgYIKoZIzj0EAwIw
        ITEQMA4GA1UECgwHRXhhbXBsZTENMAsGA1UEAwwEUm9vdDAgFw0yNjExMjEwNTAy
        MjZaGA8yMDUxMDcxMzA1MDIyNlowITEQMA4GA1UECgwHRXhhbXBsZTENMAsGA1UE
        AwwEUm9vdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABLlDREAKcF0U+ouyZUR5
        QKUl6a7SPWGrQJXRcHkJ3A9pvr3xc4WKe/OL4PabeD61A3o1PUpq+q/GDUm3feEV
        kNKjQjBAMA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgIEMB0GA1UdDgQW
        BBSsq2qWQsEJqdLRz9io0BMmxSeE0zAKBggqhkjOPQQDAgNJADBGAiEA55JfPpgy
        fIyH+GxbRaV2V1CMU/omKj3zZbRK2hGzo6gCIQC4owX3rcieMc62CrzFBpAycnFj
        prMT+ZrzfSG7X0Ci3w==
        -----END CERTIFICATE-----

        """
    /// Issued by the root; must not issue other authorities.
    static let intermediate = """
        -----BEGIN CERTIFICATE-----
        MIIBozCCAUigAwIBAgICA/QwCgYIKoZIzj0EAwIwITEQMA4GA1UECgwHRXhhbXBs
        ZTENMAsGA1UEAwwEUm9vdDAgFw0yNjExMjEwNTAyMjZaGA8yMDUxMDcxMzA1MDIy
        NlowKTEQMA4GA1UECgwHRXhhbXBsZTEVMBMGA1UEAwwMSW50ZXJtZWRpYXRlMFkw
        EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE5yBDHu29d/Kd8VCtUXD6/meCNqVKD8M3
        IkPGRtvOHHXdepQuTYeJTprN/IA6Hxnua7i5ISy5UdfSL5cgtjsV6aNmMGQwEgYD
        VR0TAQH/BAgwBgEB/wIBADAOBgNVHQ8BAf8EBAMCAgQwHQYDVR0OBBYEFHk4dk/p
        KI2H4ayNpmoSyMZ1oii1MB8GA1UdIwQYMBaAFCymME8nQY0GnXQsXGqfX+Lnp7OT
        MAoGCCqGSM49BAMCA0kAMEYCIQCMrdQzL8wcgHxtbUo5m6PpuDFe1jds4uFCsGWu
        ZK8S2wIhALFjHtJWlGee6PW7/gOlsVboR6V+oNB3V21Zi1w5lnDc
        -----END CERTIFICATE-----

        """
    /// Issued by the intermediate, for signatures.
    static let leaf = """
        -----BEGIN CERTIFICATE-----
        MIIBpjCCAUygAwIBAgICA+wwCgYIKoZIzj0EAwIwKTEQMA4GA1UECgwHRXhhbXBs
        ZTEVMBMGA1UEAwwMSW50ZXJtZWRpYXRlMCAXDTI2MTEyMTA1MDIyNloYDzIwNTEw
        NzEzMDUwMjI2WjArMRcwFQYDVQQKDA5FeMOkbXBsZSwgSW5jLjEQMA4GA1UEAwwH
        SsO8cmdlbjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABFmxw/0oqBl6BPQkA9+D
        ow5IVTYmMuesNjB7wVC+N+xGi3ziceFTQCOzYmRFz9alvsLNJ73knfdW4I+a1rya
        ei2jYDBeMAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeAMB0GA1UdDgQWBBSx
        IYG2Wr/nq8B8SkrbbLvB8GwgQzAfBgNVHSMEGDAWgBR5OHZP6SiNh+GsjaZqEsjG
        daIotTAKBggqhkjOPQQDAgNIADBFAiEAsfWCnmVzpvCamqIcA7DeRyFIUvaO6ZUy
        BpY0vbD0eGMCICuTOjQwUGhcQIaJYMSR4dhQB6CdGCbu731RXQPNCNXW
        -----END CERTIFICATE-----

        """
    /// Issued by the intermediate, without key usage.
    static let leafWithoutUsage = """
        -----BEGIN CERTIFICATE-----
        MIIBezCCASCgAwIBAgICA/gwCgYIKoZIzj0EAwIwKTEQMA4GA1UECgwHRXhhbXBs
        ZTEVMBMGA1UEAwwMSW50ZXJtZWRpYXRlMCAXDTI2MTEyMTA1MDIyNloYDzIwNTEw
        NzEzMDUwMjI2WjAPMQ0wCwYDVQQDDARsZWFmMFkwEwYHKoZIzj0CAQYIKoZIzj0D
        AQcDQgAEjf1c9gUqhU3BUew6Ul1NnxBqdKpus4q4DQPsXJ5HtlNTY2Gbj+l9FgUu
        lbNbOSz1jhKHuXPC5Jz/7ILlBeUDkaNQME4wDAYDVR0TAQH/BAIwADAdBgNVHQ4E
        FgQUq8Cfs38N1IYzwnR//PSbDAKfLSUwHwYDVR0jBBgwFoAUeTh2T+kojYfhrI2m
        ahLIxnWiKLUwCgYIKoZIzj0EAwIDSQAwRgIhANPjpCWzpA47yWJ5IsXv8/zn6Iy7
        slixDsPmByCYTeVGAiEAsNJmTE6hZwzvn56E3vSnVJ1bvZotUsL6gpvVRT7C3GI=
        -----END CERTIFICATE-----

        """
    /// Issued by the intermediate, for key encipherment only.
    static let leafForEncryption = """
        -----BEGIN CERTIFICATE-----
        MIIBfTCCASKgAwIBAgICA/kwCgYIKoZIzj0EAwIwKTEQMA4GA1UECgwHRXhhbXBs
        ZTEVMBMGA1UEAwwMSW50ZXJtZWRpYXRlMCAXDTI2MTEyMTA1MDIyNloYDzIwNTEw
        NzEzMDUwMjI2WjAPMQ0wCwYDVQQDDARsZWFmMFkwEwYHKoZIzj0CAQYIKoZIzj0D
        AQcDQgAEtZ727by9j10Y9Z8dS42v5GdbMGzKTT0YJr9FlhwaQwbS/cFWkmWzLKIk
        3o+5V13ZVyJ8pBfUryhSL8n0SzQN+6NSMFAwDgYDVR0PAQH/BAQDAgUgMB0GA1Ud
        DgQWBBSpVv+ZFlvyzYo7Ca1FkJO84tVnnjAfBgNVHSMEGDAWgBR5OHZP6SiNh+Gs
        jaZqEsjGdaIotTAKBggqhkjOPQQDAgNJADBGAiEAv+poL4TZylO9Ej0KsLG4dc4K
        WxCPTvx7hiVdweQor2wCIQDuz+OsZPcNwwzhrlz8ogsdbJT1+kNNDIn3apryO2na
        eA==
        -----END CERTIFICATE-----

        """
    /// Issued by the intermediate, valid for thirty days.
    static let shortLived = """
        -----BEGIN CERTIFICATE-----
        MIIBiTCCAS6gAwIBAgICA/IwCgYIKoZIzj0EAwIwKTEQMA4GA1UECgwHRXhhbXBs
        ZTEVMBMGA1UEAwwMSW50ZXJtZWRpYXRlMB4XDTI2MTEyMTA1MDIyN1oXDTI2MTIy
        MTA1MDIyN1owDzENMAsGA1UEAwwEbGVhZjBZMBMGByqGSM49AgEGCCqGSM49AwEH
        A0IABH+/QMUY6gKwiN6Eigy1NM3Ur3IKFUWWy0zWpAAhMjztKy/RIDGHHSPHUeXF
        3ymfZyfqbN4J6Yv3JoPwqfnm8FCjYDBeMAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/
        BAQDAgeAMB0GA1UdDgQWBBR8l8Lo/7+1S66FXv+T8CFLCpfU6TAfBgNVHSMEGDAW
        gBR5OHZP6SiNh+GsjaZqEsjGdaIotTAKBggqhkjOPQQDAgNJADBGAiEAv1NwgQ4A
        QpdoTv7gycCDCzIjuhhja8r+AkIDgusIq80CIQC0WnU6j2eTkbAv9xfn89JnCFjb
        ZSFRuLpCU4NxznP/Kw==
        -----END CERTIFICATE-----

        """
    /// Issued by the leaf, which isn't an authority.
    static let issuedByLeaf = """
        -----BEGIN CERTIFICATE-----
        MIIBizCCATKgAwIBAgICA/QwCgYIKoZIzj0EAwIwKzEXMBUGA1UECgwORXjDpG1w
        bGUsIEluYy4xEDAOBgNVBAMMB0rDvHJnZW4wIBcNMjYxMTIxMDUwMjI3WhgPMjA1
        MTA3MTMwNTAyMjdaMA8xDTALBgNVBAMMBGxlYWYwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAATJhOT9/c+4lIWrRpHti7Z03yWgSj3rv6aVQBU5XBiaPoa9QUtOCBGQ
        Nmw/z6IriBilNWc8UyHozY82IxWY3uvio2AwXjAMBgNVHRMBAf8EAjAAMA4GA1Ud
        DwEB/wQEAwIHgDAdBgNVHQ4EFgQU5evK/NMikP7VmLg5hNAi/WgECSgwHwYDVR0j
        BBgwFoAUsSGBtlq/56vAfEpK22y7wfBsIEMwCgYIKoZIzj0EAwIDRwAwRAIgCz/z
        pvuA9uPpdVBJcyLGsDCXANEGoKw5ScW1wnei9qICIC6MMwWXztTMxSWgQt/YV7YA
        NmUh6AGl5pJ58hLjSK1L
        -----END CERTIFICATE-----

        """
    /// Issued by the intermediate despite its path length.
    static let secondIntermediate = """
        -----BEGIN CERTIFICATE-----
        MIIBjzCCATWgAwIBAgICA/owCgYIKoZIzj0EAwIwKTEQMA4GA1UECgwHRXhhbXBs
        ZTEVMBMGA1UEAwwMSW50ZXJtZWRpYXRlMCAXDTI2MTEyMTA1MDIyN1oYDzIwNTEw
        NzEzMDUwMjI3WjARMQ8wDQYDVQQDDAZTZWNvbmQwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAASEL/hDqK6yVWn4qVEpy5MiVmUNTVBWxqASz/jkqd+0fGHaabHOiK9n
        X2ktJdHDvp5BvrFqnKcsgopJIRzpagkno2MwYTAPBgNVHRMBAf8EBTADAQH/MA4G
        A1UdDwEB/wQEAwICBDAdBgNVHQ4EFgQUyHOFeaWM8CV8jsF/ErDroykLnpowHwYD
        VR0jBBgwFoAUeTh2T+kojYfhrI2mahLIxnWiKLUwCgYIKoZIzj0EAwIDSAAwRQIg
        SOFRmdNSrBwSaU1IbQ+LGm/G/Dzrqn2zJonyLocVhhgCIQDjE8hoVkxvhoYPGiF2
        TcWOTo6e/XGOGgtoilDNA/kMKw==
        -----END CERTIFICATE-----

        """
    /// Issued by the second intermediate.
    static let leafTooDeep = """
        -----BEGIN CERTIFICATE-----
        MIIBcTCCARigAwIBAgICA/MwCgYIKoZIzj0EAwIwETEPMA0GA1UEAwwGU2Vjb25k
        MCAXDTI2MTEyMTA1MDIyN1oYDzIwNTEwNzEzMDUwMjI3WjAPMQ0wCwYDVQQDDARs
        ZWFmMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEczI6hX99xeytGlz3x4pxBNw1
        1ScKwFbYNt7vqXN5LrC9O7iyBLlQOYtMOWLwPkfAxjKVF+heqMDN6vhJ79jfE6Ng
        MF4wDAYDVR0TAQH/BAIwADAOBgNVHQ8BAf8EBAMCB4AwHQYDVR0OBBYEFE6PI7Fw
        nBGL6NKwMAh1QApQKkulMB8GA1UdIwQYMBaAFMhzhXmljPAlfI7BfxKw66MpC56a
        MAoGCCqGSM49BAMCA0cAMEQCIB5ZfjmMMeZBgcOx2v294F+3bDbwBgf7rLOK+hDu
        hMd4AiBIY4/AcebAxRgTdmmzWLBabIsgBGcXUzA1PvBwBaJHyg==
        -----END CERTIFICATE-----

        """
    /// Issued by the root with SHA-1.
    static let sha1 = """
        -----BEGIN CERTIFICATE-----
        MIIBgDCCASegAwIBAgICA+wwCQYHKoZIzj0EATAhMRAwDgYDVQQKDAdFeGFtcGxl
        MQ0wCwYDVQQDDARSb290MCAXDTI2MTEyMTA1MDIyN1oYDzIwNTEwNzEzMDUwMjI3
        WjAPMQ0wCwYDVQQDDARsZWFmMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf/ZV
        HprgPAEZU8tW+Ex2lw5xQwE9VgCkvbiYeHkOb3JxbKPLrdtmj6ZEKoMHWAq2jaCr
        uhOM5KrxAAq15hh6YKNgMF4wDAYDVR0TAQH/BAIwADAOBgNVHQ8BAf8EBAMCB4Aw
        HQYDVR0OBBYEFM9exCWbQzyyyQx5BId6vqshXB3zMB8GA1UdIwQYMBaAFCymME8n
        QY0GnXQsXGqfX+Lnp7OTMAkGByqGSM49BAEDSAAwRQIhAPgSr1bggnljU+slOPGq
        ddet9ZFSyceSDXO0OU1VpH42AiBUTPxyVkuFv2ncd52QDbNx4urmlVwSoaaIwVvt
        Ez+AFg==
        -----END CERTIFICATE-----

        """
    /// Issued by the root for an RSA key of 1024 bits.
    static let weakKey = """
        -----BEGIN CERTIFICATE-----
        MIIByTCCAW+gAwIBAgICA+8wCgYIKoZIzj0EAwIwITEQMA4GA1UECgwHRXhhbXBs
        ZTENMAsGA1UEAwwEUm9vdDAgFw0yNjExMjEwNTAyMjdaGA8yMDUxMDcxMzA1MDIy
        N1owDzENMAsGA1UEAwwEbGVhZjCBnzANBgkqhkiG9w0BAQEFAAOBjQAwgYkCgYEA
        oa4dbGVwA9WWyN7qvB3t7rfnj04mbBZnco78AAFmMhufKySocwE2FIRiA8ox+SIR
        9Xr11bMAl7RrUSAZsx7VKlqYSuDrT2yrGhvTjDpw6lKF9cRRMKTXrh30p9kfFZu7
        zcosDzeAM0ThK5fAtmp7a5FspsfDliGiR/vDddRX+WcCAwEAAaNgMF4wDAYDVR0T
        AQH/BAIwADAOBgNVHQ8BAf8EBAMCB4AwHQYDVR0OBBYEFJytrdM00HrEOggtlqUP
        Qgtu5jMPMB8GA1UdIwQYMBaAFCymME8nQY0GnXQsXGqfX+Lnp7OTMAoGCCqGSM49
        BAMCA0gAMEUCIB2Y75nIm5tJ6Clgt20ImVk3x0P5kXEHAZQxM/AFiZXeAiEAnYAk
        mQwC9wpJ9uclvuS8uc+JQk3t51g+sP0AdLbHep8=
        -----END CERTIFICATE-----

        """
    /// Issued by the root with an unknown critical extension.
    static let unknownCritical = """
        -----BEGIN CERTIFICATE-----
        MIIBmTCCAT6gAwIBAgICA/cwCgYIKoZIzj0EAwIwITEQMA4GA1UECgwHRXhhbXBs
        ZTENMAsGA1UEAwwEUm9vdDAgFw0yNjExMjEwNTAyMjdaGA8yMDUxMDcxMzA1MDIy
        N1owDzENMAsGA1UEAwwEbGVhZjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABEkm
        L6l3g3kcdXFJ6D/ACdE1M44D1u5aEEWSkUelG4X0tV4MPgQhGpEguMB7shsJEMbo
        3QedG4mRvagb9tt6zoCjdjB0MAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeA
        MBQGBCoDBAUBAf8ECQwHdW5rbm93bjAdBgNVHQ4EFgQUsC3nGI2r1Flto88WHRyN
        hqki1E8wHwYDVR0jBBgwFoAULKYwTydBjQaddCxcap9f4uens5MwCgYIKoZIzj0E
        AwIDSQAwRgIhAPNElLMmcvh0CklVTImYa38IGaIDr5wD66R4EYwv0YlIAiEAuMvD
        8BkPL6v515zIEKWM6ud+k5G+pcbdIEoMqR8de9A=
        -----END CERTIFICATE-----

        """
    /// An intermediate that may only issue for example.org.
    static let constrained = """
        -----BEGIN CERTIFICATE-----
        MIIBrTCCAVOgAwIBAgICA/MwCgYIKoZIzj0EAwIwITEQMA4GA1UECgwHRXhhbXBs
        ZTENMAsGA1UEAwwEUm9vdDAgFw0yNjExMjEwNTAyMjdaGA8yMDUxMDcxMzA1MDIy
        N1owFjEUMBIGA1UEAwwLQ29uc3RyYWluZWQwWTATBgcqhkjOPQIBBggqhkjOPQMB
        BwNCAASPORJGPvVTBnxOfmv13PfFklS2wmkxvDYXIaOoE6wx5o7aUo5/3+LnfIis
        DL+tH/DaMKiG4qMYB+cEwfdsLjIqo4GDMIGAMA8GA1UdEwEB/wQFMAMBAf8wDgYD
        VR0PAQH/BAQDAgIEMB0GA1UdDgQWBBRxsUNtxjX6wAtZh4ZWqipC3IskjjAdBgNV
        HR4BAf8EEzARoA8wDYILZXhhbXBsZS5vcmcwHwYDVR0jBBgwFoAULKYwTydBjQad
        dCxcap9f4uens5MwCgYIKoZIzj0EAwIDSAAwRQIgV/IIMttXgERXhFoldBTZRqRQ
        p+QTaDKQ0SimaFmh6LgCIQDoVDt/VMGKnpA3+bjdGNv7eoofThWSnb8NPppU4/d1
        WA==
        -----END CERTIFICATE-----

        """
    /// Issued by the constrained intermediate for example.com.
    static let outsideConstraint = """
        -----BEGIN CERTIFICATE-----
        MIIBjzCCATWgAwIBAgICA/kwCgYIKoZIzj0EAwIwFjEUMBIGA1UEAwwLQ29uc3Ry
        YWluZWQwIBcNMjYxMTIxMDUwMjI3WhgPMjA1MTA3MTMwNTAyMjdaMA8xDTALBgNV
        BAMMBGxlYWYwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATS7lrAkJdo1AjKo1jp
        Y9lG5Kq59uhcaZSzluV8LVc5Jm+bbIfz4kmk1F7tJHiOWAPAPxKB6SUOKqpAAiR3
        SYA6o3gwdjAMBgNVHRMBAf8EAjAAMA4GA1UdDwEB/wQEAwIHgDAWBgNVHREEDzAN
        ggtleGFtcGxlLmNvbTAdBgNVHQ4EFgQUM3Cw4etTLHgg0Rq/8pnLzF6/2C8wHwYD
        VR0jBBgwFoAUcbFDbcY1+sALWYeGVqoqQtyLJI4wCgYIKoZIzj0EAwIDSAAwRQIh
        AJoKoKmh+SKHhWo8gVBzFSqy9/KynukcoSc9dZ1yq0fnAiBGzhhuR6TCDeAIXsx7
        ed3FW83fdm1pGlggAAz3eWF+FA==
        -----END CERTIFICATE-----

        """
    /// Self-signed, for signatures.
    static let selfSigned = """
        -----BEGIN CERTIFICATE-----
        MIIBYTCCAQegAwIBAgIUKQysU5bolq7Y5kvNjTVTxunSy8swCgYIKoZIzj0EAwIw
        DzENMAsGA1UEAwwEc2VsZjAgFw0yNjExMjEwNTAyMjdaGA8yMDUxMDcxMzA1MDIy
        N1owDzENMAsGA1UEAwwEc2VsZjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBj4
        Cx56jyije0cLkI35Zsia5yKZ+MtP8izdWiL3heGJYuokVCTsVQBqb/pBNg/i69jl
        4o/KvNcRMcZCIlhiWx2jPzA9MAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeA
        MB0GA1UdDgQWBBT39Hyb8WZFfiFPys//3ofG5mPOmDAKBggqhkjOPQQDAgNIADBF
        AiBP9Wx19FeaHzxyJ+SrL0WDhtQbVPPwENxA9jbNuWQ6KAIhALAxy58PViuV1pcX
        ld2IKggTxgMrmCEmKEV9ueu6+6du
        -----END CERTIFICATE-----

        """
    /// Issued by the root for the RSA key of `RSATestNumbers`.
    static let rsa = """
        -----BEGIN CERTIFICATE-----
        MIICSzCCAfKgAwIBAgICA+swCgYIKoZIzj0EAwIwITEQMA4GA1UECgwHRXhhbXBs
        ZTENMAsGA1UEAwwEUm9vdDAgFw0yNjExMjEwNTAyMjdaGA8yMDUxMDcxMzA1MDIy
        N1owDjEMMAoGA1UEAwwDcnNhMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKC
        AQEA8lhw+MIpeJb2TeM7swcpKZu3/DzI5jI1PxpuIvOTdsNWVbdyMsk0LZNLD6T0
        gSet3M2SowYvQeC8lvR9WDzBoZFdLvcMmN3jsJw7sOOqS9gitMfQBfr3XRQ+gdpC
        QGjG8Z7Wvyk4Pm5poRhm19EVVn6QU45le62QzXoUSg13eF2FKVZJDPXJ12TU7px2
        3rnt64HfyPNwgkA6ywhRa63JMxcPWEzY+2J+UnFef+e5smRGh5EHxh62svM5GkYq
        zhpmUuuXioj8lDOrVVSSMkSLizpLYaFYAIuO05RHtquoU4BgeY9HZg7oxENw+eVl
        KlIt2WEQrEOCsVneTMmtWDmybwIDAQABo2AwXjAMBgNVHRMBAf8EAjAAMA4GA1Ud
        DwEB/wQEAwIHgDAdBgNVHQ4EFgQUgrNlS/dBM0bpx1AKfgoVPSJLjDUwHwYDVR0j
        BBgwFoAULKYwTydBjQaddCxcap9f4uens5MwCgYIKoZIzj0EAwIDRwAwRAIgf07O
        KOyRP6pOLmSauQSxAHAqrdLHMTUrxpD4WehKxAMCIHmv+bvepC10ydtSr4ItiXqK
        duQWsEy2wRuxd5MOE8fm
        -----END CERTIFICATE-----

        """
    /// Issued by the root for an X25519 key.
    static let x25519 = """
        -----BEGIN CERTIFICATE-----
        MIIBOTCB4qADAgECAgFNMAoGCCqGSM49BAMCMCExEDAOBgNVBAoMB0V4YW1wbGUx
        DTALBgNVBAMMBFJvb3QwIBcNMjYxMTIxMDUwMjI3WhgPMjA1MTA3MTMwNTAyMjda
        MAwxCjAIBgNVBAMMAXgwKjAFBgMrZW4DIQD8jnaFF30/v3+RQv29skESL+T/DycP
        4sWf6QYpTJvASqNNMEswCQYDVR0TBAIwADAdBgNVHQ4EFgQUly2MgKiR/FL+G+jD
        f/KdOrrvu1AwHwYDVR0jBBgwFoAULKYwTydBjQaddCxcap9f4uens5MwCgYIKoZI
        zj0EAwIDRgAwQwIge+vIKRdwDRcl/OBad9DV9KWFazVdmqnf+nmVs3/C9LACH0mj
        pg6mWNfilEM8nD6EIzJjp2mjYCevAXitCBI/jEs=
        -----END CERTIFICATE-----

        """

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
