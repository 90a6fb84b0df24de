/// A key whose numbers satisfy every equation but whose first factor is not prime.
struct CompositeFactorKey {
    var numbers: RSATestKeyNumbers {
        RSATestKeyNumbers(
            n: [UInt8](
                hex: "9fdf103832bf2d110acf2a21de5d474248464304cab89d3cd6c1efdfce548b49c31ba4f6f3e047a3b59f0a8b5b"
                    + "f609c20df2dcd34f3afe91eaf30dd35a7e19939d4fe1e875400464f09b9ab81907c290a28bc975698c0f885b4b"
                    + "450cd18060ed276af02b06dfea3cb516fbc7ba30067d8a5056843f7ab1814a683abb3ddb0a84d648ab84aa5cf5"
                    + "d92a83f717d9fe167d290530af06433e73e95930a1d0d07e5bbdf6d89c0c70b0486d2411c44011f186c08531df"
                    + "0ebed0403e97d907c623ca1e791b9f6e7264018e85e4a24a59e45a9f5bc01433bf8c4da85e8cdc3e31d9c20966"
                    + "c154949fed7fde497b20809652bbf2d0af27e7b0361ce0a710839b7dc1fe97"
            ),
            d: [UInt8](
                hex: "0383adcc43cbfc10f72c87ffe7eece558b57dabaa23cde0801033bb8af1a7602bb17ed25189b578d2668469d10"
                    + "4fca4b1fc4b4f7583333216b5ec87105a39155b36196d510aec5949fcd6be09c26eada046e0f91ab2e4f066fab"
                    + "5495ec37bc3f0fb2197178b1e213a4e4ca72cb89a96587c2d8595e8e8894650456e0d82d412a92d2adbc0ef13c"
                    + "241bf7d1d89fd24ba88a47913a3effb51b5c813988355c63f2dd8316d17ae86d09e74d0b4c2ccb74f75cd44965"
                    + "77bef01c42a072e16176c0bee12c86f68d9e61f5be5692477aef52641f8716868ab8cee0a6da89e55623eced44"
                    + "9c98397fd833a495d7053aa674a5ddeaf3d8d02184dc434fe1c8a0293c36b1"
            ),
            p: [UInt8](
                hex: "c45fad2a92d3043afcf249f3d4e441c3a20ab57c360c4979a7cf94d7b6bcb64f1aa4b64091b1078e926baeafe7"
                    + "9a27e68ab12c32f6f22f41538e504edc52bdcab2d87d5e29c0e596b2109307abd8952c9b16f809fdb17f544799"
                    + "7b6bdb3d115007564931edcf6109ea6d5547ae96619356363b4be779c4703b7dae0495918695"
            ),
            q: [UInt8](
                hex: "d06a0517837763b24c2532555c20705b1f6c0e99b7d1c52a4d8445696531fe701ff3e59a505af975ad6ace30e1"
                    + "00e47d6b14a9c9be2b303e0bf66e377d6609c94e0230cc4cf8f3ab0290c7efa87441ef0910484c208114e90bd7"
                    + "2b4c5977c6e6d38975a1781fa210e13272323574451143e704c7702f87e99532509088e0c17b"
            ),
            dp: [UInt8](
                hex: "bef5933d5d3dda554a788a359486caf4e4f4a8fb3acbc3ff8b922ed97e1810e8e7add894fd983b13078bb379d7"
                    + "2c6f349f161f3708310686ee2bec2863d40a3fbc9f0d7aadfba8c75c2d05ed65ccdd735cf57f0aa82b1cf8e60f"
                    + "7897afc0b8bf2c035a76351d7eedd78bae6c60785836a09568202dde9989d2302b32c60797e9"
            ),
            dq: [UInt8](
                hex: "67a6f2d558eafdc8651a72c8054394dd9ce90ef1e07c1185127c605124a512980d2c2ddaeb6ff3755544333c18"
                    + "0b6b97fcb39025e7d06ef3ccdb48c18c3a3d4fc2de500aab957d0a66023f8dafc7f22ac1e5392fb352bf65901f"
                    + "f946c5904e79ea6708fbbf546c33dcec4be330b69ccb136c47f23097530f16c6a94ed8e47f15"
            ),
            qi: [UInt8](
                hex: "bf8c71b560e6ced09fb5b40d7a8ea8a8a11e775af60aac6625a11611b7bb0126b9d43cd2e02551d4568b4659c4"
                    + "3f344cb335ef50b9679e0caed08b0ea1b01d3085decee1af742afa0bc97a4d803a77d1c3cf6a248c646c634038"
                    + "06408a6c30150f1499926ab2d2735f0e4ac48e66ae4f820d6ec6cc9b0945fcc98e0390bcb2d5"
            )
        )
    }
}
