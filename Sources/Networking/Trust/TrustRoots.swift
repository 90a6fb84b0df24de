public import Foundation
internal import Glibc
internal import OpenSSLCrypto

/// The root certificates that servers' certificates must chain to.
///
/// Trust is explicit: a bundle of a company's own roots doesn't include the system's.
///
/// ```swift
/// let onlyOurs = try TrustRoots.file("/etc/pki/our-roots.pem")
/// let oursToo = TrustRoots.system.adding(onlyOurs)
/// ```
///
/// Each certificate is trusted for the certificates that it issued and for itself, even if it isn't
/// self-signed.
public struct TrustRoots: Sendable {
    let includesSystem: Bool
    let certificates: [Certificate]

    /// The system's trust roots.
    ///
    /// The environment variables `SSL_CERT_FILE` and `SSL_CERT_DIR` apply first, then the paths
    /// that OpenSSL was built with and, if those are empty, the paths of common distributions. The
    /// roots are read once, for the process's first connection that needs them.
    public static let system = Self(includesSystem: true, certificates: [])

    /// Returns the certificates in a PEM text, such as a bundle of roots.
    ///
    /// - Parameter pem: One or more `CERTIFICATE` blocks, at most 2 MiB.
    /// - Returns: Trust roots that consist of exactly these certificates.
    /// - Throws: ``TrustConfigurationError/Code/malformedCertificate``.
    public static func pem(_ pem: String) throws(TrustConfigurationError) -> Self {
        do throws(CryptoError) {
            return Self(includesSystem: false, certificates: try Certificate.list(pem: pem))
        } catch {
            throw TrustConfigurationError(.malformedCertificate, error.message, cause: error)
        }
    }

    /// Returns trust roots from DER certificates.
    ///
    /// - Parameter certificates: One or more certificates.
    /// - Returns: Trust roots that consist of exactly these certificates.
    /// - Throws: ``TrustConfigurationError/Code/malformedCertificate``, also if the array is empty.
    public static func der(_ certificates: [Data]) throws(TrustConfigurationError) -> Self {
        guard !certificates.isEmpty else {
            throw TrustConfigurationError(.malformedCertificate, "the list of root certificates is empty")
        }
        var roots: [Certificate] = []
        for certificate in certificates {
            do throws(CryptoError) {
                roots.append(try Certificate(der: [UInt8](certificate)))
            } catch {
                throw TrustConfigurationError(error, in: "root certificate \(roots.count + 1)")
            }
        }
        return Self(includesSystem: false, certificates: roots)
    }

    /// Returns the certificates in a file, which is read once, now.
    ///
    /// - Parameter path: A file with PEM certificates, or with one in DER.
    /// - Returns: Trust roots that consist of exactly these certificates.
    /// - Throws: ``TrustConfigurationError/Code/unreadableFile``,
    ///   ``TrustConfigurationError/Code/malformedCertificate``.
    public static func file(_ path: String) throws(TrustConfigurationError) -> Self {
        Self(includesSystem: false, certificates: try TrustFile(path).certificates())
    }

    /// Returns the certificates in all files of a folder, which are read once, now.
    ///
    /// - Parameter path: A folder. Files count if they are named `*.pem`, `*.crt`, `*.cer` or
    ///   `*.der`, or as `openssl rehash` names them. Each of them must contain certificates.
    ///   Subfolders are ignored.
    /// - Returns: Trust roots that consist of exactly these certificates.
    /// - Throws: ``TrustConfigurationError/Code/unreadableFile``, or
    ///   ``TrustConfigurationError/Code/malformedCertificate``, also if it finds no certificates.
    public static func directory(_ path: String) throws(TrustConfigurationError) -> Self {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw TrustConfigurationError(unreadable: path, error)
        }
        var roots: [Certificate] = []
        for name in names.sorted() where isCertificateName(name) {
            for certificate in try TrustFile("\(path)/\(name)").certificates() where !roots.contains(certificate) {
                roots.append(certificate)
            }
        }
        guard !roots.isEmpty else {
            throw TrustConfigurationError(.malformedCertificate, "\(path) doesn't contain any certificate files")
        }
        return Self(includesSystem: false, certificates: roots)
    }

    /// Returns trust roots that also contain other certificates.
    ///
    /// - Parameter other: The trust roots to add.
    /// - Returns: The combined trust roots.
    public func adding(_ other: TrustRoots) -> TrustRoots {
        TrustRoots(
            includesSystem: includesSystem || other.includesSystem,
            certificates: certificates + other.certificates.filter { !certificates.contains($0) }
        )
    }

    /// The store is created once and shared by all connections.
    func store() throws(CryptoError) -> @Sendable () throws(CryptoError) -> TrustStore {
        if includesSystem, certificates.isEmpty {
            return { () throws(CryptoError) in try TrustStore.system() }
        }
        let store = try TrustStore(roots: certificates, includesSystemRoots: includesSystem)
        return { store }
    }

    private static func isCertificateName(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count > 1, let last = parts.last, !name.hasPrefix(".") else { return false }
        if ["pem", "crt", "cer", "der"].contains(last.lowercased()) { return true }
        // openssl rehash: a hash of the subject's name, then a number that distinguishes equal
        // hashes.
        return parts.count == 2 && parts[0].utf8.count == 8 && parts[0].allSatisfy(\.isHexDigit)
            && last.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}

struct TrustFile {
    let path: String
    let octets: [UInt8]

    /// Above the size of any certificate bundle; protects against endless files.
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

    func text() throws(TrustConfigurationError) -> String {
        guard let text = String(validating: octets, as: UTF8.self) else {
            throw TrustConfigurationError(.malformedCertificate, "\(path) isn't text; expected PEM")
        }
        return text
    }

    func certificates() throws(TrustConfigurationError) -> [Certificate] {
        try Self.certificates(in: octets, from: path)
    }

    /// Reads one certificate in DER, or any number in PEM without other blocks.
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
