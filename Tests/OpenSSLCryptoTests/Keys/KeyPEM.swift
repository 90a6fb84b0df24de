/// Key pairs written by the OpenSSL command-line tool, each in several formats.
///
/// The private keys are public: use them for tests only.
enum KeyPEM {
    /// The key of `RSATestNumbers`.
    static let rsaPKCS8 = """
        MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQDyWHD4wil4lvZN4zuzBykpm7f8PMjmMjU/Gm4i85N2w1ZVt3IyyTQtk0sPpPSB
        J63czZKjBi9B4LyW9H1YPMGhkV0u9wyY3eOwnDuw46pL2CK0x9AF+vddFD6B2kJAaMbxnta/KTg+bmmhGGbX0RVWfpBTjmV7rZDNehRKDXd4XYUp
        VkkM9cnXZNTunHbeue3rgd/I83CCQDrLCFFrrckzFw9YTNj7Yn5ScV5/57myZEaHkQfGHray8zkaRirOGmZS65eKiPyUM6tVVJIyRIuLOkthoVgA
        i47TlEe2q6hTgGB5j0dmDujEQ3D55WUqUi3ZYRCsQ4KxWd5Mya1YObJvAgMBAAECggEAJ8PGSbMGPgC7Sn1yIsaWhPrFnjBVIJx1azTJhJemBzM3
        G9p9dQLZum60Ps1oxzZ9C0F6AaD2qR8YosZcONnDReEFwrqLyRuDjEueacB5hXdh/nrY0dpjs1SqiwEGpO3sUuImx3gaf/f7AhFwcpIep7IduXAg
        i8Ing+e3o40BIPEZtmQUgkWRJkSNKzgFaCO1oGihoNqv3XOaV8vAszeD8T5JJD9xHcs2re8r2DyyOxnRG+VPgdLYDpMRIrVgyU0Ld1LZ+7xsNqX9
        nUUPxAwovfHIqEu6m12baBKAOaxcx030r4QVLPsAjrlxy4TwkNMoBSyfs213aA6CWP6achoSyQKBgQD5G5luRTtJehpaRftP5SSyaE8sxbSnD+iE
        w4BsuEv9SbfaKPjYHJB/+u12SAQvr7ReqJFUqqpuJXl5i/1Lqj7g9Jb3FKWwC1k17UZB4UGcW2R8NKG27pG5RGn9R4BcqBrHDm8oCTk9Wha34K3F
        7PQMa+4F6YdcLbLZNHBEfE33SQKBgQD5DPH07ETsqasZHkZ1o4JDtf6NB7y0X/cJ+PWLec000cM7dP64ja5PBH6jqJw3a3H4CtcBV9ebER71U9QE
        3l8IL8s1yGcFFyl3FB96Jzu9reyT1kBfWdd8vvVWs8O9YDkkNZQ1eiLG58/Xud4rDySF9AjJOJJZx8af+moEDwhD9wKBgQDG2r1URXfaY9p9jbfc
        Q3NT5+isOPbJFe3rbZUrNMOUYjCdum9LNSI0x76f2UVeO8ikd7Pr/oEmhEvAN3vv1uty8E1C1/yb17NTVSHsnUCe7GX+sJUXTsKNPovNYDKbxKX7
        mQ4qy5Ih47SW/Ig7o7f94nqTxaQEdYZ71Vx5jzE94QKBgQClcYQKQCpJTSzsMsB7xXLzqCLBbTJeYKGrbkcvsGoxfGdFSCMuVnBE7ady8L9V0XqU
        XB8YNVJ1IJqAPn/J/C8FMTq9L7PAHfLdt/BxJT76cl+Glf2NWhFcPT6dqi2N0C4lb7JVFB2mJLhdhouf7x9EHSj5Ayu1mJDKFX/30kSbYQKBgAC7
        SK8qGsa62KZMv0WmGcdfYtrnu8waaScgjHRvA+bVXFZt+SZR/YtVb6qBWmahRvyiS8F29QglIRg/OREHL1XaJJJ9tm9d4lSVBnuZ+ur/fUE1Ew+1
        nVCPWc0TeA5N1rVdlK9j2qqyq9mgGYAua/HGJkb0HyJR18IMiDLExtEl
        """.pem("PRIVATE KEY")
    static let rsaPKCS1 = """
        MIIEpAIBAAKCAQEA8lhw+MIpeJb2TeM7swcpKZu3/DzI5jI1PxpuIvOTdsNWVbdyMsk0LZNLD6T0gSet3M2SowYvQeC8lvR9WDzBoZFdLvcMmN3j
        sJw7sOOqS9gitMfQBfr3XRQ+gdpCQGjG8Z7Wvyk4Pm5poRhm19EVVn6QU45le62QzXoUSg13eF2FKVZJDPXJ12TU7px23rnt64HfyPNwgkA6ywhR
        a63JMxcPWEzY+2J+UnFef+e5smRGh5EHxh62svM5GkYqzhpmUuuXioj8lDOrVVSSMkSLizpLYaFYAIuO05RHtquoU4BgeY9HZg7oxENw+eVlKlIt
        2WEQrEOCsVneTMmtWDmybwIDAQABAoIBACfDxkmzBj4Au0p9ciLGloT6xZ4wVSCcdWs0yYSXpgczNxvafXUC2bputD7NaMc2fQtBegGg9qkfGKLG
        XDjZw0XhBcK6i8kbg4xLnmnAeYV3Yf562NHaY7NUqosBBqTt7FLiJsd4Gn/3+wIRcHKSHqeyHblwIIvCJ4Pnt6ONASDxGbZkFIJFkSZEjSs4BWgj
        taBooaDar91zmlfLwLM3g/E+SSQ/cR3LNq3vK9g8sjsZ0RvlT4HS2A6TESK1YMlNC3dS2fu8bDal/Z1FD8QMKL3xyKhLuptdm2gSgDmsXMdN9K+E
        FSz7AI65ccuE8JDTKAUsn7Ntd2gOglj+mnIaEskCgYEA+RuZbkU7SXoaWkX7T+UksmhPLMW0pw/ohMOAbLhL/Um32ij42ByQf/rtdkgEL6+0XqiR
        VKqqbiV5eYv9S6o+4PSW9xSlsAtZNe1GQeFBnFtkfDShtu6RuURp/UeAXKgaxw5vKAk5PVoWt+Ctxez0DGvuBemHXC2y2TRwRHxN90kCgYEA+Qzx
        9OxE7KmrGR5GdaOCQ7X+jQe8tF/3Cfj1i3nNNNHDO3T+uI2uTwR+o6icN2tx+ArXAVfXmxEe9VPUBN5fCC/LNchnBRcpdxQfeic7va3sk9ZAX1nX
        fL71VrPDvWA5JDWUNXoixufP17neKw8khfQIyTiSWcfGn/pqBA8IQ/cCgYEAxtq9VEV32mPafY233ENzU+forDj2yRXt622VKzTDlGIwnbpvSzUi
        NMe+n9lFXjvIpHez6/6BJoRLwDd779brcvBNQtf8m9ezU1Uh7J1Anuxl/rCVF07CjT6LzWAym8Sl+5kOKsuSIeO0lvyIO6O3/eJ6k8WkBHWGe9Vc
        eY8xPeECgYEApXGECkAqSU0s7DLAe8Vy86giwW0yXmChq25HL7BqMXxnRUgjLlZwRO2ncvC/VdF6lFwfGDVSdSCagD5/yfwvBTE6vS+zwB3y3bfw
        cSU++nJfhpX9jVoRXD0+naotjdAuJW+yVRQdpiS4XYaLn+8fRB0o+QMrtZiQyhV/99JEm2ECgYAAu0ivKhrGutimTL9FphnHX2La57vMGmknIIx0
        bwPm1VxWbfkmUf2LVW+qgVpmoUb8okvBdvUIJSEYPzkRBy9V2iSSfbZvXeJUlQZ7mfrq/31BNRMPtZ1Qj1nNE3gOTda1XZSvY9qqsqvZoBmALmvx
        xiZG9B8iUdfCDIgyxMbRJQ==
        """.pem("RSA PRIVATE KEY")
    static let rsaSPKI = """
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA8lhw+MIpeJb2TeM7swcpKZu3/DzI5jI1PxpuIvOTdsNWVbdyMsk0LZNLD6T0gSet3M2S
        owYvQeC8lvR9WDzBoZFdLvcMmN3jsJw7sOOqS9gitMfQBfr3XRQ+gdpCQGjG8Z7Wvyk4Pm5poRhm19EVVn6QU45le62QzXoUSg13eF2FKVZJDPXJ
        12TU7px23rnt64HfyPNwgkA6ywhRa63JMxcPWEzY+2J+UnFef+e5smRGh5EHxh62svM5GkYqzhpmUuuXioj8lDOrVVSSMkSLizpLYaFYAIuO05RH
        tquoU4BgeY9HZg7oxENw+eVlKlIt2WEQrEOCsVneTMmtWDmybwIDAQAB
        """.pem("PUBLIC KEY")
    static let rsaPKCS1Public = """
        MIIBCgKCAQEA8lhw+MIpeJb2TeM7swcpKZu3/DzI5jI1PxpuIvOTdsNWVbdyMsk0LZNLD6T0gSet3M2SowYvQeC8lvR9WDzBoZFdLvcMmN3jsJw7
        sOOqS9gitMfQBfr3XRQ+gdpCQGjG8Z7Wvyk4Pm5poRhm19EVVn6QU45le62QzXoUSg13eF2FKVZJDPXJ12TU7px23rnt64HfyPNwgkA6ywhRa63J
        MxcPWEzY+2J+UnFef+e5smRGh5EHxh62svM5GkYqzhpmUuuXioj8lDOrVVSSMkSLizpLYaFYAIuO05RHtquoU4BgeY9HZg7oxENw+eVlKlIt2WEQ
        rEOCsVneTMmtWDmybwIDAQAB
        """.pem("RSA PUBLIC KEY")
    static let ed25519PKCS8 = """
        MC4CAQAwBQYDK2VwBCIEIO8Q3IL2tvoS6dbgKicEKbczESPcE1RUO9mcCvpmomw3
        """.pem("PRIVATE KEY")
    static let ed25519SPKI = """
        MCowBQYDK2VwAyEAW1zBTh+QqFIYVUrMPjK8HXMTM62tLsD2qZg6ljJf0m8=
        """.pem("PUBLIC KEY")
    static let ed448PKCS8 = """
        MEcCAQAwBQYDK2VxBDsEOcVJdZDFxHqDzEdsnAywLaTlgEUO7E+BjJ14rkjYx6CXJzXmZH5SH8isQwftp2RVaqHABr9oLzD7bA==
        """.pem("PRIVATE KEY")
    static let ed448SPKI = """
        MEMwBQYDK2VxAzoAYFGG7iOt9JaqstKU/sCM/Xo5YNcL6ag8YtKsUlLDcCVgEQ3P7nEUnkAg7Wk8D12NQWCwWm5y5S4A
        """.pem("PUBLIC KEY")
    static let x25519 = """
        MC4CAQAwBQYDK2VuBCIEIHjGV4Jmtg1Mo99lKl4U9c81kKqYtqjkfftHx1NfYp5g
        """.pem("PRIVATE KEY")
    static let x25519Public = """
        MCowBQYDK2VuAyEA/I52hRd9P79/kUL9vbJBEi/k/w8nD+LFn+kGKUybwEo=
        """.pem("PUBLIC KEY")
    static let x448 = """
        MEYCAQAwBQYDK2VvBDoEOPzIkRHa5liJJG5hxywLBtAZ5xQ2swMJ15FLSzW6nkFTjshEjSEASi89SAI7Akxw7r+5ltRvWI3Q
        """.pem("PRIVATE KEY")
    static let x448Public = """
        MEIwBQYDK2VvAzkAR51cElx2k9sl92b5WqbuhNYq2x6SNf2atzGuVsh/03dGcWe0+USZaPAjs343FbBXEXJKihQTiUc=
        """.pem("PUBLIC KEY")
}

/// Keys encrypted by the OpenSSL command-line tool with the password `correct`.
enum EncryptedKeyPEM {
    /// PBES2, PBKDF2 with HMAC-SHA-512, AES-256-CBC.
    static let aes256 = """
        MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhylXGvZKzraQICCAAwDAYIKoZIhvcNAgsFADAdBglghkgBZQMEASoEEHkyspr2FqsV
        urthNJABT7AEQMAXLanqeJf7Dk5TXOlQ2R29wxyEaAF9EKq57oFxM1+kMW36lzFBSwD2Vq6S0cyGeNCabORWrCDbz2ZXoqKocdI=
        """.pem("ENCRYPTED PRIVATE KEY")
    /// PBES2 with Camellia-128-CBC.
    static let camellia = """
        MIGdMFkGCSqGSIb3DQEFDTBMMCkGCSqGSIb3DQEFDDAcBAhUvc5LVdlukQICCAAwDAYIKoZIhvcNAgkFADAfBgsqgwiMmks9AQEBAgQQig2a8E6y
        i3u1xWSXlocg5QRAcJ3BA3cjJqhTNemvFtBauFotIs0u1veg6h0zI32Ti9qdOageQWIFbAGyY0WYEFQ7SP0/j6MuFM0Mh31aJ0meTg==
        """.pem("ENCRYPTED PRIVATE KEY")
    /// PBES2 with scrypt.
    static let scrypt = """
        MIGTME8GCSqGSIb3DQEFDTBCMCEGCSsGAQQB2kcECzAUBAgzaUB7+CbaNQICBAACAQgCAQEwHQYJYIZIAWUDBAEqBBD1cezq1esBZ5jnIbtFtMW5
        BEC6ziVEtZSM6DlAZSbaJaGumYKtE9ilCOWrE2gjclYPaNVxLKBq4EIm87DbiMMP4lhh7i3M5xWp6P/5BEWkpt3u
        """.pem("ENCRYPTED PRIVATE KEY")
    /// PBES1 with three-key triple DES, which the default provider supports.
    static let pbe3DES = """
        MFgwHAYKKoZIhvcNAQwBAzAOBAjYWEOPxC6MZwICCAAEOGL/QHIZ9gZEqp9wjdvRxWqX6bmgLVUdiCZyfBVcIkYQMGI5NTqPRLukKITYaJieInac
        bLNEm2Xn
        """.pem("ENCRYPTED PRIVATE KEY")
    /// PBES1 with DES, which only the legacy provider supports.
    static let pbeDES = """
        MFcwGwYJKoZIhvcNAQUDMA4ECB1XIAA/HQCvAgIIAAQ4JdJPcSi4g1h7PGB1BsOLMNuA8RMFJsR6WiPCer2PYVUg3IQijB3N1pfsIMrMxo8ixnPL
        O+xfL1U=
        """.pem("ENCRYPTED PRIVATE KEY")
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

/// Unsupported kinds of keys, written by the OpenSSL command-line tool.
enum UnsupportedKeyPEM {
    /// id-RSASSA-PSS.
    static let rsaPSS = """
        MIIEugIBADALBgkqhkiG9w0BAQoEggSmMIIEogIBAAKCAQEAxHt+1xe9G+HZeSE6BB8I7LtDgNuHHcRm8kMvZdZUl1sNzK+5B5i2zz592DZjIDxF
        laDOSNxpM3JFllTFqhrDAHgxIFr3mznpO9hZLA0e/qwRLSio09ru1A1Py4FxqXd7PNwchiiWeXCwgmFvjsjGo2R+e+IYR3+SNLzyca36hd5qb52U
        R6LZluIuoLaTty0NFlOiWRr/0cmcPPeNeDvWuideW1Vcirs67shP8ujm6mr9LbhiCQJK7eWBmJood971hujFuxfwR4uKYt+OWUVaBue032Zs8tGr
        UaMpDjPxCDvCu9cHbYgFvr5XMZw5Pbcl+EyxYKHM1YzxBkTXrsK1vQIDAQABAoIBADyuiWuDxN+GHqTG6sSYEykN4ti6tB2w6Tx8HHjeu4xtTjM/
        uC0M8LTL75DlpzKu+qyuF9ev3vvJGI3Hy65wCnasKDv+bEdwGMTnWg79VGvCF6HzU0Tu8mDiZZkL9t8obBLNRi/2/BYwhAsYbZxTDOosoNXA68+1
        KiIIkvYiDePm1TNBt3CjnEpBIsyTyQ+jYbhRPamTx7LBf7FuI4Ic3k/R8XwxDwSjiPq+BA9nUk4/ikgMBNtPTbouXMW38nSNIJdNYwiSumDWqYPl
        Dux+/VW9FFLtbSxbS0mKWxZ0APGm8cx2L+gSn/92ps1dZYVjA8FdtTV0v0RKnRrhhKy85r8CgYEA5iFUKvjH3cvJdORcr/VVxa6Oa5brTCbByR+v
        G9aSlnSWS2FGwRTuHg5gePihjpNE8aqtz0T726ess7e0d9PAIuimXeVYvIFifczPg8Eu/xrPy7M6KtRC4JkSvuhD2o5PQUNU90T0QW7ViuY107Yp
        R6/R8T64NJzCQydfvDTbp2MCgYEA2pHaWpmvpXq59D4F0tdxvKr8+PNUnHvohZCLpjmB1bXyS3ROC+kERNJNosMD4OSHZUKloa4FpmgfnDPr8TPO
        USYV5/CWuSU6U/uf21JkYdtSx5x6ESMCoD0cxe+9iq7rhROabLZt76FPNgsiKZ59nskqhh1L6qkRl0tS7A5RiF8CgYBgUNCuT4MvFAyT7MPSLSch
        3mXjJ74BGDOA3s7mIs8lQ1Rn5iW7x+vFDpVX7A+J4Z84Wgv2tNOIYkwIx7kzcZ93vNFseQHDm49CQYcUiLUHtgwEIFYW+NGouMg8uG81uNv435pf
        BzAHdsDPKnyayCHMzAxdILft5TH08zTBS4onKwKBgAbETztQ2MRJyWoLZYjCjM3niU930R3LJEbGU9yAmUlxiZ/WaPgrbatny2mHmh4jVSHIb3JS
        /e/J93iRjvN3xCJ1CGaW50OyKF0jRC65HUx+StDNQmY3bERjv/lM09RwV/BVzAkjmMG7f8VPkO4y7va0ibF/RLNuKpJBjb6rLtEHAoGAbwhZfsry
        IcxUIzKZ0M4TrQCM6p6C2+6CPqAC7ZIUBPTz02KY2lVi7Zf2qGl1vXlR20cRVf0uNFsDCbvPygYAcvFtaEYZTVCZUzMG2UpI9uXDYZXHj2lgUyjz
        1VNJJKFHw/F795In47gUcAZxs4ZdHoWobVzEEx6sINaIqVRoQHA=
        """.pem("PRIVATE KEY")
    /// id-RSASSA-PSS.
    static let rsaPSSPublic = """
        MIIBIDALBgkqhkiG9w0BAQoDggEPADCCAQoCggEBAMR7ftcXvRvh2XkhOgQfCOy7Q4Dbhx3EZvJDL2XWVJdbDcyvuQeYts8+fdg2YyA8RZWgzkjc
        aTNyRZZUxaoawwB4MSBa95s56TvYWSwNHv6sES0oqNPa7tQNT8uBcal3ezzcHIYolnlwsIJhb47IxqNkfnviGEd/kjS88nGt+oXeam+dlEei2Zbi
        LqC2k7ctDRZTolka/9HJnDz3jXg71ronXltVXIq7Ou7IT/Lo5upq/S24YgkCSu3lgZiaKHfe9YboxbsX8EeLimLfjllFWgbntN9mbPLRq1GjKQ4z
        8Qg7wrvXB22IBb6+VzGcOT23JfhMsWChzNWM8QZE167Ctb0CAwEAAQ==
        """.pem("PUBLIC KEY")
    /// RSA with three primes, PKCS#8.
    static let multiPrime = """
        MIIE9AIBADANBgkqhkiG9w0BAQEFAASCBN4wggTaAgEBAoIBAQCocl3vCtHZDTCq+HI3ZnygVwlsrA2h5N5TDjWhBVWytsUyXM8+lj3luoodnBvL
        IAcUCDjKclzBmGZyyx8JX9q51sNk4wzA/sBlfy+SVNZ9LxqbDbEJyFZEle1Z9xoc9f4auIM4FqJxAD/6u8FSsp5hSjVPDJBfJAmYxVa9gO2wzWxZ
        0E5PUUoLNEREFgCGzxqkhM2BBODeCzw7LKWduzO/Sent8ojBDyEgr+M901TpTKkbb1xRi2YxVhMpXFaLVt21NmnyTn04HenMPM0xfMT8c6N6lm/6
        1tCKUpnY7K3PzzRKyuv8ptWV9rk7WLogdc+FR+8XsIssXQiNkyXXi+vjAgMBAAECggEBAJ81kZEZQeSL8f722kWAqbSG71J2gGAPSQ9pc8jgmPJU
        i6ghToSSTqiumlKINUDU4bvOVZcLZp5YpCRF1ezvW3WhBod5jplvb3u/LcB6TUx+0//PfhAtzzfF3BRxv8rL+R7CaKLfaVX3BbgeczaeXjdh0Ra6
        vjcj7tu2QIqW0sr2yKvJahXDlZShntIPsTgwLKm/KaK/iA0/oRnA+HogZ0UyqD4A2oh02ldMcdVBp6VJY2f5R5Wx1JogVxf00PUGj9oD2eTXWRfB
        894cO92S/+nMLjDYO4y6FKVk3PvlEWYucX3NM3zmALs6oAF2xfiu0fXX8+SEP5eTXg/UCYoKaYECVgdxYHX6qQPTaESjru9vkGleTb6FnELHsYjC
        mVt/GbwX1V4oJvKdpl+HrE++d4WWoda3wPV7qB4LDX5kj5Mc8jNiAbPJU+9Xz3MjR1uyhb8ROr8BAYfZAlYGAthwl5wKSKdIJ/L1unuNfO6RlRCW
        GqlpzzDhE4UTwOJRtJ1OyKw7lYQjll8MsB/gbC8h16RrJBlboNMQG9iRZmVuPggCIzbUdbzUF1KANotl1thPuQJWAotFXm5EUTN0w2lzhRIMOYfr
        aQEAbW8WhtmFU9n48OrwmpN85JbwZFzakBNZhUb8oIkEoqQWzdYXUamLzcwqGVgZnttlHj1UglV/sZ8uyiVYgCsW29kCVgGNOHuP1xqceHnavg+K
        LJxwNFDmDpsAlNyYPADNfhuEPadjnPuaN0NGLA7XoP9wczoGEwCEXo+9iMIrOHA/D98wdFxJrN2IY33iSnTg9E3eRotqMvoZAlYF1ZHBaDFkQ+th
        txzPy47dwi2e0kp9NAX4y84vUMHkrzUQBUoLAIzWaD7geh6e8hI0VXIUSQSgo5GUVsUj44z8/+rvLyRGo0k2fpFvq7RD3fFh7q2nrTCCAQwwggEI
        AlYDw9gAbRVq14IW22dovfSe5vi7FB5ZY4kSBhEoPNeTZrJsa2QEkiTWkUtiFoiZmkrBpAbHt07Udsdd/vgRuKwvtWCE3uqWX4EuiV+ZNcA6Olh/
        Z5zIcwJWA0vSL41Q0tkZ6yjqv6iOIQ/VcvOKHngl6MGnA7NAiKvASWs7hUTtO2y4sodH0DJkgGM6DF9PhHL42DIAvIMRPDNu7OS8PCogzr02FMwa
        HuA12lS7zkECVgKAivvTsKI9DsXz+obaBSb81rQBbaZ5KsGGcBOc/X3aR+kW/y5qLbTPKQfuZHce2Tv0M+VPflK2xn/1SDBrisoBvSFrXFDUnCjF
        zghBeHE5/NulSWZI
        """.pem("PRIVATE KEY")
    /// RSA with three primes, PKCS#1.
    static let multiPrimePKCS1 = """
        MIIE2gIBAQKCAQEAqHJd7wrR2Q0wqvhyN2Z8oFcJbKwNoeTeUw41oQVVsrbFMlzPPpY95bqKHZwbyyAHFAg4ynJcwZhmcssfCV/audbDZOMMwP7A
        ZX8vklTWfS8amw2xCchWRJXtWfcaHPX+GriDOBaicQA/+rvBUrKeYUo1TwyQXyQJmMVWvYDtsM1sWdBOT1FKCzRERBYAhs8apITNgQTg3gs8Oyyl
        nbszv0np7fKIwQ8hIK/jPdNU6UypG29cUYtmMVYTKVxWi1bdtTZp8k59OB3pzDzNMXzE/HOjepZv+tbQilKZ2Oytz880Ssrr/KbVlfa5O1i6IHXP
        hUfvF7CLLF0IjZMl14vr4wIDAQABAoIBAQCfNZGRGUHki/H+9tpFgKm0hu9SdoBgD0kPaXPI4JjyVIuoIU6Ekk6orppSiDVA1OG7zlWXC2aeWKQk
        RdXs71t1oQaHeY6Zb297vy3Aek1MftP/z34QLc83xdwUcb/Ky/kewmii32lV9wW4HnM2nl43YdEWur43I+7btkCKltLK9siryWoVw5WUoZ7SD7E4
        MCypvymiv4gNP6EZwPh6IGdFMqg+ANqIdNpXTHHVQaelSWNn+UeVsdSaIFcX9ND1Bo/aA9nk11kXwfPeHDvdkv/pzC4w2DuMuhSlZNz75RFmLnF9
        zTN85gC7OqABdsX4rtH11/PkhD+Xk14P1AmKCmmBAlYHcWB1+qkD02hEo67vb5BpXk2+hZxCx7GIwplbfxm8F9VeKCbynaZfh6xPvneFlqHWt8D1
        e6geCw1+ZI+THPIzYgGzyVPvV89zI0dbsoW/ETq/AQGH2QJWBgLYcJecCkinSCfy9bp7jXzukZUQlhqpac8w4ROFE8DiUbSdTsisO5WEI5ZfDLAf
        4GwvIdekayQZW6DTEBvYkWZlbj4IAiM21HW81BdSgDaLZdbYT7kCVgKLRV5uRFEzdMNpc4USDDmH62kBAG1vFobZhVPZ+PDq8JqTfOSW8GRc2pAT
        WYVG/KCJBKKkFs3WF1Gpi83MKhlYGZ7bZR49VIJVf7GfLsolWIArFtvZAlYBjTh7j9canHh52r4PiiyccDRQ5g6bAJTcmDwAzX4bhD2nY5z7mjdD
        RiwO16D/cHM6BhMAhF6PvYjCKzhwPw/fMHRcSazdiGN94kp04PRN3kaLajL6GQJWBdWRwWgxZEPrYbccz8uO3cItntJKfTQF+MvOL1DB5K81EAVK
        CwCM1mg+4HoenvISNFVyFEkEoKORlFbFI+OM/P/q7y8kRqNJNn6Rb6u0Q93xYe6tp60wggEMMIIBCAJWA8PYAG0VateCFttnaL30nub4uxQeWWOJ
        EgYRKDzXk2aybGtkBJIk1pFLYhaImZpKwaQGx7dO1HbHXf74EbisL7VghN7qll+BLolfmTXAOjpYf2ecyHMCVgNL0i+NUNLZGeso6r+ojiEP1XLz
        ih54JejBpwOzQIirwElrO4VE7TtsuLKHR9AyZIBjOgxfT4Ry+NgyALyDETwzbuzkvDwqIM69NhTMGh7gNdpUu85BAlYCgIr707CiPQ7F8/qG2gUm
        /Na0AW2meSrBhnATnP192kfpFv8uai20zykH7mR3Htk79DPlT35StsZ/9Ugwa4rKAb0ha1xQ1Jwoxc4IQXhxOfzbpUlmSA==
        """.pem("RSA PRIVATE KEY")
    /// RSA with 1024 bits.
    static let rsa1024 = """
        MIICdQIBADANBgkqhkiG9w0BAQEFAASCAl8wggJbAgEAAoGBAKGuHWxlcAPVlsje6rwd7e63549OJmwWZ3KO/AABZjIbnyskqHMBNhSEYgPKMfki
        EfV69dWzAJe0a1EgGbMe1SpamErg609sqxob04w6cOpShfXEUTCk164d9KfZHxWbu83KLA83gDNE4SuXwLZqe2uRbKbHw5Yhokf7w3XUV/lnAgMB
        AAECf0YaOKfHU8pV0gtGnID0eTYIh16bhA1ZqYECfkGCWc1gLKOIQYGcBNbgj58VDJX5L9BAgFcoRhmBIQcL5BjGRaZm6049UBRUK0fW2/qqngsS
        gfp8YVlbdjVUvBXwDdE34ECfHGJUWrOg/Ud4yx28Xx3sg9+CNA7ctP9WOpzweckCQQDXYTb5U3zJ5Y3Uf5U9Hvv2wPmqVbG2nkRghk25/vjMNMqI
        xfpjrZ/wN/I1jsWcTr0juGoCEPo1LGUUnCb4rvY9AkEAwCw4cIuORfJEw4u8Honzr9UDCQLLpNvbOhpdLvKNMRmH37ItLl8wMsdrDwAm76Ty77S0
        pTuuORxDqqriEs6McwJBAIu4eiRGf9at/1NSLOuItSX/TDeu/emdRHhlx/iYKqi2uoj9/hA56163vH34D8P15IdOtB6BCwABu9Uh87oyLnUCQGLk
        HqMj3bH26xXpyYO5n9JC/o3bh2otzVHIEV3AaZHzvm0J5qAvUcE/x8LvZBn8OxvJVRCWdqBjABtKVo4xBisCQQCICOY2TtBCj0LtNr4sruuKzsX3
        v160X6hIhcI9YFjKbUZiiUaUGCa3Wv4r8QvoqGZPlBst6zigfMvDLJtp6dtY
        """.pem("PRIVATE KEY")
    /// RSA with 1024 bits.
    static let rsa1024Public = """
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQChrh1sZXAD1ZbI3uq8He3ut+ePTiZsFmdyjvwAAWYyG58rJKhzATYUhGIDyjH5IhH1evXVswCX
        tGtRIBmzHtUqWphK4OtPbKsaG9OMOnDqUoX1xFEwpNeuHfSn2R8Vm7vNyiwPN4AzROErl8C2antrkWymx8OWIaJH+8N11Ff5ZwIDAQAB
        """.pem("PUBLIC KEY")
    /// DSA, PKCS#8.
    static let dsa = """
        MIICXQIBADCCAjUGByqGSM44BAEwggIoAoIBAQCcev3VYiqQ3uRmpIrujtbLOusy4g9f9KL/T2mcLj4O6VdHJv8hRBU+CNQe3WRtwzZuGCj61j9S
        LCTPIvaCF2ijg2PTlkTDFn6N8LW7Qc1CuHMCeTt5u3C7sPyNAqIwGnYOfvOLK3vvi1MuXuwm5pDRQEOcsb+B5iHdM/SVcN+EpCdGGKsZqvitbuXP
        rC1qhiZbkTdMcHCL0oQYBi9c3FJcMTeGB7fURtihXmjm2cgDmPzQi6veTBDP+WFIpJVuGsmfn6IjAkMgjnw8HZk5RlgEeCj5FGBhGnZJ7TAaE71X
        dBfTI50loVFRGCBeLWt9UBkW7cTfdQe4wvBGVt+9mSUXAh0AxXEYIh0m0nL0bbnJeI/lKWAxByndEQKCEPa1qQKCAQA22kqPKomfyQcixzlp8cDV
        StrPv2FQLghz9yez74Ir63ot+qq6sWta/KhSP9Ulh2MTP48r1U7UiiD6r5y+ithuyBYpxCXZ20OxqHF1MNFiT56eyXMDKRyuO/zhQd+8QB71UpTR
        tcPnGZ6UK+mYgZkWb/Wmjxc2YBiCCFnVUkQ2A+d/C4f/a/323ggBTLQz4k5kRL/BialCYZICoDIQVk1px8eum8jbYFY70EkU4EZvHL3P+Jy7K48r
        d3t3otTXIuMFBfFoOsdfAxvG7UujN9dVSqPbePejFzcC8ii0Yr2eNeBEaHNM9+bIN0R1FDNhDuhsWAJUNEhT+y09LTNeOnZXBB8CHQCaeBlZdSvG
        z4YawIeJoHitGgNd8KlURSsZIsCm
        """.pem("PRIVATE KEY")
    /// DSA.
    static let dsaPublic = """
        MIIDQjCCAjUGByqGSM44BAEwggIoAoIBAQCcev3VYiqQ3uRmpIrujtbLOusy4g9f9KL/T2mcLj4O6VdHJv8hRBU+CNQe3WRtwzZuGCj61j9SLCTP
        IvaCF2ijg2PTlkTDFn6N8LW7Qc1CuHMCeTt5u3C7sPyNAqIwGnYOfvOLK3vvi1MuXuwm5pDRQEOcsb+B5iHdM/SVcN+EpCdGGKsZqvitbuXPrC1q
        hiZbkTdMcHCL0oQYBi9c3FJcMTeGB7fURtihXmjm2cgDmPzQi6veTBDP+WFIpJVuGsmfn6IjAkMgjnw8HZk5RlgEeCj5FGBhGnZJ7TAaE71XdBfT
        I50loVFRGCBeLWt9UBkW7cTfdQe4wvBGVt+9mSUXAh0AxXEYIh0m0nL0bbnJeI/lKWAxByndEQKCEPa1qQKCAQA22kqPKomfyQcixzlp8cDVStrP
        v2FQLghz9yez74Ir63ot+qq6sWta/KhSP9Ulh2MTP48r1U7UiiD6r5y+ithuyBYpxCXZ20OxqHF1MNFiT56eyXMDKRyuO/zhQd+8QB71UpTRtcPn
        GZ6UK+mYgZkWb/Wmjxc2YBiCCFnVUkQ2A+d/C4f/a/323ggBTLQz4k5kRL/BialCYZICoDIQVk1px8eum8jbYFY70EkU4EZvHL3P+Jy7K48rd3t3
        otTXIuMFBfFoOsdfAxvG7UujN9dVSqPbePejFzcC8ii0Yr2eNeBEaHNM9+bIN0R1FDNhDuhsWAJUNEhT+y09LTNeOnZXA4IBBQACggEACEHAXDch
        +FeLU7U8YUe9c1ldr3vyuXG5Hm+RByR4a43MY+DQjktFYrjj0Zcl2/oEZGWchTpj6hu6/8IsTU9EAL6+no/L0pJd9IeyZcUuuJ9nzCNdA6ZX0JcN
        0UTfPvOzTC5DCAPlT5WQDTm08U7STCKOQbdqvyDPm1rkvMchCD4G1fVkPCaAO4e0XNgt8KRQFZT66K6m2zjc+kLTNvznmtTtudJuXmTijRzVLLVF
        xQfkBZGm2vVCVuzwLBzaa80tjk7e+R/plRDUgAqo4C95nbk5xjAHOh2F2/VXjROUiI60Me4ju8+SLZuUay/cmIPIDCZO2EBkC7UVB4oFwBts7A==
        """.pem("PUBLIC KEY")
    /// DSA in its legacy format.
    static let dsaTraditional = """
        MIIDTgIBAAKCAQEAnHr91WIqkN7kZqSK7o7WyzrrMuIPX/Si/09pnC4+DulXRyb/IUQVPgjUHt1kbcM2bhgo+tY/UiwkzyL2ghdoo4Nj05ZEwxZ+
        jfC1u0HNQrhzAnk7ebtwu7D8jQKiMBp2Dn7ziyt774tTLl7sJuaQ0UBDnLG/geYh3TP0lXDfhKQnRhirGar4rW7lz6wtaoYmW5E3THBwi9KEGAYv
        XNxSXDE3hge31EbYoV5o5tnIA5j80Iur3kwQz/lhSKSVbhrJn5+iIwJDII58PB2ZOUZYBHgo+RRgYRp2Se0wGhO9V3QX0yOdJaFRURggXi1rfVAZ
        Fu3E33UHuMLwRlbfvZklFwIdAMVxGCIdJtJy9G25yXiP5SlgMQcp3RECghD2takCggEANtpKjyqJn8kHIsc5afHA1Uraz79hUC4Ic/cns++CK+t6
        LfqqurFrWvyoUj/VJYdjEz+PK9VO1Iog+q+cvorYbsgWKcQl2dtDsahxdTDRYk+enslzAykcrjv84UHfvEAe9VKU0bXD5xmelCvpmIGZFm/1po8X
        NmAYgghZ1VJENgPnfwuH/2v99t4IAUy0M+JOZES/wYmpQmGSAqAyEFZNacfHrpvI22BWO9BJFOBGbxy9z/icuyuPK3d7d6LU1yLjBQXxaDrHXwMb
        xu1LozfXVUqj23j3oxc3AvIotGK9njXgRGhzTPfmyDdEdRQzYQ7obFgCVDRIU/stPS0zXjp2VwKCAQAIQcBcNyH4V4tTtTxhR71zWV2ve/K5cbke
        b5EHJHhrjcxj4NCOS0ViuOPRlyXb+gRkZZyFOmPqG7r/wixNT0QAvr6ej8vSkl30h7JlxS64n2fMI10DplfQlw3RRN8+87NMLkMIA+VPlZANObTx
        TtJMIo5Bt2q/IM+bWuS8xyEIPgbV9WQ8JoA7h7Rc2C3wpFAVlProrqbbONz6QtM2/Oea1O250m5eZOKNHNUstUXFB+QFkaba9UJW7PAsHNprzS2O
        Tt75H+mVENSACqjgL3mduTnGMAc6HYXb9VeNE5SIjrQx7iO7z5Itm5RrL9yYg8gMJk7YQGQLtRUHigXAG2zsAh0AmngZWXUrxs+GGsCHiaB4rRoD
        XfCpVEUrGSLApg==
        """.pem("DSA PRIVATE KEY")
    /// Diffie-Hellman.
    static let dh = """
        MIIBPgIBADCCARcGCSqGSIb3DQEDATCCAQgCggEBAP//////////rfhUWKK7Spqv3FYgJz088di5xYPOLTaVqeE2QRRkM/vMk53OJJs++X0v42Nj
        DHXY9oGyAq7EYXrT3x7V1f1lYSQz9R9fBm7QhWNlVT3tGvO1VxNef1fJNZhPDHDg5ot34qaJ2vPv6HId8VihNq3nNTCsyk9IOnl6vAqxgrMk+2HR
        CKlLssjj+7lq2rdg1/RoHU9Co945TfSuVu3nY3K7GQsHp8juCm1wngL84c334uzANATNKDQvYZFy/pzphYP/jk8SMu7ygYPD/jsbTG+tczu1/Lwu
        wiAFxY7xg30Wg7LG80omwbLv+ohrQjhhKFyX//////////8CAQIEHgIcOXLYtA5RP4CBB2e0u6z3v4O3Jv83vftuzv8DdQ==
        """.pem("PRIVATE KEY")
    /// OpenSSH's format, truncated.
    static let openSSH = """
        b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz
        """.pem("OPENSSH PRIVATE KEY")
}
