import Foundation

/// PKCS#12 files from the OpenSSL command-line tool 3.0.19, with the password `secret` unless
/// stated otherwise.
///
/// The private keys are public: use them for tests only.
enum PKCS12Fixture {
    /// `openssl pkcs12 -export -inkey leaf.key -in leaf.pem -certfile extra.pem`: the leaf, then
    /// the root, an unrelated certificate and the intermediate.
    static let unordered = """
        MIII7AIBAzCCCKIGCSqGSIb3DQEHAaCCCJMEggiPMIIIizCCB0IGCSqGSIb3DQEHBqCCBzMwggcvAgEAMIIHKAYJKoZIhvcNAQcB
        MFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjtMWX8g9nyCQICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEHvY
        6TKf9juAMTaZRHDoOFuAggbAxWB0ifS2tB06txtQ6niclVUdcTUYRFpp0hJWOpqGKTizQEejoz2LddUF0lHc0p+XdhNxadeOSqFg
        8WmQtUZqrKuLUNHDtvxP8CepWm+5abdjRkKu6dDp+ftJkeGjc2BtF5xxdFCywgWgZk3ybV+y7fJ7Fxiwfb0sMbmk6FtOUJgiC5NP
        65FUZRQWL0KgZs0OH7nZ1UYdUKY2925oXOQH2JepSSeqN7zvnZ7ji8UBYUzUPRNzmASwbCovpr9yfZHuIQgTGRrktSnupMCmx6Rn
        7RLQ6VH/QpRMF2aNOuXVMYRIyaWb3G4q4+33FDLR0/RM2cUaUEw3L9uN4kE353gIOfAdsQcFylsiR7hdE6MM7rfODHTt9sHjTosz
        rM82DHJgjGunj8XK24/ip3P5bqsk1PpC9Bigu8M2SoDR1ASIapWvWp5mW+6LLOwDLZiuJoCGkgwp4773/jKvB4UABib/znEnr0Is
        rnjyWnpiVuKGwYc1/xXJx8nXILV3G0pla4/0BuRY7XNWINOT5zRAKP/61MabZLjqHw9Z93uyJ7ye8Yfi5cHHJDt0cwwVoT47uKCG
        U0ShW3V1mdOkj4VUrNGvVYo7NgO6GmWxIcbv+ezZp3SED4Y0dp33sHBma7CuX4PVXu2o8Au19FiYBqnB3bCIAUmjnSnwSUpHNqLe
        nehWatAMy8xC94lOT1tZ7290Hv7NVKdf3RRitIG7aReXzVzRJ+gKrS927M+YxXde5mI2TwmxVAu/lGcuDyli8MP/YrQGs0ZHm9fL
        nJw4iTC1EEoh/K7BclSfjlEqbdXZBhMNBYBGOXuLiCg9dHA6yQG/CQFbqvo2ex5gsFXMKaA2AhF/qtle25UB8VTEiVKcUO0FfqsP
        K+SwRsgL4wam54VS2XYzMic+mFLmzZHSJWs5WthEzmqaIOenbd2EY7PUXOoMSeklkKzfYUXwF+0tzNBVWWGF2eEdt82tMQGvFfpu
        eFWDRZla5NEuFMMibJ2viJg3OKUlZy+8ak57j2Bbk7c70QdXp7OUt54V+Of43vOpXBLNE1+EQDTwBWJWJVRI1f0sOfagXSe+prhy
        4gCKu8CRYBS3Ingnfai/uz5gGTvjHZ/sMsOuv146a8KogVLgMyXXV8lmriJSAde1zBBE+8pSsVBOzycv2N26HgyjmahTSa3GksU1
        touY8KZOlCov9vURhS3PKY8B9irN4l4Q+U5RceFrExbsIqTQU3wiZaH6yoIzjW3EU8EEWMX+PpfVs6PFmd1SGosSu/LVMNeLEu23
        +JQimL+6kATGyKjGJpvUOjIZZYjXEqDv3uLk7CFuIDrownf7UL+UOqbnJUpyPhZlTNp9CPQVxqY4isdKPSEupRA6Qwyqx0e2+lg1
        Vi+HRUNygdDI9xgY4F79FKSmJmVhp9Y5kGtrqMgC7iCpf3YJAHIBHxsQSQxiMlgKQ+y6vAmBDIful+YWa/dY+BqNxJpOwjcx4w8v
        NirUvilsrGk+sN82Ve3QXA5TkQch4YN038ThrSYYeRwrlyEMbss2k41Amw3ZpNEkAqJ6uk3Rp+I4B+/9N7OqkS58Plzj09jfJQmh
        NRjTlJlGlfN3fk049QuOHaocd//oT41LAgt5fzUtbQSLb0p1meKpM5FiwAM8w6h9HYHhQeGLek9wWTRTO35w24QuyruEZeQKCoTn
        Qoz8iEDda21YGzjAeuLTcCte5B+XgWuJLHKHrihGBDXge7Abe2e+N6QSSn6eUdzZONWum/mBB97X4IVVMZcdiNS8fXz0Uj0iFjvX
        TNC2an0B7ZMPfjjlTUZycBW2vpCWTqGHndRvPhsTMzN3Y/W26OT4zKnbBURECxAz9vXBrXgxq8ZAyf+CIlPMnq7fRPOlhUZO1ujU
        4yWsTzJa5GdQvQOjCSwlHG7itA8MMPVoX+OfTaj7ygokoS1yPEqZ7wchza6PH2lODULaqR/XI/+2ENpFAQM6W6f9NxFVy31QVgYF
        jr5ISqSVOhtPitQYEElMMYfG6FXuQtnfoJ8c1Quw21WKSRavd37D+icVql5xkEWCwprA+YQwT7IZy7uPDxrVR6mNVzDCcuZ6b51U
        TeGxHkmzehzhkRJDVASF4rI5rSvCe14M1yE6imtKUHsGPXSCu7xN1vVyCYquss1Xo5qOpuNTH6mJLJfwDmVjiS8r/DYbJjy6yf/W
        mEW1nS3C4AAScybfUFWcufDJ6ClIZuXnOeoFw1Pu9C0GOjutnoHqQB8vjcLpPPaEZV/EiNeSbDXkaS1syq+ncBPgbqI9Rh9xBDtC
        kvVTE3ZVB+X5g/Pm0OgtnHBkQnQbMIIBQQYJKoZIhvcNAQcBoIIBMgSCAS4wggEqMIIBJgYLKoZIhvcNAQwKAQKgge8wgewwVwYJ
        KoZIhvcNAQUNMEowKQYJKoZIhvcNAQUMMBwECM5rmKVjQ0AtAgIIADAMBggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQ5PifN/Ao
        z4J8AyyvYPFM9gSBkObmQTa0Px1R3/0yVDVTUUnHXX2cFy4cRmz11HJENV3VULiGVu3Q3AW+uIH3GLZma9b/d96K5eBlFcNRctgK
        7tF7ZXR45WaoJ2cKIhPGrnVXYOSqFTrDzVx7dZdwB1eI815Js4J6WWYAM6Av6yCfkR16WBKZMsiMQALItmNn9b4IZ6WUBoOn91si
        9lv9RjIHcTElMCMGCSqGSIb3DQEJFTEWBBTDRcFViDi4Q32BeyFQ5RvF/7+yeDBBMDEwDQYJYIZIAWUDBAIBBQAEIGKFL3fIAfPC
        jJ1jFCOmkUloBWR7tY9zL0aXaGVpgLfbBAibpOnKiIM7awICCAA=
        """
    /// `… -keypbe NONE -certpbe NONE -nomac`: neither encrypted nor authenticated.
    static let withoutPassword = """
        MIIC0wIBAzCCAswGCSqGSIb3DQEHAaCCAr0EggK5MIICtTCCAdYGCSqGSIb3DQEHAaCCAccEggHDMIIBvzCCAbsGCyqGSIb3DQEM
        CgEDoIIBgzCCAX8GCiqGSIb3DQEJFgGgggFvBIIBazCCAWcwggENoAMCAQICAQMwCgYIKoZIzj0EAwIwFzEVMBMGA1UEAwwMSW50
        ZXJtZWRpYXRlMCAXDTI2MTEyMjAxMDc0NFoYDzIwNTEwNzE0MDEwNzQ0WjASMRAwDgYDVQQDDAdiaWxsaW5nMFkwEwYHKoZIzj0C
        AQYIKoZIzj0DAQcDQgAEWlIs063HkzmAvp+NbEpc3qSKS50JafpqlwzaIy2lygbofsZjqrcQHeD5CYr4zLDfjhHW4jig7DPBdwFr
        WXyaxaNNMEswCQYDVR0TBAIwADAdBgNVHQ4EFgQUDXriRxygMjEj8MwEi5Gz54S+W6UwHwYDVR0jBBgwFoAUZWYtcXZR8eMq3fC4
        1dvD3vHigpUwCgYIKoZIzj0EAwIDSAAwRQIhAOgcf3H4qWPoUdxg55BwJbzCGBpQmB36oka0ed+D1Iq9AiA/rXxQNNdh2vpguecv
        7MvC4JOCSRW2nPO7ZZAUoJ6OWDElMCMGCSqGSIb3DQEJFTEWBBTDRcFViDi4Q32BeyFQ5RvF/7+yeDCB2AYJKoZIhvcNAQcBoIHK
        BIHHMIHEMIHBBgsqhkiG9w0BDAoBAaCBijCBhwIBADATBgcqhkjOPQIBBggqhkjOPQMBBwRtMGsCAQEEIAzsMjAoPMAxGvHrjYMZ
        xFl/6MRDU6YzMlTHWzKQr/QIoUQDQgAEWlIs063HkzmAvp+NbEpc3qSKS50JafpqlwzaIy2lygbofsZjqrcQHeD5CYr4zLDfjhHW
        4jig7DPBdwFrWXyaxTElMCMGCSqGSIb3DQEJFTEWBBTDRcFViDi4Q32BeyFQ5RvF/7+yeA==
        """
    /// `… -legacy -certpbe PBE-SHA1-RC2-40`: an encryption that OpenSSL 3 only supports in a
    /// separate provider.
    static let legacy = """
        MIIDagIBAzCCAzAGCSqGSIb3DQEHAaCCAyEEggMdMIIDGTCCAg8GCSqGSIb3DQEHBqCCAgAwggH8AgEAMIIB9QYJKoZIhvcNAQcB
        MBwGCiqGSIb3DQEMAQYwDgQI7UmVQY8ZbPMCAggAgIIByANYgUC5wfqjXRhHzzy6HtSoDMKElyXR0eQbFpR5idQXKy+3KdWmHXIa
        Gzlokn2ktlmpUZxiLJFef7jQlScnDUXK9q22uJW8sGpxH+hcKdghBtZAXwmSmmrv1lWXRijfcAj2Rxv1I3WZGNTzyo8x+bCbAOsR
        LEdmZdXGrkNSrwE69l/+yiCfB2R6vGzFrZ0jpEG+P96ge+PohRIwf/lVIx5SMp/pOrZaSMPQxHt8LpAYyJ6P1gjcugO10L9n/vIy
        BcaVNGsTbdMkfcjh1l5Fwh49zBwyeOC8Le7re8QE8LepDuD8AMQcxPzADwiJRMFkmCqj6CTZeG90TkjRW5XV7M6ybipdbi4iRrOv
        iROL5yxg0kOwbIcdXvb4YHiNG98KtgVj0t3VN0QG3EyTC+Zr9TZ6WUXAh3EVSDKaThvrYdgKIv+7etiylsgHeexWjWi99XKTXssD
        +WYh4FWMspWwNPOypY9WpYXHk4vj+hlHXfU9f8lqG9EjJOOVaoxB0V100c3+GJWI9VH40le6MEcciKGxYGhhBA+bbZ8larHrj5VD
        yod7lCmDp4pOydzGqa0nqYhOPBRtfiPfPFAeFltrmMeqIGyFlAyGOTCCAQIGCSqGSIb3DQEHAaCB9ASB8TCB7jCB6wYLKoZIhvcN
        AQwKAQKggbQwgbEwHAYKKoZIhvcNAQwBAzAOBAjhIUmb14qjfAICCAAEgZD7O8mOAOX5AibvFd6seWOQL1/hz7GB7RgjU+uYerxc
        dAeeKKzoXSlzB12p7Td2lirZqwxhDXf1sqKbXCIS93H1t53oj26BfvB1O9A9CnNBDxxYQoxBw3IJGFbu1EcLm9iOQmluhXFTBMg5
        i6PJkcYv+Kt5GLtPzJeycYtPhcArZ+1oQNBT1D4UD7zfipc7LgIxJTAjBgkqhkiG9w0BCRUxFgQUw0XBVYg4uEN9gXshUOUbxf+/
        sngwMTAhMAkGBSsOAwIaBQAEFPTgmJFepfcs6BXDO1J0V4A/LKPTBAiSZmR3671uvgICCAA=
        """
    /// `… -nokeys`: only a certificate.
    static let withoutKey = """
        MIIChwIBAzCCAj0GCSqGSIb3DQEHAaCCAi4EggIqMIICJjCCAiIGCSqGSIb3DQEHBqCCAhMwggIPAgEAMIICCAYJKoZIhvcNAQcB
        MFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhJ/WJ6l8e/owICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEPN6
        MnQEkDxXObwFLC8HGKeAggGg/aCzwzzcsxKXU87ZybguqElbXPJ4jOQy1JlqTYDF8ENa5lfvMGM7h8+zFOVHdegLF3b4iR8+NkQs
        tlayarMHutsiELZm0PvnleuGxbYBIOPDh1fl+40B/2zeozsvyXMB+AyjwfALLN47426svOvYJ7C0Y9eqYzZQiXd9hXbJ3s9bCWJL
        wexIYcHbKom7td6UigI8gqBCTk9oO/SFq1wd0i1DgFIkbqXh11gd/dLcu8Uerx6xSip948ukEjzbRyGOSuyTzjc5YjFl+6EuOaIr
        Eb8RdYDREqh/2fKIEwdJlDtHl5RihZVB/tYdXRFwuYvme+lIwBPy3/bvJ7wz7avJGsrbS2vAQPRKKpLZ43btwg3+4119bGxaqZBO
        Fy2yt4dHk2pW+jSXZKqkY6MohR4z/JpFM8J869U5fAZW5UsRvOv100IMaQhFWysqAjvKclf0sC112gz5s0l6HSuKoNIqSBGL/GTS
        BVHZuQHTKLGeflrVDmHRxxSVUl6Obk3LUSSweHou0y/4yKJ6UQMAh4luXmMDeFjODZApl2iaFxpySjUwQTAxMA0GCWCGSAFlAwQC
        AQUABCByPi9jVC2HrK3ushG9VLNVKFMLlPLNQ9ElERJqO8IucAQINCoNNYKPDToCAggA
        """
    /// `… -nocerts`: only a key.
    static let withoutCertificate = """
        MIIBfgIBAzCCATQGCSqGSIb3DQEHAaCCASUEggEhMIIBHTCCARkGCSqGSIb3DQEHAaCCAQoEggEGMIIBAjCB/wYLKoZIhvcNAQwK
        AQKgge8wgewwVwYJKoZIhvcNAQUNMEowKQYJKoZIhvcNAQUMMBwECP/hauTqUkhIAgIIADAMBggqhkiG9w0CCQUAMB0GCWCGSAFl
        AwQBKgQQF88+3HHlhL3OeUoWDk12zQSBkI3NYFxVT2VTFa4jPW6vIRCAQM6xLVWEy9gGdqTHGa8YybEMKNpujRFbaWLjcpkZFE/H
        1LpIEsdNz9kVbkmpYv96ROW01Mc8yv1SPbabrPXbSgqiR+7a3ba7dOUtQ/Vtp3IAQ0xpW7G1bOWOZkIAVHTqzCgS8h9LFSs0o0uQ
        FymPNrIi+0an24bLGho/MtbfIDBBMDEwDQYJYIZIAWUDBAIBBQAEIJuYUKyL9dR2KgxFaeZ/8N8K0iO6xJ3J+sbMRr1AbxtXBAj9
        /RmWf03QPgICCAA=
        """
    /// An RSA key with 1024 bits.
    static let weakKey = """
        MIIGfwIBAzCCBjUGCSqGSIb3DQEHAaCCBiYEggYiMIIGHjCCAuIGCSqGSIb3DQEHBqCCAtMwggLPAgEAMIICyAYJKoZIhvcNAQcB
        MFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjBuTu1GBXcSAICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEELmm
        Mgxh6J2+76ZaGYDDzZmAggJgOrNVNV9+FLCdSHVsJ7GzBTso2VfxfF7fPKwkKmd/axhl2eLnqS2K5pc6PwG8JkUb5hp/MoJV2vKn
        IjkLSl2dI42OIDBYTSxndqKnXVZhxR/rXoAV5c2DUrb3MDmCwDA1H5GkksP5oVwp2SppGRBU+26Xk8+DsKklTcY3+JILwefuVIJh
        ewoMQ3Y8fsQf2DFRqQJq+4zzimztq/FA4tuvV6dR1VQa+IPGkmE8TcNEGhxaDvRi8R1Ns62RZPgPYQLv5YxDtw1gGejTOO0RdERw
        /g/I20Duc7v88fSZYrXOg8H/YGXymY2xHoCruGpLNj/W4RbMl0zZRqcVuTTOlocWpBhfHOlSw5klq2gZbnufrMUPMe+1U9vLx0ZN
        h13X0zdv6LjAItssHtoTXW6qMGsRbDgqu7E/SEqcUtTFJ7uPDwztrlxr/BXkfQbCC3P11k0+ov5DR90Tj2vB79Y3P2UdpNxukCQP
        VRus9osuHZMHR3oVtL+t+wgBSH9KyQsFqFv0quYwWmOHxJd99Nk1U2vPnsF4WXhN3kSP7Rb+h/mvz8it0W59F73DNMWKriP1JKSw
        sLO0njc3uXtvPSZ688A7rAww2dizH7lBuE+DqqPtCgHyq4UrtSDcb71Q7GLiOn8u7pQmiDuQPNbcp4K+YfYqzJ8LMF4RHRPPEgw5
        sKnxwG+Sw+1IxE/Sgpq4p7WoASKjgyfLWbp1jSwVLFaVnq/RakJfEiYXXPkQ9BNUo7dmQSriB+iwC6AWx7PVSsPDcZXKXmwwgEmV
        KCUc3EXTlsmH2z2c0cKPshurErsn5e/989gwggM0BgkqhkiG9w0BBwGgggMlBIIDITCCAx0wggMZBgsqhkiG9w0BDAoBAqCCAuEw
        ggLdMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgQzLGNb9rDHAICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoE
        EKwf+KlaoSbhysMNg92oWgwEggKAQ7aKQDrj4d+iKWu7Zv+zzxI7+iLVG44huMZRYNcbEtRFpMtN4Wp5h7bkFZHJHpzVdGiEvfwn
        23ip8OZRPh7iRPGvblOc1PZV1ErfpKrgx75xJ8SWpwQBuW3hrdW1DPlxd+hgcmS8Sj4xEAUkTULLsWYwBCsYtwjHfx/HeoL6fMaU
        JLEkaAqyDeqaT5EHB9J0bq8M9gxQZflTeZxxkwjU3o33/nmXBcc+PprLEBBjeH0J3UVEjAzP/Nv6KGU1lLpNnOcfFPtQPd9JfDd+
        94V52UaQVf+AzruvpskeyiAPZrihTprcjGFbri2JnOqTJW29SPLRSKazDcJGN2MOnDteBDwh+8jj43ub6znC6M5aA8oYqP0KIgYE
        PN73ohp7sT/NsMW67wF7WoYngqri/Ar0gKvZ5//LSX4Lx4NfzmcO+NJlb4cY3pIuNiMIgNe9obGAk2iSzw9PaRFPxkrHRVaWl14T
        kxuUmM5UTOauqdu6yMzgvy3EIQ2lkpwUjnAuLtyN/iV/adx/JINUA70OkeKrGZPXLTRV6HhMJPgMYdNWv79STvO2GLBGXYlNL3xP
        J0YRcHsUSeGH6dZhZHtw3uzpoUCTpGTZ2V4uGf3h9pyL0Cb9M9eZP5ElN/4lxYnunZXsZMdYsgCkCIXtT6pf9RzOlG2hPd9UVJZ8
        b2Os/L6KVd9GYIxibCiZ9CYaazz0xQn49azdDFlkji2Pl1uVEr8MpXUjlM9Rnwk9I+tBfDq+WnzFDzeLAfLIAg7Ni/FPobaisdfy
        yggX+0smfGAC0/BSxFGi2V2YdMTR6EFMG8fgxqjo7CMI+FblM5nA16890as3TueU59ruS0FJz+dBVGJ4UTElMCMGCSqGSIb3DQEJ
        FTEWBBSuhx/5SfKp7CJOOlrtkvNeQlRQ+jBBMDEwDQYJYIZIAWUDBAIBBQAEIGAfNMZdswRPbIMDyNNDH0QPUIuafcAfuKBI9dGs
        o2HGBAhhFO+ptJJmMgICCAA=
        """

    static func octets(_ text: String) -> [UInt8] {
        Data(base64Encoded: text, options: .ignoreUnknownCharacters).map { [UInt8]($0) } ?? []
    }
}

/// The DER of a PKCS#12 file, for modification; lengths adapt automatically.
struct PKCS12Tree {
    private struct Node {
        var tag: UInt8
        var octets: [UInt8] = []
        var children: [Node] = []

        /// Parses an element.
        ///
        /// An OCTET STRING that contains a SEQUENCE is parsed recursively.
        init?(_ input: inout ArraySlice<UInt8>) {
            guard let tag = input.popFirst(), var length = input.popFirst().map(Int.init) else { return nil }
            if length >= 0x80 {
                var size = 0
                for _ in 0..<length & 0x7F {
                    guard let octet = input.popFirst() else { return nil }
                    size = size << 8 | Int(octet)
                }
                length = size
            }
            guard input.count >= length else { return nil }
            self.tag = tag
            var contents = input.prefix(length)
            input = input.dropFirst(length)
            octets = Array(contents)
            guard tag & 0x20 != 0 || (tag == 0x04 && contents.first == 0x30) else { return }
            while !contents.isEmpty {
                guard let child = Node(&contents) else {
                    children = []
                    return
                }
                children.append(child)
            }
        }

        var encoding: [UInt8] {
            let contents = children.isEmpty ? octets : children.flatMap(\.encoding)
            var length: [UInt8] = []
            var rest = contents.count
            while rest > 0 {
                length.insert(UInt8(rest & 0xFF), at: 0)
                rest >>= 8
            }
            let header = contents.count < 0x80 ? [UInt8(contents.count)] : [0x80 | UInt8(length.count)] + length
            return [tag] + header + contents
        }

        mutating func replace(_ old: [UInt8], _ occurrence: inout Int, _ new: [UInt8]) {
            if tag == 0x02, octets == old {
                if occurrence == 0 { octets = new }
                occurrence -= 1
            }
            for index in children.indices { children[index].replace(old, &occurrence, new) }
        }
    }

    private var root: Node

    init(_ octets: [UInt8]) {
        var input = octets[...]
        guard let root = Node(&input) else { preconditionFailure("a fixture is malformed") }
        self.root = root
    }

    var octets: [UInt8] { root.encoding }

    /// Removes the last element of the file, its MAC.
    mutating func removeLast() { root.children.removeLast() }

    /// Replaces one of the integers with a given value.
    mutating func replace(integer old: [UInt8], occurrence: Int, with new: [UInt8]) {
        var occurrence = occurrence
        root.replace(old, &occurrence, new)
    }

    /// Appends copies of the first part of the contents.
    mutating func repeatFirstContent(_ count: Int) {
        // PFX, ContentInfo, [0], OCTET STRING, AuthenticatedSafe.
        let first = root.children[1].children[1].children[0].children[0].children[0]
        root.children[1].children[1].children[0].children[0].children
            .insert(contentsOf: Array(repeating: first, count: count), at: 0)
    }
}
