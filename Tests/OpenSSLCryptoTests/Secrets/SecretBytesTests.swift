import Foundation
import OpenSSLCrypto
import TestSupport
import Testing

@Suite("SecretBytes", .computing) struct SecretBytesTests {
    static let text = "correct horse battery staple"
    let secret = Array(Self.text.utf8).secret

    @Test("Provides its contents") func contents() {
        #expect(secret.count == Self.text.utf8.count)
        #expect(secret.exposed == Array(Self.text.utf8))
        #expect([UInt8]().secret.count == 0)
        #expect([UInt8]().secret.exposed == [])
    }

    @Test("Rethrows the error of the closure") func passesErrorsOn() {
        #expect(throws: CocoaError.self) {
            try secret.withBytes { _ in throw CocoaError(.featureUnsupported) }
        }
    }

    @Test("Equals only secrets with the same bytes") func equality() {
        #expect(secret == Array(Self.text.utf8).secret)
        #expect(secret != Array("correct horse battery stapler".utf8).secret)
        #expect(secret != Array("Correct horse battery staple".utf8).secret)
        #expect([UInt8]().secret == [UInt8]().secret)
        #expect(secret != [UInt8]().secret)
    }

    @Test("Shows nothing in descriptions, dumps and mirrors", .shows("Y1")) func redaction() {
        struct Holder {
            let secret: SecretBytes
        }
        var dumped = ""
        dump(secret, to: &dumped)
        dump(Holder(secret: secret), to: &dumped)
        let shown = [
            "\(secret)", String(describing: secret), String(reflecting: secret), "\(Holder(secret: secret))",
            String(reflecting: Holder(secret: secret)), "\([secret])", "\(Optional(secret) as Any)", dumped,
        ]
        for text in shown {
            #expect(!text.contains("horse"))
            #expect(!text.contains("99, 111"))
            #expect(text.contains("redacted"))
        }
        #expect(Mirror(reflecting: secret).children.isEmpty)
    }

    @Test("Keys don't show their secrets", .shows("Y1")) func keys() throws {
        let key = try ECPrivateKey.generate(.p256)
        let hmac = try HMAC(.sha256, key: secret)
        var dumped = ""
        dump(key, to: &dumped)
        dump(hmac, to: &dumped)
        #expect(!dumped.contains("horse"))
        #expect(!dumped.contains("99, 111"))
        let scalar = try key.scalar().exposed
        #expect(!dumped.contains(scalar.map(String.init).joined(separator: ", ")))
        #expect(!dumped.contains(scalar.hex))
    }
}

@Suite("ConstantTime", .computing) struct ConstantTimeTests {
    @Test(
        "Compares length and contents",
        .shows("C7"),
        arguments: [
            ([], [], true), ([1], [1], true), ([1], [2], false), ([1, 2], [1], false), ([], [0], false),
            ([UInt8](repeating: 7, count: 100), [UInt8](repeating: 7, count: 100), true),
        ] as [([UInt8], [UInt8], Bool)]
    )
    func comparison(left: [UInt8], right: [UInt8], areEqual: Bool) {
        #expect(left.withBytes { left in right.withBytes { ConstantTime.areEqual(left, $0) } } == areEqual)
    }
}
