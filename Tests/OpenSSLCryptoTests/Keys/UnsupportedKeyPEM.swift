/// Unsupported kinds of keys, written by the OpenSSL command-line tool.
enum UnsupportedKeyPEM {
    /// id-RSASSA-PSS.
    static let rsaPSS = """
        -----BEGIN PRIVATE KEY-----
        MIIEugIBADALBgkqhkiG9w0BAQoEggSmMIIEogIBAAKCAQEAxHt+1xe9G+HZeSE6
        BB8I7LtDgNuHHcRm8kMvZdZUl1sNzK+5B5i2zz592DZjIDxFlaDOSNxpM3JFllTF
        qhrDAHgxIFr3mznpO9hZLA0e/qwRLSio09ru1A1Py4FxqXd7PNwchiiWeXCwgmFv
        jsjGo2R+e+IYR3+SNLzyca36hd5qb52UR6LZluIuoLaTty0NFlOiWRr/0cmcPPeN
        eDvWuideW1Vcirs67shP8ujm6mr9LbhiCQJK7eWBmJood971hujFuxfwR4uKYt+O
        WUVaBue032Zs8tGrUaMpDjPxCDvCu9cHbYgFvr5XMZw5Pbcl+EyxYKHM1YzxBkTX
        rsK1vQIDAQABAoIBADyuiWuDxN+GHqTG6sSYEykN4ti6tB2w6Tx8HHjeu4xtTjM/
        uC0M8LTL75DlpzKu+qyuF9ev3vvJGI3Hy65wCnasKDv+bEdwGMTnWg79VGvCF6Hz
        U0Tu8mDiZZkL9t8obBLNRi/2/BYwhAsYbZxTDOosoNXA68+1KiIIkvYiDePm1TNB
        t3CjnEpBIsyTyQ+jYbhRPamTx7LBf7FuI4Ic3k/R8XwxDwSjiPq+BA9nUk4/ikgM
        BNtPTbouXMW38nSNIJdNYwiSumDWqYPlDux+/VW9FFLtbSxbS0mKWxZ0APGm8cx2
        L+gSn/92ps1dZYVjA8FdtTV0v0RKnRrhhKy85r8CgYEA5iFUKvjH3cvJdORcr/VV
        xa6Oa5brTCbByR+vG9aSlnSWS2FGwRTuHg5gePihjpNE8aqtz0T726ess7e0d9PA
        IuimXeVYvIFifczPg8Eu/xrPy7M6KtRC4JkSvuhD2o5PQUNU90T0QW7ViuY107Yp
        R6/R8T64NJzCQydfvDTbp2MCgYEA2pHaWpmvpXq59D4F0tdxvKr8+PNUnHvohZCL
        pjmB1bXyS3ROC+kERNJNosMD4OSHZUKloa4FpmgfnDPr8TPOUSYV5/CWuSU6U/uf
        21JkYdtSx5x6ESMCoD0cxe+9iq7rhROabLZt76FPNgsiKZ59nskqhh1L6qkRl0tS
        7A5RiF8CgYBgUNCuT4MvFAyT7MPSLSch3mXjJ74BGDOA3s7mIs8lQ1Rn5iW7x+vF
        DpVX7A+J4Z84Wgv2tNOIYkwIx7kzcZ93vNFseQHDm49CQYcUiLUHtgwEIFYW+NGo
        uMg8uG81uNv435pfBzAHdsDPKnyayCHMzAxdILft5TH08zTBS4onKwKBgAbETztQ
        2MRJyWoLZYjCjM3niU930R3LJEbGU9yAmUlxiZ/WaPgrbatny2mHmh4jVSHIb3JS
        /e/J93iRjvN3xCJ1CGaW50OyKF0jRC65HUx+StDNQmY3bERjv/lM09RwV/BVzAkj
        mMG7f8VPkO4y7va0ibF/RLNuKpJBjb6rLtEHAoGAbwhZfsryIcxUIzKZ0M4TrQCM
        6p6C2+6CPqAC7ZIUBPTz02KY2lVi7Zf2qGl1vXlR20cRVf0uNFsDCbvPygYAcvFt
        aEYZTVCZUzMG2UpI9uXDYZXHj2lgUyjz1VNJJKFHw/F795In47gUcAZxs4ZdHoWo
        bVzEEx6sINaIqVRoQHA=
        -----END PRIVATE KEY-----

        """
    /// id-RSASSA-PSS.
    static let rsaPSSPublic = """
        -----BEGIN PUBLIC KEY-----
        MIIBIDALBgkqhkiG9w0BAQoDggEPADCCAQoCggEBAMR7ftcXvRvh2XkhOgQfCOy7
        Q4Dbhx3EZvJDL2XWVJdbDcyvuQeYts8+fdg2YyA8RZWgzkjcaTNyRZZUxaoawwB4
        MSBa95s56TvYWSwNHv6sES0oqNPa7tQNT8uBcal3ezzcHIYolnlwsIJhb47IxqNk
        fnviGEd/kjS88nGt+oXeam+dlEei2ZbiLqC2k7ctDRZTolka/9HJnDz3jXg71ron
        XltVXIq7Ou7IT/Lo5upq/S24YgkCSu3lgZiaKHfe9YboxbsX8EeLimLfjllFWgbn
        tN9mbPLRq1GjKQ4z8Qg7wrvXB22IBb6+VzGcOT23JfhMsWChzNWM8QZE167Ctb0C
        AwEAAQ==
        -----END PUBLIC KEY-----

        """
    /// RSA with three primes, PKCS#8.
    static let multiPrime = """
        -----BEGIN PRIVATE KEY-----
        MIIE9AIBADANBgkqhkiG9w0BAQEFAASCBN4wggTaAgEBAoIBAQCocl3vCtHZDTCq
        +HI3ZnygVwlsrA2h5N5TDjWhBVWytsUyXM8+lj3luoodnBvLIAcUCDjKclzBmGZy
        yx8JX9q51sNk4wzA/sBlfy+SVNZ9LxqbDbEJyFZEle1Z9xoc9f4auIM4FqJxAD/6
        u8FSsp5hSjVPDJBfJAmYxVa9gO2wzWxZ0E5PUUoLNEREFgCGzxqkhM2BBODeCzw7
        LKWduzO/Sent8ojBDyEgr+M901TpTKkbb1xRi2YxVhMpXFaLVt21NmnyTn04HenM
        PM0xfMT8c6N6lm/61tCKUpnY7K3PzzRKyuv8ptWV9rk7WLogdc+FR+8XsIssXQiN
        kyXXi+vjAgMBAAECggEBAJ81kZEZQeSL8f722kWAqbSG71J2gGAPSQ9pc8jgmPJU
        i6ghToSSTqiumlKINUDU4bvOVZcLZp5YpCRF1ezvW3WhBod5jplvb3u/LcB6TUx+
        0//PfhAtzzfF3BRxv8rL+R7CaKLfaVX3BbgeczaeXjdh0Ra6vjcj7tu2QIqW0sr2
        yKvJahXDlZShntIPsTgwLKm/KaK/iA0/oRnA+HogZ0UyqD4A2oh02ldMcdVBp6VJ
        Y2f5R5Wx1JogVxf00PUGj9oD2eTXWRfB894cO92S/+nMLjDYO4y6FKVk3PvlEWYu
        cX3NM3zmALs6oAF2xfiu0fXX8+SEP5eTXg/UCYoKaYECVgdxYHX6qQPTaESjru9v
        kGleTb6FnELHsYjCmVt/GbwX1V4oJvKdpl+HrE++d4WWoda3wPV7qB4LDX5kj5Mc
        8jNiAbPJU+9Xz3MjR1uyhb8ROr8BAYfZAlYGAthwl5wKSKdIJ/L1unuNfO6RlRCW
        GqlpzzDhE4UTwOJRtJ1OyKw7lYQjll8MsB/gbC8h16RrJBlboNMQG9iRZmVuPggC
        IzbUdbzUF1KANotl1thPuQJWAotFXm5EUTN0w2lzhRIMOYfraQEAbW8WhtmFU9n4
        8OrwmpN85JbwZFzakBNZhUb8oIkEoqQWzdYXUamLzcwqGVgZnttlHj1UglV/sZ8u
        yiVYgCsW29kCVgGNOHuP1xqceHnavg+KLJxwNFDmDpsAlNyYPADNfhuEPadjnPua
        N0NGLA7XoP9wczoGEwCEXo+9iMIrOHA/D98wdFxJrN2IY33iSnTg9E3eRotqMvoZ
        AlYF1ZHBaDFkQ+thtxzPy47dwi2e0kp9NAX4y84vUMHkrzUQBUoLAIzWaD7geh6e
        8hI0VXIUSQSgo5GUVsUj44z8/+rvLyRGo0k2fpFvq7RD3fFh7q2nrTCCAQwwggEI
        AlYDw9gAbRVq14IW22dovfSe5vi7FB5ZY4kSBhEoPNeTZrJsa2QEkiTWkUtiFoiZ
        mkrBpAbHt07Udsdd/vgRuKwvtWCE3uqWX4EuiV+ZNcA6Olh/Z5zIcwJWA0vSL41Q
        0tkZ6yjqv6iOIQ/VcvOKHngl6MGnA7NAiKvASWs7hUTtO2y4sodH0DJkgGM6DF9P
        hHL42DIAvIMRPDNu7OS8PCogzr02FMwaHuA12lS7zkECVgKAivvTsKI9DsXz+oba
        BSb81rQBbaZ5KsGGcBOc/X3aR+kW/y5qLbTPKQfuZHce2Tv0M+VPflK2xn/1SDBr
        isoBvSFrXFDUnCjFzghBeHE5/NulSWZI
        -----END PRIVATE KEY-----

        """
    /// RSA with three primes, PKCS#1.
    static let multiPrimePKCS1 = """
        -----BEGIN RSA PRIVATE KEY-----
        MIIE2gIBAQKCAQEAqHJd7wrR2Q0wqvhyN2Z8oFcJbKwNoeTeUw41oQVVsrbFMlzP
        PpY95bqKHZwbyyAHFAg4ynJcwZhmcssfCV/audbDZOMMwP7AZX8vklTWfS8amw2x
        CchWRJXtWfcaHPX+GriDOBaicQA/+rvBUrKeYUo1TwyQXyQJmMVWvYDtsM1sWdBO
        T1FKCzRERBYAhs8apITNgQTg3gs8Oyylnbszv0np7fKIwQ8hIK/jPdNU6UypG29c
        UYtmMVYTKVxWi1bdtTZp8k59OB3pzDzNMXzE/HOjepZv+tbQilKZ2Oytz880Ssrr
        /KbVlfa5O1i6IHXPhUfvF7CLLF0IjZMl14vr4wIDAQABAoIBAQCfNZGRGUHki/H+
        9tpFgKm0hu9SdoBgD0kPaXPI4JjyVIuoIU6Ekk6orppSiDVA1OG7zlWXC2aeWKQk
        RdXs71t1oQaHeY6Zb297vy3Aek1MftP/z34QLc83xdwUcb/Ky/kewmii32lV9wW4
        HnM2nl43YdEWur43I+7btkCKltLK9siryWoVw5WUoZ7SD7E4MCypvymiv4gNP6EZ
        wPh6IGdFMqg+ANqIdNpXTHHVQaelSWNn+UeVsdSaIFcX9ND1Bo/aA9nk11kXwfPe
        HDvdkv/pzC4w2DuMuhSlZNz75RFmLnF9zTN85gC7OqABdsX4rtH11/PkhD+Xk14P
        1AmKCmmBAlYHcWB1+qkD02hEo67vb5BpXk2+hZxCx7GIwplbfxm8F9VeKCbynaZf
        h6xPvneFlqHWt8D1e6geCw1+ZI+THPIzYgGzyVPvV89zI0dbsoW/ETq/AQGH2QJW
        BgLYcJecCkinSCfy9bp7jXzukZUQlhqpac8w4ROFE8DiUbSdTsisO5WEI5ZfDLAf
        4GwvIdekayQZW6DTEBvYkWZlbj4IAiM21HW81BdSgDaLZdbYT7kCVgKLRV5uRFEz
        dMNpc4USDDmH62kBAG1vFobZhVPZ+PDq8JqTfOSW8GRc2pATWYVG/KCJBKKkFs3W
        F1Gpi83MKhlYGZ7bZR49VIJVf7GfLsolWIArFtvZAlYBjTh7j9canHh52r4Piiyc
        cDRQ5g6bAJTcmDwAzX4bhD2nY5z7mjdDRiwO16D/cHM6BhMAhF6PvYjCKzhwPw/f
        MHRcSazdiGN94kp04PRN3kaLajL6GQJWBdWRwWgxZEPrYbccz8uO3cItntJKfTQF
        +MvOL1DB5K81EAVKCwCM1mg+4HoenvISNFVyFEkEoKORlFbFI+OM/P/q7y8kRqNJ
        Nn6Rb6u0Q93xYe6tp60wggEMMIIBCAJWA8PYAG0VateCFttnaL30nub4uxQeWWOJ
        EgYRKDzXk2aybGtkBJIk1pFLYhaImZpKwaQGx7dO1HbHXf74EbisL7VghN7qll+B
        LolfmTXAOjpYf2ecyHMCVgNL0i+NUNLZGeso6r+ojiEP1XLzih54JejBpwOzQIir
        wElrO4VE7TtsuLKHR9AyZIBjOgxfT4Ry+NgyALyDETwzbuzkvDwqIM69NhTMGh7g
        NdpUu85BAlYCgIr707CiPQ7F8/qG2gUm/Na0AW2meSrBhnATnP192kfpFv8uai20
        zykH7mR3Htk79DPlT35StsZ/9Ugwa4rKAb0ha1xQ1Jwoxc4IQXhxOfzbpUlmSA==
        -----END RSA PRIVATE KEY-----

        """
    /// RSA with 1024 bits.
    static let rsa1024 = """
        -----BEGIN PRIVATE KEY-----
        MIICdQIBADANBgkqhkiG9w0BAQEFAASCAl8wggJbAgEAAoGBAKGuHWxlcAPVlsje
        6rwd7e63549OJmwWZ3KO/AABZjIbnyskqHMBNhSEYgPKMfkiEfV69dWzAJe0a1Eg
        GbMe1SpamErg609sqxob04w6cOpShfXEUTCk164d9KfZHxWbu83KLA83gDNE4SuX
        wLZqe2uRbKbHw5Yhokf7w3XUV/lnAgMBAAECf0YaOKfHU8pV0gtGnID0eTYIh16b
        hA1ZqYECfkGCWc1gLKOIQYGcBNbgj58VDJX5L9BAgFcoRhmBIQcL5BjGRaZm6049
        UBRUK0fW2/qqngsSgfp8YVlbdjVUvBXwDdE34ECfHGJUWrOg/Ud4yx28Xx3sg9+C
        NA7ctP9WOpzweckCQQDXYTb5U3zJ5Y3Uf5U9Hvv2wPmqVbG2nkRghk25/vjMNMqI
        xfpjrZ/wN/I1jsWcTr0juGoCEPo1LGUUnCb4rvY9AkEAwCw4cIuORfJEw4u8Honz
        r9UDCQLLpNvbOhpdLvKNMRmH37ItLl8wMsdrDwAm76Ty77S0pTuuORxDqqriEs6M
        cwJBAIu4eiRGf9at/1NSLOuItSX/TDeu/emdRHhlx/iYKqi2uoj9/hA56163vH34
        D8P15IdOtB6BCwABu9Uh87oyLnUCQGLkHqMj3bH26xXpyYO5n9JC/o3bh2otzVHI
        EV3AaZHzvm0J5qAvUcE/x8LvZBn8OxvJVRCWdqBjABtKVo4xBisCQQCICOY2TtBC
        j0LtNr4sruuKzsX3v160X6hIhcI9YFjKbUZiiUaUGCa3Wv4r8QvoqGZPlBst6zig
        fMvDLJtp6dtY
        -----END PRIVATE KEY-----

        """
    /// RSA with 1024 bits.
    static let rsa1024Public = """
        -----BEGIN PUBLIC KEY-----
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQChrh1sZXAD1ZbI3uq8He3ut+eP
        TiZsFmdyjvwAAWYyG58rJKhzATYUhGIDyjH5IhH1evXVswCXtGtRIBmzHtUqWphK
        4OtPbKsaG9OMOnDqUoX1xFEwpNeuHfSn2R8Vm7vNyiwPN4AzROErl8C2antrkWym
        x8OWIaJH+8N11Ff5ZwIDAQAB
        -----END PUBLIC KEY-----

        """
    /// DSA, PKCS#8.
    static let dsa = """
        -----BEGIN PRIVATE KEY-----
        MIICXQIBADCCAjUGByqGSM44BAEwggIoAoIBAQCcev3VYiqQ3uRmpIrujtbLOusy
        4g9f9KL/T2mcLj4O6VdHJv8hRBU+CNQe3WRtwzZuGCj61j9SLCTPIvaCF2ijg2PT
        lkTDFn6N8LW7Qc1CuHMCeTt5u3C7sPyNAqIwGnYOfvOLK3vvi1MuXuwm5pDRQEOc
        sb+B5iHdM/SVcN+EpCdGGKsZqvitbuXPrC1qhiZbkTdMcHCL0oQYBi9c3FJcMTeG
        B7fURtihXmjm2cgDmPzQi6veTBDP+WFIpJVuGsmfn6IjAkMgjnw8HZk5RlgEeCj5
        FGBhGnZJ7TAaE71XdBfTI50loVFRGCBeLWt9UBkW7cTfdQe4wvBGVt+9mSUXAh0A
        xXEYIh0m0nL0bbnJeI/lKWAxByndEQKCEPa1qQKCAQA22kqPKomfyQcixzlp8cDV
        StrPv2FQLghz9yez74Ir63ot+qq6sWta/KhSP9Ulh2MTP48r1U7UiiD6r5y+ithu
        yBYpxCXZ20OxqHF1MNFiT56eyXMDKRyuO/zhQd+8QB71UpTRtcPnGZ6UK+mYgZkW
        b/Wmjxc2YBiCCFnVUkQ2A+d/C4f/a/323ggBTLQz4k5kRL/BialCYZICoDIQVk1p
        x8eum8jbYFY70EkU4EZvHL3P+Jy7K48rd3t3otTXIuMFBfFoOsdfAxvG7UujN9dV
        SqPbePejFzcC8ii0Yr2eNeBEaHNM9+bIN0R1FDNhDuhsWAJUNEhT+y09LTNeOnZX
        BB8CHQCaeBlZdSvGz4YawIeJoHitGgNd8KlURSsZIsCm
        -----END PRIVATE KEY-----

        """
    /// DSA.
    static let dsaPublic = """
        -----BEGIN PUBLIC KEY-----
        MIIDQjCCAjUGByqGSM44BAEwggIoAoIBAQCcev3VYiqQ3uRmpIrujtbLOusy4g9f
        9KL/T2mcLj4O6VdHJv8hRBU+CNQe3WRtwzZuGCj61j9SLCTPIvaCF2ijg2PTlkTD
        Fn6N8LW7Qc1CuHMCeTt5u3C7sPyNAqIwGnYOfvOLK3vvi1MuXuwm5pDRQEOcsb+B
        5iHdM/SVcN+EpCdGGKsZqvitbuXPrC1qhiZbkTdMcHCL0oQYBi9c3FJcMTeGB7fU
        RtihXmjm2cgDmPzQi6veTBDP+WFIpJVuGsmfn6IjAkMgjnw8HZk5RlgEeCj5FGBh
        GnZJ7TAaE71XdBfTI50loVFRGCBeLWt9UBkW7cTfdQe4wvBGVt+9mSUXAh0AxXEY
        Ih0m0nL0bbnJeI/lKWAxByndEQKCEPa1qQKCAQA22kqPKomfyQcixzlp8cDVStrP
        v2FQLghz9yez74Ir63ot+qq6sWta/KhSP9Ulh2MTP48r1U7UiiD6r5y+ithuyBYp
        xCXZ20OxqHF1MNFiT56eyXMDKRyuO/zhQd+8QB71UpTRtcPnGZ6UK+mYgZkWb/Wm
        jxc2YBiCCFnVUkQ2A+d/C4f/a/323ggBTLQz4k5kRL/BialCYZICoDIQVk1px8eu
        m8jbYFY70EkU4EZvHL3P+Jy7K48rd3t3otTXIuMFBfFoOsdfAxvG7UujN9dVSqPb
        ePejFzcC8ii0Yr2eNeBEaHNM9+bIN0R1FDNhDuhsWAJUNEhT+y09LTNeOnZXA4IB
        BQACggEACEHAXDch+FeLU7U8YUe9c1ldr3vyuXG5Hm+RByR4a43MY+DQjktFYrjj
        0Zcl2/oEZGWchTpj6hu6/8IsTU9EAL6+no/L0pJd9IeyZcUuuJ9nzCNdA6ZX0JcN
        0UTfPvOzTC5DCAPlT5WQDTm08U7STCKOQbdqvyDPm1rkvMchCD4G1fVkPCaAO4e0
        XNgt8KRQFZT66K6m2zjc+kLTNvznmtTtudJuXmTijRzVLLVFxQfkBZGm2vVCVuzw
        LBzaa80tjk7e+R/plRDUgAqo4C95nbk5xjAHOh2F2/VXjROUiI60Me4ju8+SLZuU
        ay/cmIPIDCZO2EBkC7UVB4oFwBts7A==
        -----END PUBLIC KEY-----

        """
    /// DSA in its legacy format.
    static let dsaTraditional = """
        -----BEGIN DSA PRIVATE KEY-----
        MIIDTgIBAAKCAQEAnHr91WIqkN7kZqSK7o7WyzrrMuIPX/Si/09pnC4+DulXRyb/
        IUQVPgjUHt1kbcM2bhgo+tY/UiwkzyL2ghdoo4Nj05ZEwxZ+jfC1u0HNQrhzAnk7
        ebtwu7D8jQKiMBp2Dn7ziyt774tTLl7sJuaQ0UBDnLG/geYh3TP0lXDfhKQnRhir
        Gar4rW7lz6wtaoYmW5E3THBwi9KEGAYvXNxSXDE3hge31EbYoV5o5tnIA5j80Iur
        3kwQz/lhSKSVbhrJn5+iIwJDII58PB2ZOUZYBHgo+RRgYRp2Se0wGhO9V3QX0yOd
        JaFRURggXi1rfVAZFu3E33UHuMLwRlbfvZklFwIdAMVxGCIdJtJy9G25yXiP5Slg
        MQcp3RECghD2takCggEANtpKjyqJn8kHIsc5afHA1Uraz79hUC4Ic/cns++CK+t6
        LfqqurFrWvyoUj/VJYdjEz+PK9VO1Iog+q+cvorYbsgWKcQl2dtDsahxdTDRYk+e
        nslzAykcrjv84UHfvEAe9VKU0bXD5xmelCvpmIGZFm/1po8XNmAYgghZ1VJENgPn
        fwuH/2v99t4IAUy0M+JOZES/wYmpQmGSAqAyEFZNacfHrpvI22BWO9BJFOBGbxy9
        z/icuyuPK3d7d6LU1yLjBQXxaDrHXwMbxu1LozfXVUqj23j3oxc3AvIotGK9njXg
        RGhzTPfmyDdEdRQzYQ7obFgCVDRIU/stPS0zXjp2VwKCAQAIQcBcNyH4V4tTtTxh
        R71zWV2ve/K5cbkeb5EHJHhrjcxj4NCOS0ViuOPRlyXb+gRkZZyFOmPqG7r/wixN
        T0QAvr6ej8vSkl30h7JlxS64n2fMI10DplfQlw3RRN8+87NMLkMIA+VPlZANObTx
        TtJMIo5Bt2q/IM+bWuS8xyEIPgbV9WQ8JoA7h7Rc2C3wpFAVlProrqbbONz6QtM2
        /Oea1O250m5eZOKNHNUstUXFB+QFkaba9UJW7PAsHNprzS2OTt75H+mVENSACqjg
        L3mduTnGMAc6HYXb9VeNE5SIjrQx7iO7z5Itm5RrL9yYg8gMJk7YQGQLtRUHigXA
        G2zsAh0AmngZWXUrxs+GGsCHiaB4rRoDXfCpVEUrGSLApg==
        -----END DSA PRIVATE KEY-----

        """
    /// Diffie-Hellman.
    static let dh = """
        -----BEGIN PRIVATE KEY-----
        MIIBPgIBADCCARcGCSqGSIb3DQEDATCCAQgCggEBAP//////////rfhUWKK7Spqv
        3FYgJz088di5xYPOLTaVqeE2QRRkM/vMk53OJJs++X0v42NjDHXY9oGyAq7EYXrT
        3x7V1f1lYSQz9R9fBm7QhWNlVT3tGvO1VxNef1fJNZhPDHDg5ot34qaJ2vPv6HId
        8VihNq3nNTCsyk9IOnl6vAqxgrMk+2HRCKlLssjj+7lq2rdg1/RoHU9Co945TfSu
        Vu3nY3K7GQsHp8juCm1wngL84c334uzANATNKDQvYZFy/pzphYP/jk8SMu7ygYPD
        /jsbTG+tczu1/LwuwiAFxY7xg30Wg7LG80omwbLv+ohrQjhhKFyX//////////8C
        AQIEHgIcOXLYtA5RP4CBB2e0u6z3v4O3Jv83vftuzv8DdQ==
        -----END PRIVATE KEY-----

        """
    /// X25519.
    static let x25519 = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VuBCIEIHjGV4Jmtg1Mo99lKl4U9c81kKqYtqjkfftHx1NfYp5g
        -----END PRIVATE KEY-----

        """
    /// X25519.
    static let x25519Public = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VuAyEA/I52hRd9P79/kUL9vbJBEi/k/w8nD+LFn+kGKUybwEo=
        -----END PUBLIC KEY-----

        """
    /// X448.
    static let x448 = """
        -----BEGIN PRIVATE KEY-----
        MEYCAQAwBQYDK2VvBDoEOPzIkRHa5liJJG5hxywLBtAZ5xQ2swMJ15FLSzW6nkFT
        jshEjSEASi89SAI7Akxw7r+5ltRvWI3Q
        -----END PRIVATE KEY-----

        """
    /// X448.
    static let x448Public = """
        -----BEGIN PUBLIC KEY-----
        MEIwBQYDK2VvAzkAR51cElx2k9sl92b5WqbuhNYq2x6SNf2atzGuVsh/03dGcWe0
        +USZaPAjs343FbBXEXJKihQTiUc=
        -----END PUBLIC KEY-----

        """
    /// OpenSSH's format, truncated.
    static let openSSH = """
        -----BEGIN OPENSSH PRIVATE KEY-----
        b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz
        -----END OPENSSH PRIVATE KEY-----

        """
}
