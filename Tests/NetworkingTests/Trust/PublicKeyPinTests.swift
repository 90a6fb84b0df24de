import Foundation
import MockNetworking
import Networking
import Testing

@Suite("PublicKeyPin")
struct PublicKeyPinTests {
    private static let base64 = "++MBgDH5WGvL9Bcn5Be30cRcL0f5O+NyoXuWtQdX1aI="

    @Test("Parses a pin with and without its prefix, and prints it with the prefix")
    func forms() throws {
        let pin = try #require(PublicKeyPin(Self.base64))
        #expect(PublicKeyPin("sha256/" + Self.base64) == pin)
        #expect(pin.description == "sha256/" + Self.base64)
    }

    @Test(
        "Rejects anything but 32 bytes in base64",
        arguments: [
            "", "sha256/", "💩", "AAAA", "sha1/" + base64, "sha256/sha256/" + base64, "SHA256/" + base64,
            "++MBgDH5WGvL9Bcn5Be30cRcL0f5O+NyoXuWtQdX1aI", " " + base64, base64 + "\n",
            "--MBgDH5WGvL9Bcn5Be30cRcL0f5O-NyoXuWtQdX1aI=", base64 + "AAAA",
            "e3e3018031f9586bcbf41727e417b7d1c45c2f47f93be372a17b96b50757d5a2",
        ]
    )
    func malformed(text: String) {
        #expect(PublicKeyPin(text) == nil)
    }

    @Test(
        "Computes the pin of a certificate's key of every kind",
        arguments: [MockCertificate.KeyType.p256, .p384, .rsa2048, .ed25519]
    )
    func certificates(keyType: MockCertificate.KeyType) throws {
        let certificate = try MockCertificateAuthority().issueServerCertificate(keyType: keyType)
        let pin = try PublicKeyPin(certificate: certificate.certificateDER)
        #expect(pin.description == certificate.publicKeyPin)
        #expect(try PublicKeyPin(certificate: Data(certificate.chainPEM.utf8)) == pin)
    }

    @Test("Computes the published pin of a public root")
    func knownRoot() throws {
        // Amazon Root CA 3, from https://www.amazontrust.com/repository/.
        let pem = """
            -----BEGIN CERTIFICATE-----
            MIIBtjCCAVugAwIBAgITBmyf1XSXNmY/Owua2eiedgPySjAKBggqhkjOPQQDAjA5
            MQswCQYDVQQGEwJVUzEPMA0GA1UEChMGQW1hem9uMRkwFwYDVQQDExBBbWF6b24g
            Um9vdCBDQSAzMB4XDTE1MDUyNjAwMDAwMFoXDTQwMDUyNjAwMDAwMFowOTELMAkG
            A1UEBhMCVVMxDzANBgNVBAoTBkFtYXpvbjEZMBcGA1UEAxMQQW1hem9uIFJvb3Qg
            Q0EgMzBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCmXp8ZBf8ANm+gBG1bG8lKl
            ui2yEujSLtf6ycXYqm0fc4E7O5hrOXwzpcVOho6AF2hiRVd9RFgdszflZwjrZt6j
            QjBAMA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgGGMB0GA1UdDgQWBBSr
            ttvXBp43rDCGB5Fwx5zEGbF4wDAKBggqhkjOPQQDAgNJADBGAiEA4IWSoxe3jfkr
            BqWTrBqYaGFy+uGh0PsceGCmQ5nFuMQCIQCcAu/xlJyzlvnrxir4tiz+OpAUFteM
            YyRIHN8wfdVoOw==
            -----END CERTIFICATE-----
            """
        let pin = try PublicKeyPin(certificate: Data(pem.utf8))
        #expect(pin.description == "sha256/NqvDJlas/GRcYbcWE8S/IceH9cq77kg0jVhZeAPXq8k=")
    }

    @Test("Rejects data that isn't a certificate")
    func noCertificate() throws {
        let key = try MockCertificateAuthority().issueServerCertificate().privateKeyPEM
        for octets in [Data(), Data("hello".utf8), Data(key.utf8), Data([0x30, 0x03, 0x02, 0x01, 0x00])] {
            let error = thrown(TrustConfigurationError.self) { _ = try PublicKeyPin(certificate: octets) }
            #expect(error?.code == .malformedCertificate)
        }
    }
}
