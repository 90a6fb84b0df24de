import Foundation

extension Seeds {
    /// Fields of each type.
    static let structuredFields: [Data] = [
        #"sig1=("@method" "@authority" "x";key="a";bs);created=1618884473;keyid="k\"\\";alg="ed25519""#,
        "sig1=:K2qGT5srn2OGbOIDzQ6kYT+ruaycnDAAUpKv+ePFfD0=:, sig2=::;q",
        "sha-256=:4REjxQ4yrqUVicfSKYNO/cF9zNj5ANbzgDZt3/h3Qxo=:, unixsum=30637",
        #"HIT; fwd=miss;fwd-status=304;stored;ttl=-376;key="a, b", "Other CDN";hit;detail=*x:/y"#,
        "u=1, i, a=?0, b=?1;c, d=(1 2.5 -0.125);e=999999999999.999, a;f=-999999999999999",
        "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:, sha-512=:AAAA:, md5=1", "sha-256=3, sha=10, sha-512=0",
        #"@1659578233, @-62135596800;a=%"f%c3%bc%c3%bc %22%25", (), ( a  b )"#,
        "  42; a = 1  ", "a=1\na=2\nb", ":iZ==:", ":aGVsbG8:", "?1;*", "\"\\\\\\\"\"",
    ].map { Data($0.utf8) }
}
