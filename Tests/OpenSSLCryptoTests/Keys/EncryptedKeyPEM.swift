/// Keys encrypted by the OpenSSL command-line tool with the password `correct`.
enum EncryptedKeyPEM {
    /// PBES2, PBKDF2 with HMAC-SHA-512, AES-256-CBC.
    static let aes256 = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhylXGvZKzraQICCAAw
        DAYIKoZIhvcNAgsFADAdBglghkgBZQMEASoEEHkyspr2FqsVurthNJABT7AEQMAX
        LanqeJf7Dk5TXOlQ2R29wxyEaAF9EKq57oFxM1+kMW36lzFBSwD2Vq6S0cyGeNCa
        bORWrCDbz2ZXoqKocdI=
        -----END ENCRYPTED PRIVATE KEY-----

        """
    /// PBES2 with Camellia-128-CBC.
    static let camellia = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIGdMFkGCSqGSIb3DQEFDTBMMCkGCSqGSIb3DQEFDDAcBAhUvc5LVdlukQICCAAw
        DAYIKoZIhvcNAgkFADAfBgsqgwiMmks9AQEBAgQQig2a8E6yi3u1xWSXlocg5QRA
        cJ3BA3cjJqhTNemvFtBauFotIs0u1veg6h0zI32Ti9qdOageQWIFbAGyY0WYEFQ7
        SP0/j6MuFM0Mh31aJ0meTg==
        -----END ENCRYPTED PRIVATE KEY-----

        """
    /// PBES2 with scrypt.
    static let scrypt = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIGTME8GCSqGSIb3DQEFDTBCMCEGCSsGAQQB2kcECzAUBAgzaUB7+CbaNQICBAAC
        AQgCAQEwHQYJYIZIAWUDBAEqBBD1cezq1esBZ5jnIbtFtMW5BEC6ziVEtZSM6DlA
        ZSbaJaGumYKtE9ilCOWrE2gjclYPaNVxLKBq4EIm87DbiMMP4lhh7i3M5xWp6P/5
        BEWkpt3u
        -----END ENCRYPTED PRIVATE KEY-----

        """
    /// PBES1 with three-key triple DES, which the default provider supports.
    static let pbe3DES = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MFgwHAYKKoZIhvcNAQwBAzAOBAjYWEOPxC6MZwICCAAEOGL/QHIZ9gZEqp9wjdvR
        xWqX6bmgLVUdiCZyfBVcIkYQMGI5NTqPRLukKITYaJieInacbLNEm2Xn
        -----END ENCRYPTED PRIVATE KEY-----

        """
    /// PBES1 with DES, which only the legacy provider supports.
    static let pbeDES = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MFcwGwYJKoZIhvcNAQUDMA4ECB1XIAA/HQCvAgIIAAQ4JdJPcSi4g1h7PGB1BsOL
        MNuA8RMFJsR6WiPCer2PYVUg3IQijB3N1pfsIMrMxo8ixnPLO+xfL1U=
        -----END ENCRYPTED PRIVATE KEY-----

        """
    /// PKCS#1 with OpenSSL's legacy encryption.
    static let rsaLegacy = """
        -----BEGIN RSA PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-128-CBC,27E0CD7C4797D195D3B2CAF42F58447C

        8eWQsyj7/pc92mFnsak+sYwTjW6CYgUPDZbVOxjchp2vyALR16dXrHOlpV4GvvAG
        DHYQekfI4IjKzYxGnzmqjir38aDvTsyrZnUP7dwp9NKKDIMomjYARPSdJrLSNeuV
        lEVH2wef+qd/PW4n9ocfJCQR16xC3grIiYS+Peb5PYquEqAlYoUHDsyFh6SqSde8
        kUk/2WSEwBVHxuqQWUX8j72YZnlpIErIeGfqToyczPndoufi+LsNZ6zy6+G0q3+q
        4nEMHF2bUaNeUB/2fTHZLSEpFD73DLsYme0ucbDCv40NQzdDHEU/XmU6pRhm5XFB
        H7aheAj97V7M2SUSEx/8RMJGU5Bx8lXgY2GvSDSVUYF0d9Zg5zGkBUi744sg1qlt
        aauFG2KQWUZSyJ24h/EWrNFm+5gH27ehA4cP+4XjESFF1udlw9tIZW2LjCo7TgwY
        7ysI02I25WPxWlQ8a3DnQfCud10R3yAKILXaiO8cefkPP+IJb6SzAD88dPjTv/5P
        bO+LFfbljWOl09Fo8dUmMH0m8FZ2evn3WqFS2mwG6S58tw7fFzyVSbqGb3jXYpbQ
        6qq3XikHKhda3+RzT1NIKzfEuDyCu88Q9z9LWZKdC0oJp7A3y3X8uMjGHBBIzdpf
        KrDBhU4iqEFQDV2EIUx00asefWUx7o1DgQK1zQrWfjMXZsVhyOygAAkd6qGRTkPG
        xR4W8YLDebYjIYRfjEJh2i/QLpNrKqj4rb3LjOn8wrjuuHeaPGWZjecyHnVE3lkl
        8UwaVP+L4KvT6NbEm658dTFKu8iaber1aGjKkYPu+yupXcm8J80IAUeaFV63ITAm
        n4MWB0gAogwoHbogsud49Ra406jliPXeWm/ZliTNQyN1aKo6zG4/he3a0OwPiBYI
        yk0sD0msm0hu4zilK3YNwgZsvdPkPA1r8HuOOod6oiqZ0OjUJYEmXxaAqGU1lM0o
        FO5KsmwP2rVxjewbv7/daPDwzU2/7nxPzSWsj8NVbLjsSKtUdXrYuGfSETYeGVGa
        fZV2jsVPgNTetLo7cRh/f1b19BHQd8IdtP1WGwR5kiAVFosrCDJnQgstF/Wbrn00
        es98UNz1Sc/qjSakD1uXBZtmy+il/IBjfjxH32LbA272U48QLrTKpOSUfRmm9CAw
        2m0mYEfXlphJCg5nzNBeHUK6PEcu3Gc4BMpd3V+EQ4Oi9yWIboVT+CIIF2YFstBM
        i/wQ4XoC7DXe/TwBK650GV3Z9FPdLPj951gUTS19Tx+fhRkx92bUhx+BfJwgVT3l
        tKFauexmMCsCvZoIi7YwyMVFIEbDxaeyATuqBD1Baa+vOcjUSbMcBdX+ivGSvqv5
        ZmlWdvboMeuP+Ni8XkpK3bJuUeojteY4sdvLP0WeG1fTWnj3155pv+DLVzGmf7Zt
        +j5wHj6FEjUXMLKB9o12Z46qkg8qdofX3MTIHhik6rTvO1OvFmJuDUaYQKLdGjRT
        O9MBc4pJVKx172tUCW3gzZNwRUTyqmfOMKMfO6zT+M7tmqI0hKsoo94h3TQz/dna
        g40OZzXji66zqLNKDJNNMgNNoRF6E3B5mht/qjzEcpsIjoPSJjKLY0DDych27HKP
        -----END RSA PRIVATE KEY-----

        """
}
