/// Certificates for P-256 keys, valid for 100 years from November 2026.
enum TestCertificates {
    /// A root certificate.
    static let root = """
        -----BEGIN CERTIFICATE-----
        MIIBkDCCATWgAwIBAgIUF9tGg/8CnFKgPZlv7FQ9/F2GZHMwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJVGVzdCBSb290MCAXDTI2MTEyMTA1MzM1OFoYDzIxMjYxMDI4
        MDUzMzU4WjAUMRIwEAYDVQQDDAlUZXN0IFJvb3QwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAASjKSIiBwbxN3N4tRX7ja4+xKPi1OS/6krfJbsYkdHO0HUW1HJCL64F
        eVa8lH4B+JwMcVo5VvKdWARS3rnKt/Yto2MwYTAdBgNVHQ4EFgQUSnqjla0Rh2r1
        WKLXipiJTzbnBq4wHwYDVR0jBBgwFoAUSnqjla0Rh2r1WKLXipiJTzbnBq4wDwYD
        VR0TAQH/BAUwAwEB/zAOBgNVHQ8BAf8EBAMCAgQwCgYIKoZIzj0EAwIDSQAwRgIh
        AOe9nC1VZt/QVfrqWK0LCRgPGrZC1B1miLFfQwV5/DfSAiEAnck4FfOVuS+/U+9Q
        ZV+FIpqssgROFti78sdEAPVW1EQ=
        -----END CERTIFICATE-----

        """

    /// A certificate for digital signatures that the root issued.
    static let leaf = """
        -----BEGIN CERTIFICATE-----
        MIIBdjCCARygAwIBAgIBAjAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlUZXN0IFJv
        b3QwIBcNMjYxMTIxMDUzMzU4WhgPMjEyNjEwMjgwNTMzNThaMBExDzANBgNVBAMM
        BlNpZ25lcjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJdOc69tf/AeK7c0Dsj8
        pMHLqimrk8DiBdwtrlIBSqHGwDkBbOiBGDsQ1qpAtFIeKJc5KrVCp4bG02dRJn9A
        9kCjYDBeMAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeAMB0GA1UdDgQWBBQf
        tJKYMv6hrIZ0gVxCcDBEKF1v0zAfBgNVHSMEGDAWgBRKeqOVrRGHavVYoteKmIlP
        NucGrjAKBggqhkjOPQQDAgNIADBFAiEA0/MYerM6Txjq2Uhj+fB1pdTWqtAQXjAA
        EeZXeyByNRQCIED3lByRqMxy8jliix9FuJPS9cXTWQZ8hxyHV2O2qNnT
        -----END CERTIFICATE-----

        """

    /// The private key of the leaf.
    static let leafKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgvICtUg+esFd2nqZu
        c/sZkS/DawkmhQzJVyD48QoXTYqhRANCAASXTnOvbX/wHiu3NA7I/KTBy6opq5PA
        4gXcLa5SAUqhxsA5AWzogRg7ENaqQLRSHiiXOSq1QqeGxtNnUSZ/QPZA
        -----END PRIVATE KEY-----

        """

    /// A root certificate with the same name and another key.
    static let otherRoot = """
        -----BEGIN CERTIFICATE-----
        MIIBgDCCASWgAwIBAgIUV6HKXoOTLfLB5bKkJQJGXHX41uAwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJVGVzdCBSb290MCAXDTI2MTEyMTA1MzM1OFoYDzIxMjYxMDI4
        MDUzMzU4WjAUMRIwEAYDVQQDDAlUZXN0IFJvb3QwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAASbSqJdVDmAmzWf8GZnnu9VWFIn6pTZ5i5bLcs3akfGLnkJ714LIeXI
        kVPurmbiHFgQTeKK5u6+9a+/G+WUJ6uVo1MwUTAdBgNVHQ4EFgQUlrgvrpZ4KX6K
        QHj5dsM+nFDdc14wHwYDVR0jBBgwFoAUlrgvrpZ4KX6KQHj5dsM+nFDdc14wDwYD
        VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEAwjmaK4GAqPnl85h/+Hb2
        x+3ulZpKcGuMXBummkJ0lBcCIQCgVYv9ShSfG3QQMSuzDTFV/URNB7CWvRM9z1Ka
        b8jNow==
        -----END CERTIFICATE-----

        """
}
