/// PSS signatures with SHA-256 of the four bytes `trap`, created by the OpenSSL command-line tool
/// with the key in `RSATestNumbers`.
enum PSSSignature {
    static let message = Array("trap".utf8)

    /// A salt of 32 bytes; the first byte of the signature happens to be zero.
    static let salt32WithLeadingZero = [UInt8](
        hex: "0049e18cf7d76b17a0812e9726769c3ecbd0f629b9ddc6a34df68d79b08b7b5fd7d2fe102018aafb0eb55d7958d040a3"
            + "48bc873592a4b2ae68ea8019e6eaca5f098164ffa80574baaa5461558667af9bfc2159239b18a6ab9803f3ad7b0594c1"
            + "eb08ea6496786bb51111113f9d2938582ee137e7a323d86af083f70d01b84d1621e47c9d5e672c807b53485e2ab21e9f"
            + "6bf740c3c42c262dfc0d7e87de6f90348a7375e8f77878498047358731ab4b224892820df12684cb64b5d44ff44e38fc"
            + "b7e677f22927609c3fe472f80cb986447ec0fd222165f71eba9fbfe0d71536c26fb59c400eeb81d76ddbbeb4d8985f3b"
            + "e767c8c0615a1733c9e2fcb936f95773"
    )
    /// A salt of 0 bytes.
    static let salt0 = [UInt8](
        hex: "0f476f9e739f46d7c57c45842b135bc9892610ccec778ccd70ac019a4b348eb7612c8bd2746d92b4cc82ccd92c4adf0f"
            + "965400c043db36d018e7cb12803b8af4dfaed3f5572a97c77414fd8fdb14c0fd3cca523664d5b6468643206e1686c34d"
            + "484f4860709ba6f1072a723b7e432ef74fdbec0966215c17ccc885f1eecc00f0590a0444ae2247daa0c7099ea1a5ee45"
            + "4f6746d901b9a942fbbfa4aaea602dbd38de1f6cc7d9d21e3b6b71a41ff1fbe60c3a7fdb1c2bc0f1c4bd8fb8c21dd4fa"
            + "e18934f00767be7e2413c18c33f14663e734c803a4c5fc0c1d204b0882990b4db3e2e7284165b71e3529cb5390e94fa0"
            + "c9a845ae01a0a0ba8b055217966f2403"
    )
    /// A salt of 16 bytes.
    static let salt16 = [UInt8](
        hex: "32c27d34636a8fe84ff1ca33a8e8286e08c3748d7a69d2866181d3965d91b5de9247963956643e45a1ad82dc2dfa3508"
            + "fc7ec5c769f7b0393f62bbe84ca734287f497ca8ac194d8a6d455835c2e20c8aaa555e843e6b9fa837ef916234b7d163"
            + "1cc364c1304713094269e95a762789fb7a1c965b4d3fcf99d8112186cea98fd5bf5c59c37fbed47cf39c646bc2ada12d"
            + "a48d8650e0d552d6f2b0374b7ccad4170ebe5049409e5889af4a108ee5d8745076fd07ad16b662d4b4d8ebbb1b72afc5"
            + "d78106c9f4c555ec9adfa37bfed8cae30b1b68919ffe7fd58d9a9b2a2ecd40d0a5770ba5e0e377923253298de9e03dc3"
            + "982cf434ea1d0a74918ffdcc134b94de"
    )
    /// A salt of 20 bytes.
    static let salt20 = [UInt8](
        hex: "6e8e4a234a935e68d82def509324f7147120e3669420442e82add7934bf0dfac823831f17cabfb3e1ab23cdc11859379"
            + "400b045aaeca950e50167b99673632010ae1d8c7477639cad6248029a96a4279b9635bf3f9abbe9632f1af06e059b3e5"
            + "158c9ca036594fe070d469dd0a20f59a74f46bca5e0d4a9764e714773c947d1a7da81b93cb41a19c3159a2bb190d2623"
            + "e7cb7fa714f91b19479c5b40c4c6daaeef38d61d2e16bee1d106fc33f3fba464ced46ad7cfaa1daec40845476a3dccb5"
            + "b8ffe8cc97e5e71831ef3e0d7b648d67834d1ec91fe3cd213ea93bd503a5fc6d31a88052a81a81ea20c1e5cbe43092fb"
            + "2e04b6fcec57ba4d6cfaa48ee7e2fa5e"
    )
    /// A salt of 222 bytes.
    static let salt222 = [UInt8](
        hex: "f218273fc35d43604aca19626b161eb0687467e5e8bf557d0c6a412e0a01794cfc37ebe3db11bec2e62f5dd7131c9c39"
            + "587d2a7a57f95dbefd54a094008c3becd8ff6ae0cb3272d56427314357b5d8e69de57da899cab827b7ccbf3c5bf29d11"
            + "0e8212a5027595d8675eb8ec3bc1914c27cf9f0488dfbf5fdd6c7526a51df575ad6e99e813f2874a620465fe56cc5775"
            + "3390277d424d9e3b503e902c313e78d7db587040d24e05255776cf22f1b1c41c9ee154df13b61530b5aa6af1c20757a1"
            + "ddd9167b2a2785d1d6d3fd80ee6b171e542be0b795d1bfe1381bce70f7cdcdf326dc06346e42a7710eccaf71d316ff1a"
            + "c764d906b502e2c83438f7974910a396"
    )
}
