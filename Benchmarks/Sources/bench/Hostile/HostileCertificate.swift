import Foundation
import TokenGeneration

/// Certificates and keys that OpenSSL decodes slowly.
enum HostileCertificate {
    /// A certificate with explicit curve parameters: finding its compressed point takes OpenSSL 0.2
    /// seconds.
    static let explicitCurve = [UInt8](
        Data(base64Encoded: text, options: .ignoreUnknownCharacters) ?? Data()
    )

    private static let text = """
        MIICfTCCAmKgAwIBAgIBATAKBggqhkjOPQQDAjAAMB4XDTIwMDEwMTAwMDAwMFoXDTQ5MTIzMTIzNTk1OVow
        ADCCAiYwggHLBgcqhkjOPQIBMIIBvgIBATBeBgcqhkjOPQEBAlMIAAAAAAAFQQAAAAAAAAAAAAAAAAAAAAAA
        AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAATCBqgRT
        AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
        AAAAAAAAAAAAAAAAAAAAAAAAAAAEUweRxZ3Wp7ihjQCB/4MNdEgfeU/vIOZDHfEad3rbVTEJHljA1Uvt2lNn
        SlUnxlOsDPhxTJvt6l8DbXhS577dvbpsZrNYtAUhJ1PuTmDuuGvB1/pMBFQCAAAAAAAAAAAAAAAAAAAAAAAA
        AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
        AAACUwgAAAAAAAVA////////////////////////////////////////////////////////////////////
        ////////////////////////////////AgEBA1UAAgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
        AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAMAoGCCqGSM49BAMC
        AwkAMAYCAQECAQE=
        """

    /// A PKCS#12 file with certificates in plain text.
    static func pkcs12(certificates: Int) -> Data {
        let certificate = element(0x30, identifier(9, 0x16, 1) + element(0xA0, element(0x04, explicitCurve)))
        return file(bags: Array(repeating: bag(3, certificate), count: certificates))
    }

    /// A PKCS#12 file with a DSA key in plain text.
    static func pkcs12(dsaBits bits: Int) -> Data {
        let prime = element(0x02, [0x7F] + [UInt8](repeating: 0xFF, count: bits / 8 - 1))
        let algorithm = element(0x06, [0x2A, 0x86, 0x48, 0xCE, 0x38, 0x04, 0x01])
        let parameters = element(0x30, prime + prime + element(0x02, [4]))
        let key = element(0x02, [0]) + element(0x30, algorithm + parameters) + element(0x04, prime)
        return file(bags: [bag(1, element(0x30, key))])
    }

    private static func file(bags: [[UInt8]]) -> Data {
        func content(_ contents: [UInt8]) -> [UInt8] {
            element(0x30, identifier(7, 1) + element(0xA0, element(0x04, element(0x30, contents))))
        }
        return Data(element(0x30, element(0x02, [3]) + content(content(bags.flatMap(\.self)))))
    }

    private static func bag(_ type: UInt8, _ value: [UInt8]) -> [UInt8] {
        element(0x30, identifier(12, 10, 1, type) + element(0xA0, value))
    }

    /// Returns an identifier under 1.2.840.113549.1.
    private static func identifier(_ arcs: UInt8...) -> [UInt8] {
        element(0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01] + arcs)
    }

    private static func element(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        let size = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: contents.count >> $0) }.drop { $0 == 0 }
        let length = contents.count < 0x80 ? [UInt8(contents.count)] : [0x80 | UInt8(size.count)] + size
        return [tag] + length + contents
    }
}
