/// Key pairs written by the OpenSSL command-line tool, each in several formats.
///
/// The private keys are public: use them for tests only.
enum KeyPEM {
    /// The key of `RSATestNumbers`.
    static let rsaPKCS8 = """
        -----BEGIN PRIVATE KEY-----
        MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQDyWHD4wil4lvZN
        4zuzBykpm7f8PMjmMjU/Gm4i85N2w1ZVt3IyyTQtk0sPpPSBJ63czZKjBi9B4LyW
        9H1YPMGhkV0u9wyY3eOwnDuw46pL2CK0x9AF+vddFD6B2kJAaMbxnta/KTg+bmmh
        GGbX0RVWfpBTjmV7rZDNehRKDXd4XYUpVkkM9cnXZNTunHbeue3rgd/I83CCQDrL
        CFFrrckzFw9YTNj7Yn5ScV5/57myZEaHkQfGHray8zkaRirOGmZS65eKiPyUM6tV
        VJIyRIuLOkthoVgAi47TlEe2q6hTgGB5j0dmDujEQ3D55WUqUi3ZYRCsQ4KxWd5M
        ya1YObJvAgMBAAECggEAJ8PGSbMGPgC7Sn1yIsaWhPrFnjBVIJx1azTJhJemBzM3
        G9p9dQLZum60Ps1oxzZ9C0F6AaD2qR8YosZcONnDReEFwrqLyRuDjEueacB5hXdh
        /nrY0dpjs1SqiwEGpO3sUuImx3gaf/f7AhFwcpIep7IduXAgi8Ing+e3o40BIPEZ
        tmQUgkWRJkSNKzgFaCO1oGihoNqv3XOaV8vAszeD8T5JJD9xHcs2re8r2DyyOxnR
        G+VPgdLYDpMRIrVgyU0Ld1LZ+7xsNqX9nUUPxAwovfHIqEu6m12baBKAOaxcx030
        r4QVLPsAjrlxy4TwkNMoBSyfs213aA6CWP6achoSyQKBgQD5G5luRTtJehpaRftP
        5SSyaE8sxbSnD+iEw4BsuEv9SbfaKPjYHJB/+u12SAQvr7ReqJFUqqpuJXl5i/1L
        qj7g9Jb3FKWwC1k17UZB4UGcW2R8NKG27pG5RGn9R4BcqBrHDm8oCTk9Wha34K3F
        7PQMa+4F6YdcLbLZNHBEfE33SQKBgQD5DPH07ETsqasZHkZ1o4JDtf6NB7y0X/cJ
        +PWLec000cM7dP64ja5PBH6jqJw3a3H4CtcBV9ebER71U9QE3l8IL8s1yGcFFyl3
        FB96Jzu9reyT1kBfWdd8vvVWs8O9YDkkNZQ1eiLG58/Xud4rDySF9AjJOJJZx8af
        +moEDwhD9wKBgQDG2r1URXfaY9p9jbfcQ3NT5+isOPbJFe3rbZUrNMOUYjCdum9L
        NSI0x76f2UVeO8ikd7Pr/oEmhEvAN3vv1uty8E1C1/yb17NTVSHsnUCe7GX+sJUX
        TsKNPovNYDKbxKX7mQ4qy5Ih47SW/Ig7o7f94nqTxaQEdYZ71Vx5jzE94QKBgQCl
        cYQKQCpJTSzsMsB7xXLzqCLBbTJeYKGrbkcvsGoxfGdFSCMuVnBE7ady8L9V0XqU
        XB8YNVJ1IJqAPn/J/C8FMTq9L7PAHfLdt/BxJT76cl+Glf2NWhFcPT6dqi2N0C4l
        b7JVFB2mJLhdhouf7x9EHSj5Ayu1mJDKFX/30kSbYQKBgAC7SK8qGsa62KZMv0Wm
        GcdfYtrnu8waaScgjHRvA+bVXFZt+SZR/YtVb6qBWmahRvyiS8F29QglIRg/OREH
        L1XaJJJ9tm9d4lSVBnuZ+ur/fUE1Ew+1nVCPWc0TeA5N1rVdlK9j2qqyq9mgGYAu
        a/HGJkb0HyJR18IMiDLExtEl
        -----END PRIVATE KEY-----

        """
    static let rsaPKCS1 = """
        -----BEGIN RSA PRIVATE KEY-----
        MIIEpAIBAAKCAQEA8lhw+MIpeJb2TeM7swcpKZu3/DzI5jI1PxpuIvOTdsNWVbdy
        Msk0LZNLD6T0gSet3M2SowYvQeC8lvR9WDzBoZFdLvcMmN3jsJw7sOOqS9gitMfQ
        Bfr3XRQ+gdpCQGjG8Z7Wvyk4Pm5poRhm19EVVn6QU45le62QzXoUSg13eF2FKVZJ
        DPXJ12TU7px23rnt64HfyPNwgkA6ywhRa63JMxcPWEzY+2J+UnFef+e5smRGh5EH
        xh62svM5GkYqzhpmUuuXioj8lDOrVVSSMkSLizpLYaFYAIuO05RHtquoU4BgeY9H
        Zg7oxENw+eVlKlIt2WEQrEOCsVneTMmtWDmybwIDAQABAoIBACfDxkmzBj4Au0p9
        ciLGloT6xZ4wVSCcdWs0yYSXpgczNxvafXUC2bputD7NaMc2fQtBegGg9qkfGKLG
        XDjZw0XhBcK6i8kbg4xLnmnAeYV3Yf562NHaY7NUqosBBqTt7FLiJsd4Gn/3+wIR
        cHKSHqeyHblwIIvCJ4Pnt6ONASDxGbZkFIJFkSZEjSs4BWgjtaBooaDar91zmlfL
        wLM3g/E+SSQ/cR3LNq3vK9g8sjsZ0RvlT4HS2A6TESK1YMlNC3dS2fu8bDal/Z1F
        D8QMKL3xyKhLuptdm2gSgDmsXMdN9K+EFSz7AI65ccuE8JDTKAUsn7Ntd2gOglj+
        mnIaEskCgYEA+RuZbkU7SXoaWkX7T+UksmhPLMW0pw/ohMOAbLhL/Um32ij42ByQ
        f/rtdkgEL6+0XqiRVKqqbiV5eYv9S6o+4PSW9xSlsAtZNe1GQeFBnFtkfDShtu6R
        uURp/UeAXKgaxw5vKAk5PVoWt+Ctxez0DGvuBemHXC2y2TRwRHxN90kCgYEA+Qzx
        9OxE7KmrGR5GdaOCQ7X+jQe8tF/3Cfj1i3nNNNHDO3T+uI2uTwR+o6icN2tx+ArX
        AVfXmxEe9VPUBN5fCC/LNchnBRcpdxQfeic7va3sk9ZAX1nXfL71VrPDvWA5JDWU
        NXoixufP17neKw8khfQIyTiSWcfGn/pqBA8IQ/cCgYEAxtq9VEV32mPafY233ENz
        U+forDj2yRXt622VKzTDlGIwnbpvSzUiNMe+n9lFXjvIpHez6/6BJoRLwDd779br
        cvBNQtf8m9ezU1Uh7J1Anuxl/rCVF07CjT6LzWAym8Sl+5kOKsuSIeO0lvyIO6O3
        /eJ6k8WkBHWGe9VceY8xPeECgYEApXGECkAqSU0s7DLAe8Vy86giwW0yXmChq25H
        L7BqMXxnRUgjLlZwRO2ncvC/VdF6lFwfGDVSdSCagD5/yfwvBTE6vS+zwB3y3bfw
        cSU++nJfhpX9jVoRXD0+naotjdAuJW+yVRQdpiS4XYaLn+8fRB0o+QMrtZiQyhV/
        99JEm2ECgYAAu0ivKhrGutimTL9FphnHX2La57vMGmknIIx0bwPm1VxWbfkmUf2L
        VW+qgVpmoUb8okvBdvUIJSEYPzkRBy9V2iSSfbZvXeJUlQZ7mfrq/31BNRMPtZ1Q
        j1nNE3gOTda1XZSvY9qqsqvZoBmALmvxxiZG9B8iUdfCDIgyxMbRJQ==
        -----END RSA PRIVATE KEY-----

        """
    static let rsaSPKI = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA8lhw+MIpeJb2TeM7swcp
        KZu3/DzI5jI1PxpuIvOTdsNWVbdyMsk0LZNLD6T0gSet3M2SowYvQeC8lvR9WDzB
        oZFdLvcMmN3jsJw7sOOqS9gitMfQBfr3XRQ+gdpCQGjG8Z7Wvyk4Pm5poRhm19EV
        Vn6QU45le62QzXoUSg13eF2FKVZJDPXJ12TU7px23rnt64HfyPNwgkA6ywhRa63J
        MxcPWEzY+2J+UnFef+e5smRGh5EHxh62svM5GkYqzhpmUuuXioj8lDOrVVSSMkSL
        izpLYaFYAIuO05RHtquoU4BgeY9HZg7oxENw+eVlKlIt2WEQrEOCsVneTMmtWDmy
        bwIDAQAB
        -----END PUBLIC KEY-----

        """
    static let rsaPKCS1Public = """
        -----BEGIN RSA PUBLIC KEY-----
        MIIBCgKCAQEA8lhw+MIpeJb2TeM7swcpKZu3/DzI5jI1PxpuIvOTdsNWVbdyMsk0
        LZNLD6T0gSet3M2SowYvQeC8lvR9WDzBoZFdLvcMmN3jsJw7sOOqS9gitMfQBfr3
        XRQ+gdpCQGjG8Z7Wvyk4Pm5poRhm19EVVn6QU45le62QzXoUSg13eF2FKVZJDPXJ
        12TU7px23rnt64HfyPNwgkA6ywhRa63JMxcPWEzY+2J+UnFef+e5smRGh5EHxh62
        svM5GkYqzhpmUuuXioj8lDOrVVSSMkSLizpLYaFYAIuO05RHtquoU4BgeY9HZg7o
        xENw+eVlKlIt2WEQrEOCsVneTMmtWDmybwIDAQAB
        -----END RSA PUBLIC KEY-----

        """
    static let ed25519PKCS8 = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIO8Q3IL2tvoS6dbgKicEKbczESPcE1RUO9mcCvpmomw3
        -----END PRIVATE KEY-----

        """
    static let ed25519SPKI = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEAW1zBTh+QqFIYVUrMPjK8HXMTM62tLsD2qZg6ljJf0m8=
        -----END PUBLIC KEY-----

        """
    static let ed448PKCS8 = """
        -----BEGIN PRIVATE KEY-----
        MEcCAQAwBQYDK2VxBDsEOcVJdZDFxHqDzEdsnAywLaTlgEUO7E+BjJ14rkjYx6CX
        JzXmZH5SH8isQwftp2RVaqHABr9oLzD7bA==
        -----END PRIVATE KEY-----

        """
    static let ed448SPKI = """
        -----BEGIN PUBLIC KEY-----
        MEMwBQYDK2VxAzoAYFGG7iOt9JaqstKU/sCM/Xo5YNcL6ag8YtKsUlLDcCVgEQ3P
        7nEUnkAg7Wk8D12NQWCwWm5y5S4A
        -----END PUBLIC KEY-----

        """
}
