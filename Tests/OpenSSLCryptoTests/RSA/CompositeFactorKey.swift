/// A key whose numbers satisfy all equations although its first factor is composite: the product of
/// two primes.
struct CompositeFactorKey {
    var numbers: RSATestKeyNumbers {
        RSATestKeyNumbers(
            n: [UInt8](
                hex: "c4823591927924967347ec8996ac9da1b1c877f9de1dbcae54e56acda386bce2cca106c9e309804c945998cc98"
                    + "f17239602136d03879b5df6d6acc4ed923b865521d147c0d58495531e638244575c6f1609b41ae0809c8bed315"
                    + "a2f8b8e9161c7d8743d6135395425f53044b4d51d6847400dbfec28a71b330a7d82ca2a7a48c2452f33e102ec3"
                    + "6789059a7a85d73fee89d4c93b51afac21b30873bf52fb70a795ae9c929db6371211c33783cf4a354c7acec338"
                    + "a9f7238361ac5bf4cbafd514104964d5df1a8e9530988509cc25aaff8a2038a05cf3abcfaa9b91a5ac85254b3c"
                    + "95c390adee4de9d4eac55f2812405f25c36feeff7c874e93ad17c9671a7827"
            ),
            d: [UInt8](
                hex: "422668fd0397373b543c5282708fd41281e3ef8b53fba3aff5d132d65da576414ccc2a1a5d0cae3d59351e0c45"
                    + "b205970de6b06a80906c2a75cd5d506fa528262771b59b1aecece6ba80fac62f01ba4238189b900791af9b9938"
                    + "2fdfd5735567aad41580638a1ff5335ca155ee05ce16516c96a2187ffd4d6a641e0fcc836d8ece840ca8cb4be4"
                    + "72de80fc7152a649bb5af56c2be0fb80d716d2eebc6e6fb0b723ab55ef32f9723ec1664b32d82878031cfaed3d"
                    + "92bb77a7f7b27a823a8b8f5cd4dbdd8d0b31207bac6cc2d6bc127a5c35810db0d522fe939ab58480d7ee26b7a6"
                    + "120fbe8a4e6bd04769c567ca0dce52a596f482cf58ac68f6ef5a07b5b6cd6d"
            ),
            p: [UInt8](
                hex: "e4d5dbc2d213eb9f4406ad8bf10940587aa949fbc6da803daeb6c868d0a8d34888006faf3e925f3685e908055d"
                    + "97955c126924d96569c42ee01dd965e44491072165a032282192b146e163cf73de7356222cbfddeb573989e0f8"
                    + "6f7fb160f7f299983d3e314e7fa64f462a8c8ffffe8541421dcbb0c1cccd632e61ea8e0fa12b"
            ),
            q: [UInt8](
                hex: "dbd5f6d2f09529af81dda9da14f5079168e06b0c4f27b35c11b5aecda386a3a0b730d88fe1e8a4aa1f9db8dd8a"
                    + "3b09dd54bec7d835c33744af929a91f4873115cd425ec38f1389998869510db4a02517e1ff83ab26a2658f3252"
                    + "1553e014be00caa7e9bfd00724a123cf493f0febddf88d1a6bffff9a39142335e9e266ceaef5"
            ),
            dp: [UInt8](
                hex: "5a6f5a064857af0aa62bad725cb3b74640539ef56dc4f4616c26b8551401645e89c10262536c2d4cb2e741503d"
                    + "88a67258a44cf7cd685b2bdb4e70981ffa29069460414b1129137c13f3072af933b48919c06da31a5ac256871e"
                    + "2792635b5b21f9297d2a92f9dee0aefb9fdd251b9a4eb75795c6e5f7f1244a4a0e50500c4539"
            ),
            dq: [UInt8](
                hex: "cf031364dbec7aceacca21b21d5e07fc63f84095dccc13d8354d1308ce5e71235c9e80b02d19b8460373b0abde"
                    + "096e669ff0ef9ba834e68ca590b6418f34e7821241d79eebd28816ae200e958b6beac22cad423e1f2979dd7893"
                    + "57461e9329c0f11561c6a08cb96f8c9b1bec687fc20cd642f544a25b86387257c8a0cc130129"
            ),
            qi: [UInt8](
                hex: "6a49ebb07c8b721db016cc03ed3fe4a69ff720ce06446e5aa48b55430e71cb5208a4d425ac06cb20e2f84203c9"
                    + "265c5276c958b8d63d291bd10370a89a4161177fa14f7f34856b073122fd0d283c94f1d18494d6272199ef21a8"
                    + "d4dde346e9b7f37ecc6f5fc06ca21f2432dcdbf981db4bda5e5ff34c997b4a16d5aa3bb3e099"
            )
        )
    }
}
