import OpenSSLCrypto

extension RSAPrivateKey {
    /// Creates the key pair of ``KeyPEM/rsaPKCS1``.
    static func test() throws -> RSAPrivateKey { try RSATestKeyNumbers().key() }
}

/// The numbers of a key pair, for modification by tests.
struct RSATestKeyNumbers {
    var n, e, d, p, q, dp, dq, qi: [UInt8]

    /// Reads the numbers of an RSAPrivateKey.
    init(pkcs1 der: [UInt8] = [UInt8](pem: KeyPEM.rsaPKCS1)) {
        // Skips the SEQUENCE and the version, then reads eight INTEGERs without leading zeros.
        var rest = der.dropFirst(4 + 3)
        let numbers = (0..<8).map { _ in
            let first = Int(rest[rest.startIndex + 1])
            let sizeCount = max(0, first - 0x80)
            rest = rest.dropFirst(2)
            let size = sizeCount == 0 ? first : rest.prefix(sizeCount).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(sizeCount)
            defer { rest = rest.dropFirst(size) }
            return Array(rest.prefix(size).drop { $0 == 0 })
        }
        (n, e, d, p, q) = (numbers[0], numbers[1], numbers[2], numbers[3], numbers[4])
        (dp, dq, qi) = (numbers[5], numbers[6], numbers[7])
    }

    func key() throws -> RSAPrivateKey {
        try RSAPrivateKey(
            modulus: n,
            exponent: e,
            privateExponent: d.secret,
            factors: RSAFactors(p: p.secret, q: q.secret, dp: dp.secret, dq: dq.secret, qi: qi.secret)
        )
    }

    func keyWithoutFactors() throws -> RSAPrivateKey {
        try RSAPrivateKey(modulus: n, exponent: e, privateExponent: d.secret)
    }

    func publicKey() throws -> RSAPublicKey { try RSAPublicKey(modulus: n, exponent: e) }
}

/// The numbers of RSA keys that anyone can factor, and of other keys to reject.
enum RSAWeakNumbers {
    /// The inverse of p modulo q.
    static let swappedCoefficient = """
        +FG0Si/dFiA1rfGNQiGU7kwKRCey7TOMYLxge8BpXi9vIpdW3j2ya13atl8yWoltVYjbvuAmls9M1R2GDLms+cMv4x24Y3srucS2vo4zJ6kkMgqn
        9n/Y7WeE6lGmskJeVtbUI1xTGONEm2CUlhvx7OfL7wa8foU4S8qEJ/hhsdU=
        """.octets
    /// A prime of the same size from another key.
    static let otherPrime = """
        yCgvGKi+V0LXs3wh5ZWrv6aWuB7aavPDD1ZrSAjsBlTtJJo9TyBqFaZvjNpmz8220xd2qS4h7Igl4gZCwaI57UagSOJPSM8x4sGcvnn3cNtYj09n
        lPGdBELiVgMnn7CLKGdZ0Kevueunkq/AcreLY3UwzUs996kShICfcKzoodk=
        """.octets
    /// The product of two primes computed as described in CVE-2017-15361.
    static let rocaModulus = """
        xkBEGlbE9s/JrfJ9UWlRI77KwVLgnUZKNMzCsSEQfI7av/xI/vgdf+c0QRv9Y8n2SN/ZXI7/tCUTo0ONce4Po+LNWyyCR/7PTCVJ6FpLENMKQSRt
        TLkfkBixCfajEfd1++Nvz2ET6oFueEODDtbafplsHvURjym/PDoYmKzAEkKWJ37p1zU52O0hG818p8XFmakOzJPbYAOTSoy7n3M1zJHgejJo3C/6
        cpL4a6eKJz4X4Q6fpnfoUU+X+6UJg5q+Nua472gbMeKqGfoyZT44SNzBxcrLqpkvg0coQGcjymQUKRFOFSPlqhZf/2SAnYKFefuakHlIZCp8i3P4
        R9/fKQ==
        """.octets
    /// The modulus of a key pair with 1024 bits.
    static let shortModulus = """
        oa4dbGVwA9WWyN7qvB3t7rfnj04mbBZnco78AAFmMhufKySocwE2FIRiA8ox+SIR9Xr11bMAl7RrUSAZsx7VKlqYSuDrT2yrGhvTjDpw6lKF9cRR
        MKTXrh30p9kfFZu7zcosDzeAM0ThK5fAtmp7a5FspsfDliGiR/vDddRX+Wc=
        """.octets
    /// 4093 times a prime.
    static let smallFactorModulus = """
        0wX2ALQvIco0usTmLPOTg8livOYr9gxGojaOV1qnOqIKf9bkgdHHUvRxRnv8ZrXMv/VxvWWhZsAcg9rE2f7dzqPr6kq/gi2DnFPOsOpfcRGPDA7b
        BTy1Oe0X77emrHaE2j9rn0i7r9uAMzJ5rKYEjWVkEUebMF0MQqs9rwzph5k/ZlQ/AiCX2YoQ5+nb6n30HGxp7IQ+SwtBKnYVLNalsVUyfQFBPjnv
        3DH+M4xzhKZD2A0wFByN++1n1st7Ld/R+ts5mGKjr7dgg1WU/vAG7s/qEnB1MBUfWEPQiCgagTKz8NZ6WhzwZe1aZYqZGFDVkMkl7/aKZ7k84i3A
        fGJYYw==
        """.octets
    /// The product of two neighboring primes.
    static let neighborModulus = """
        yguuE1pysNpDWc8gP4aiGD2jnLlsp3iU8U3Zxe0DcMTy9HuquSrOc3CTxCo1ZJoma+Mr25Jn2RND+KaM47GJCVeANEwuoW8pxeN03SR1shd8KKEs
        lCl76fEXAwIq05zySOFtYCxCd2+I2bxptZfX32oComHOU2WTKab5Cy3qOL5kt634OM/6zoTgCJ6jI0XYasiO5IDGWyj2AaAhx9NkNjrdidZDWsRY
        zgM23tyBnShEH4zOzx9mUTOo0Ua9iNSBAdxI4qyK3615LUrqcCet5KlucqVO8VLuRjNZ2rujzcTr/UGD26BopTDP5jBUMn+iqzQn7H36HoW817ZC
        TzjwCQ==
        """.octets
    /// The product of two primes with the same upper half.
    static let closeModulus = """
        yguuE1pysNpDWc8gP4aiGD2jnLlsp3iU8U3Zxe0DcMTy9HuquSrOc3CTxCo1ZJoma+Mr25Jn2RND+KaM47GJEHLtlJGrjiDN+ZkOEafpBVR0FYg8
        vnoAPdItVUlyl0BgAdUq+BE05aWFJ28ST0ETOXqM+FxIxZM0v8AS+QLgCiUVhGfyhdpXg3DttOMRTo8yaoKSurYbYgE7TWqROLgPRzirvh9ESmnt
        1+LzR2MjB4HZbvBcELx6AMmcUEtsGoXzA7gTXdMO5rJpTMzURdvFU47X1NC9FZlU2jBpYPsNUAufUs/MHbC3F3HCUO+bPYGb3tlyilJDyBvXB6TJ
        gwxjzw==
        """.octets
    /// The square of a prime.
    static let squareModulus = """
        yguuE1pysNpDWc8gP4aiGD2jnLlsp3iU8U3Zxe0DcMTy9HuquSrOc3CTxCo1ZJoma+Mr25Jn2RND+KaM47GJCVeANEwuoW8pxeN03SR1shd8KKEs
        lCl76fEXAwIq05zySOFtYCxCd2+I2bxptZfX32oComHOU2WTKab5Cy3qOHA3BIr72qRYwEwSc1z9LrI5w5qhMq9Qq45KDBcRsmtef0hkZE9s8AgG
        9qyJoEI8EEmOLdsLjDdwX8CUtA6W+NJEQldHgvYFSOPHKT9adTUxiyIHccQyyW9MlVJzPBvOPy3BQGdBkfj9SLxRCy94P5a9Lc80jIFYowDi5zLH
        akI7cQ==
        """.octets
    /// The modulus and the private exponent of primes that differ by about 2⁹⁰⁰.
    static let similarModulus = """
        yguuE1pysNpDWc8gP4aiJnR+XURmgNvdWLkMLvPqFz7izknLDcvXGzLAaLjE6+EB3cqnC1xMtX88lAveFwP/vXiU4EEjhcps8hWouM5hVWhZKYom
        tVkLsYXR7daG/7OOMvQnt6W+FS/XjkNvRwR9b0M8Pm3bt6ej+QPbC1Xn2Gcst8z4i/UykvSjJZ56ODJQljp4zioMD2HTPiIrIcABpDl5p2ikygMR
        z2hd7WtlzfT6oY2RsOYBL4iEiVh7bCFJyoveniTZXedMLkBfGpqxErHvKb9PVkBrigbiGhYIYQRT99HSQPVUBQ/mhHMBCb2EfUXAnS2rGUwdm9tG
        xq1zyw==
        """.octets
    static let similarExponent = """
        FQmyToGUf6W6bZeLnBHAwJBQuBVvNuut2JcsFZeAQHtj0mcMpZscAtD+B+l1V7pOH3ICgsRRmHRvMlsp/OuFrYzos5EUydGSFoL61oNmzyXWYuTn
        supatVlhyooT9HwVymhx2kV/zWT15PJQm+xzwyoVE8sMncru3/buz/dZ9MZaHOJvT9Du414lJo6p50GLk8zCG6O7MSz/f/H+jLjbs8y1vdNJWaf1
        twehN4fvSAU8AWyDT9wmT13ta7jn8+Q8RlJ2C2gKRqrC2Vs6Fkv2TM6HUEKd4GxgJHDjhD5JggzxAof5kHFcBijmv1bPt5vaZYNLZLhsfGrVVDY9
        lh0ngQ==
        """.octets
    /// The modulus and the private exponent of primes of 800 and 1248 bits.
    static let unevenModulus = """
        rFpfKAxiGswwkYiXZifsDBPkYBIaDCzjaAi8Aggwg74CJxGQk7DVEUf8iWmjlyWSUDULyYpBDqc5Q+6lF7MiWLfXjlQujw6ibfjpISxXSe8u/dV8
        UFDvu1MWVIFGqvO8JG2qOdCVOzOvgOxgTWhOTa0n/LeB+l+9uIrlHtq3Dh6fClHlmD/FSSmAEQMXPhIrFZJcXcoDJ+TxkWX+T0ujbqE/h6FLub2C
        bM3tovEuU7WwcHf2oconFa+T4XqLzJHf6wrgUC+LBlnhrqbg49yot81zCOzSN1Js/h5yQsYZR5Tq4so87q0+SkE+L3+fjTFr/8tyEK6lO3jZMAmF
        t/jcbQ==
        """.octets
    static let unevenExponent = """
        JFqViq19/fgG4JOml5ohHHUPrUH0M5A+UUHSYj1W+lrYOmRmkfhxIMmF13gsVOPMZlWiDFs4mL4mApGySfrzajIw6ekQvwUPttGTXvdq3AHy8ACZ
        TZmcz27ZnW59OO7bRvXIu2b9GIHznG5D3YbZ+O+F9wYos4+BqtULDb/5qg8WzeRGHIeEGMBGUJgMZsTiSIYKmmxO8d/2RYll5qWIpLR21Nl1wgez
        bg2c26AbrKhvSZ8ZNh3YwaTaRYTmKVzCGEn9szcoD0/gc2d9p3/PRdoOsZWi4ficPl5O7d4BJPUmjXstQj4fWaNS+LSC7v8XswSttK19E5vbfc3Q
        t5TnUQ==
        """.octets
    /// A prime and the matching private exponent.
    static let primeModulus = """
        zbA6RrQ13u7mDEJxk2FCOfE0cTMxLMOdArCexYX3Z/kbAtH1hMVZBBfqqFSXbSHBcvVpRVsDFAxvDp5qTagFjjYIOj7BOWuX+PiwIf+DU/ksEto1
        XjI7cVA/oHWc6/VdOylRr45M0uH27yGP7gSPwCtK/VSUHhfO9uDUDVQouAPVEBL25LhB5g2+a8FsNM9shPpJ75FhLE6T+NWjvpfA4fYnwCAHQ8f4
        mSEMY101JFD4Qh/BMFUpG9HSqA1ReHyxe6IXBDqjwF43+DhEwHGFMnWYUHj3ppdWE9B6cHHvYk6gdou4hALMDWhrTI+N0eLTOPQK/nyKHVbTDwKQ
        ZIyR7Q==
        """.octets
    static let primeExponent = """
        y2TmW6A8XRTTu2/Aq8JTIMTZ3M6IZAGTM2O/vQb6XYBBK4q/Q+l6WsfjrUzo6GumxazTyldzNdINx+DysZPi2nunqyD/JW61uucAFL57+P++i23n
        tBvsF+MI5/0ljVb2OFhlhDos0aPM8S65Ct7L33VwFA4c4Z0ddZdhWUTNdxmjCOAX8Jgb4gfZMujzvU0XvG9byWBzPML/I+LuprudalRlfmCtjmMh
        +xppC6DRufWvaIPKH6c2nWHg83koBQMY5m6kX/Q0lTcWFYhexAX9dqY+VeUozz17SuCvEp4333hsyIzlivTRHrkQ0YZq8Q9hW0JH1NsGIHkJACDC
        9ArlCQ==
        """.octets
    /// The product of three primes and the matching private exponent.
    static let threePrimeModulus = """
        AUmZlwhZl7pgxosx7cmKpE7aq1hxZ7C6xt2Bqdwijss8pZqRjClQQExmYvKZbnn/ZNhTNJg+Nj25GavFpnDobIDTAKIIUP1e06dKwZKAfQN4VlhN
        7E55TZDQKh+iL/e3/rPqqqxIifn1Q0maCu25eByCDE9c092LyGrTL9tb3lM7ixXCi8Fa1PbtSXVellLZImL9OaPsh4F48ovNGgyXcA/B2lw/P3zf
        PwY/KpUIyGqFZLyjRnfFYCT7lNw6OHZXTfGRfNS3Vl/53YqEkHD2h3FQaif7U4tptX7RNU+LF8rwNO+j6zy0JJeP8OGA2uyQVDxKs/wXivecQAQw
        X5rBQec=
        """.octets
    static let threePrimeExponent = """
        BAiPIpkGFE/O3jE0Ob0qmZRveFua6zy95kQJ8hmyKaaKWEPjtTW4M7clCtb51SBc+ZC7GgnY3BSBzepTSRpvCXyLi3ASnacla+ysRcCwxvQYCmiZ
        tbIG0TTImeyRgujTSU3vcvA8U+uZQLke0zocoQWoAL7feI0eOWqcrtb9hUK0jrpKxyefJl7Kl04bXfz81m76fMWdnoxp1887hQYOR6uwqDJvyvQY
        ojuSZF085IdRGtF1C7FZwLCLPPZAFnLwnu3gFuGPTNC2hXJEZLo1vlkU/HsGymFiDsCGYj6em5OmeMUUtxHzZ/7ezrcoWOVfedIRqrJghET4hepf
        BZuyAQ==
        """.octets
    /// An RSAPrivateKey whose numbers satisfy all equations although its first factor is composite:
    /// the product of two primes.
    static let compositeFactor = """
        MIIEowIBAAKCAQEAxII1kZJ5JJZzR+yJlqydobHId/neHbyuVOVqzaOGvOLMoQbJ4wmATJRZmMyY8XI5YCE20Dh5td9tasxO2SO4ZVIdFHwNWElV
        MeY4JEV1xvFgm0GuCAnIvtMVovi46RYcfYdD1hNTlUJfUwRLTVHWhHQA2/7CinGzMKfYLKKnpIwkUvM+EC7DZ4kFmnqF1z/uidTJO1GvrCGzCHO/
        Uvtwp5WunJKdtjcSEcM3g89KNUx6zsM4qfcjg2GsW/TLr9UUEElk1d8ajpUwmIUJzCWq/4ogOKBc86vPqpuRpayFJUs8lcOQre5N6dTqxV8oEkBf
        JcNv7v98h06TrRfJZxp4JwIDAQABAoIBAEImaP0Dlzc7VDxSgnCP1BKB4++LU/ujr/XRMtZdpXZBTMwqGl0Mrj1ZNR4MRbIFlw3msGqAkGwqdc1d
        UG+lKCYncbWbGuzs5rqA+sYvAbpCOBibkAeRr5uZOC/f1XNVZ6rUFYBjih/1M1yhVe4FzhZRbJaiGH/9TWpkHg/Mg22OzoQMqMtL5HLegPxxUqZJ
        u1r1bCvg+4DXFtLuvG5vsLcjq1XvMvlyPsFmSzLYKHgDHPrtPZK7d6f3snqCOouPXNTb3Y0LMSB7rGzC1rwSelw1gQ2w1SL+k5q1hIDX7ia3phIP
        vopOa9BHacVnyg3OUqWW9ILPWKxo9u9aB7W2zW0CgYEA5NXbwtIT659EBq2L8QlAWHqpSfvG2oA9rrbIaNCo00iIAG+vPpJfNoXpCAVdl5VcEmkk
        2WVpxC7gHdll5ESRByFloDIoIZKxRuFjz3Pec1YiLL/d61c5ieD4b3+xYPfymZg9PjFOf6ZPRiqMj//+hUFCHcuwwczNYy5h6o4PoSsCgYEA29X2
        0vCVKa+B3anaFPUHkWjgawxPJ7NcEbWuzaOGo6C3MNiP4eikqh+duN2KOwndVL7H2DXDN0SvkpqR9IcxFc1CXsOPE4mZiGlRDbSgJRfh/4OrJqJl
        jzJSFVPgFL4Ayqfpv9AHJKEjz0k/D+vd+I0aa///mjkUIzXp4mbOrvUCgYBab1oGSFevCqYrrXJcs7dGQFOe9W3E9GFsJrhVFAFkXonBAmJTbC1M
        sudBUD2IpnJYpEz3zWhbK9tOcJgf+ikGlGBBSxEpE3wT8wcq+TO0iRnAbaMaWsJWhx4nkmNbWyH5KX0qkvne4K77n90lG5pOt1eVxuX38SRKSg5Q
        UAxFOQKBgQDPAxNk2+x6zqzKIbIdXgf8Y/hAldzME9g1TRMIzl5xI1yegLAtGbhGA3Owq94Jbmaf8O+bqDTmjKWQtkGPNOeCEkHXnuvSiBauIA6V
        i2vqwiytQj4fKXndeJNXRh6TKcDxFWHGoIy5b4ybG+xof8IM1kL1RKJbhjhyV8igzBMBKQKBgGpJ67B8i3IdsBbMA+0/5Kaf9yDOBkRuWqSLVUMO
        cctSCKTUJawGyyDi+EIDySZcUnbJWLjWPSkb0QNwqJpBYRd/oU9/NIVrBzEi/Q0oPJTx0YSU1ichme8hqNTd40bpt/N+zG9fwGyiHyQy3Nv5gdtL
        2l5f80yZe0oW1ao7s+CZ
        """.octets

    /// Returns a modulus of any size without small factors that isn't the product of two close
    /// primes.
    static func modulus(bitCount: Int, last: UInt8) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: (bitCount + 7) / 8)
        octets[0] = 1 << UInt8((bitCount - 1) % 8)
        octets[octets.count - 1] = last
        return octets
    }
}
