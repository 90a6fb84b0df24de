/// PSS signatures with SHA-256 of the four bytes `trap`, created by the OpenSSL command-line tool
/// with the key in ``KeyPEM/rsaPKCS1``.
enum PSSSignature {
    static let message = Array("trap".utf8)

    /// A salt of 32 bytes; the first byte of the signature happens to be zero.
    static let salt32WithLeadingZero = """
        AEnhjPfXaxeggS6XJnacPsvQ9im53cajTfaNebCLe1/X0v4QIBiq+w61XXlY0ECjSLyHNZKksq5o6oAZ5urKXwmBZP+oBXS6qlRhVYZnr5v8IVkj
        mximq5gD8617BZTB6wjqZJZ4a7URERE/nSk4WC7hN+ejI9hq8IP3DQG4TRYh5HydXmcsgHtTSF4qsh6fa/dAw8QsJi38DX6H3m+QNIpzdej3eHhJ
        gEc1hzGrSyJIkoIN8SaEy2S11E/0Tjj8t+Z38iknYJw/5HL4DLmGRH7A/SIhZfceup+/4NcVNsJvtZxADuuB123bvrTYmF8752fIwGFaFzPJ4vy5
        NvlXcw==
        """.octets
    /// A salt of 0 bytes.
    static let salt0 = """
        D0dvnnOfRtfFfEWEKxNbyYkmEMzsd4zNcKwBmks0jrdhLIvSdG2StMyCzNksSt8PllQAwEPbNtAY58sSgDuK9N+u0/VXKpfHdBT9j9sUwP08ylI2
        ZNW2RoZDIG4WhsNNSE9IYHCbpvEHKnI7fkMu90/b7AlmIVwXzMiF8e7MAPBZCgREriJH2qDHCZ6hpe5FT2dG2QG5qUL7v6Sq6mAtvTjeH2zH2dIe
        O2txpB/x++YMOn/bHCvA8cS9j7jCHdT64Yk08Adnvn4kE8GMM/FGY+c0yAOkxfwMHSBLCIKZC02z4ucoQWW3HjUpy1OQ6U+gyahFrgGgoLqLBVIX
        lm8kAw==
        """.octets
    /// A salt of 16 bytes.
    static let salt16 = """
        MsJ9NGNqj+hP8cozqOgobgjDdI16adKGYYHTll2Rtd6SR5Y5VmQ+RaGtgtwt+jUI/H7Fx2n3sDk/YrvoTKc0KH9JfKisGU2KbUVYNcLiDIqqVV6E
        PmufqDfvkWI0t9FjHMNkwTBHEwlCaeladieJ+3oclltNP8+Z2BEhhs6pj9W/XFnDf77UfPOcZGvCraEtpI2GUODVUtbysDdLfMrUFw6+UElAnliJ
        r0oQjuXYdFB2/QetFrZi1LTY67sbcq/F14EGyfTFVeya36N7/tjK4wsbaJGf/n/VjZqbKi7NQNCldwul4ON3kjJTKY3p4D3DmCz0NOodCnSRj/3M
        E0uU3g==
        """.octets
    /// A salt of 20 bytes.
    static let salt20 = """
        bo5KI0qTXmjYLe9QkyT3FHEg42aUIEQugq3Xk0vw36yCODHxfKv7PhqyPNwRhZN5QAsEWq7KlQ5QFnuZZzYyAQrh2MdHdjnK1iSAKalqQnm5Y1vz
        +au+ljLxrwbgWbPlFYycoDZZT+Bw1GndCiD1mnT0a8peDUqXZOcUdzyUfRp9qBuTy0GhnDFZorsZDSYj58t/pxT5GxlHnFtAxMbaru841h0uFr7h
        0Qb8M/P7pGTO1GrXz6odrsQIRUdqPcy1uP/ozJfl5xgx7z4Ne2SNZ4NNHskf480hPqk71QOl/G0xqIBSqBqB6iDB5cvkMJL7LgS2/OxXuk1s+qSO
        5+L6Xg==
        """.octets
    /// A salt of 222 bytes.
    static let salt222 = """
        8hgnP8NdQ2BKyhliaxYesGh0Z+Xov1V9DGpBLgoBeUz8N+vj2xG+wuYvXdcTHJw5WH0qelf5Xb79VKCUAIw77Nj/auDLMnLVZCcxQ1e12Oad5X2o
        mcq4J7fMvzxb8p0RDoISpQJ1ldhnXrjsO8GRTCfPnwSI379f3Wx1JqUd9XWtbpnoE/KHSmIEZf5WzFd1M5AnfUJNnjtQPpAsMT5419tYcEDSTgUl
        V3bPIvGxxBye4VTfE7YVMLWqavHCB1eh3dkWeyonhdHW0/2A7msXHlQr4LeV0b/hOBvOcPfNzfMm3AY0bkKncQ7Mr3HTFv8ax2TZBrUC4sg0OPeX
        SRCjlg==
        """.octets
}
