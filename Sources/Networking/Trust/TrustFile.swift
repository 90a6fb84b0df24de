internal import Foundation
internal import Glibc
internal import OpenSSLCrypto

/// A file with certificates or keys.
struct TrustFile {
    let path: String
    let octets: [UInt8]

    /// More than any bundle of certificates has; protects against reading an endless file.
    private static let maximumSize = 1 << 21

    init(_ path: String) throws(TrustConfigurationError) {
        self.path = path
        do {
            let handle = try FileHandle.opened(path, O_RDONLY)
            defer { try? handle.close() }
            octets = try [UInt8](handle.read(upToCount: Self.maximumSize + 1) ?? Data())
        } catch {
            throw TrustConfigurationError(
                .unreadableFile,
                "\(path) can't be read: \(error.localizedDescription)",
                cause: error
            )
        }
        guard octets.count <= Self.maximumSize else {
            throw TrustConfigurationError(
                .unreadableFile,
                "\(path) has more than \(Self.maximumSize) octets: no more are read"
            )
        }
    }

    /// The file as text.
    func text() throws(TrustConfigurationError) -> String {
        guard let text = String(validating: octets, as: UTF8.self) else {
            throw TrustConfigurationError(.malformedCertificate, "\(path) is not text: PEM is expected")
        }
        return text
    }

    /// The certificates in it: one in DER, or any number in PEM.
    func certificates() throws(TrustConfigurationError) -> [Certificate] {
        try Self.certificates(in: octets, from: path)
    }

    /// The certificates in some octets: one in DER, or any number in PEM, of which other blocks are refused.
    static func certificates(
        in octets: [UInt8],
        from place: String?
    ) throws(TrustConfigurationError) -> [Certificate] {
        do throws(CryptoError) {
            if let text = String(validating: octets, as: UTF8.self), text.contains("-----BEGIN ") {
                return try Certificate.list(pem: text)
            }
            return [try Certificate(der: octets)]
        } catch {
            // Whatever is no certificate, a key among it, is one thing here.
            let code = TrustConfigurationError.Code.malformedCertificate
            throw TrustConfigurationError(code, (place.map { "\($0): " } ?? "") + error.message, cause: error)
        }
    }
}
