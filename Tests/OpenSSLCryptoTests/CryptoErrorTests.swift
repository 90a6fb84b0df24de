import OpenSSLCrypto
import TestSupport
import Testing

@Suite("CryptoError", .computing) struct CryptoErrorTests {
    @Test("Errors are equal if their codes are equal") func equality() {
        #expect(CryptoError(.malformedKey, "one") == CryptoError(.malformedKey, "another", reasons: ["x"]))
        #expect(CryptoError(.malformedKey, "one") != CryptoError(.keyMismatch, "one"))
    }

    @Test("Describes an error with code, message and OpenSSL's reasons") func description() {
        #expect(CryptoError(.keyMismatch, "No.").description == "keyMismatch: No.")
        #expect(CryptoError(.openSSL, "No.", reasons: ["a", "b"]).description == "openSSL: No. (a; b)")
    }

    @Test("Reports the queued reason of a failed OpenSSL call, and its function without another code")
    func reasons() throws {
        let wrong = [UInt8](repeating: 1, count: 32)
        let error = try #require(error { _ = try ECPublicKey(curve: .p256, x: wrong, y: wrong) })
        #expect(error.code == .pointNotOnCurve)
        #expect(error.message == "The public point isn't on the curve P-256")
        #expect(error.reasons == ["elliptic curve routines: point is not on curve"])
        #expect(CryptoError(failed: "EVP_MD_fetch", "No hash", errors: []).message == "No hash: EVP_MD_fetch failed")
    }

    @Test("Doesn't mix the reasons of consecutive failures") func drained() throws {
        let wrong = [UInt8](repeating: 1, count: 32)
        let first = try #require(error { _ = try ECPublicKey(curve: .p256, x: wrong, y: wrong) })
        let second = try #require(error { _ = try ECPublicKey(curve: .p256, x: wrong, y: wrong) })
        #expect(first.reasons == second.reasons)
    }
}

@Suite("OpenSSLLibrary", .computing) struct OpenSSLLibraryTests {
    @Test("Returns its version and can be prepared more than once") func version() {
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.prepare()
        #expect(OpenSSLLibrary.version.hasPrefix("OpenSSL 3."))
    }
}
