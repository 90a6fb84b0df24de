internal import Foundation
internal import Glibc
internal import OpenSSLCrypto

/// A file with certificates or keys.
struct TrustFile {
    let path: String
    let octets: [UInt8]

    /// The size limit, above that of any certificate bundle, which protects against endless files.
    private static let maximumSize = 1 << 21

    init(_ path: String) throws(TrustConfigurationError) {
        self.path = path
        do {
            let handle = try FileHandle.opened(path, O_RDONLY)
            defer { try? handle.close() }
            octets = try [UInt8](handle.read(upToCount: Self.maximumSize + 1) ?? Data())
        } catch {
            throw TrustConfigurationError(unreadable: path, error)
        }
        guard octets.count <= Self.maximumSize else {
            throw TrustConfigurationError(.unreadableFile, "\(path) is larger than \(Self.maximumSize) bytes")
        }
    }

    /// The file as text.
    func text() throws(TrustConfigurationError) -> String {
        guard let text = String(validating: octets, as: UTF8.self) else {
            throw TrustConfigurationError(.malformedCertificate, "\(path) isn't text; expected PEM")
        }
        return text
    }

    /// Returns the certificates in the file: one in DER, or any number in PEM.
    func certificates() throws(TrustConfigurationError) -> [Certificate] {
        try Self.certificates(in: octets, from: path)
    }

    /// Returns the certificates in some data: one in DER, or any number in PEM without other
    /// blocks.
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
            // Every input that isn't a certificate, even a key, gives the same code.
            let code = TrustConfigurationError.Code.malformedCertificate
            throw TrustConfigurationError(code, (place.map { "\($0): " } ?? "") + error.message, cause: error)
        }
    }
}
