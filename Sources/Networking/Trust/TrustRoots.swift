public import Foundation
internal import OpenSSLCrypto

/// The certificates under which servers are trusted.
///
/// Only what is named is trusted: a bundle of a company's own roots does not bring the system's along.
///
/// ```swift
/// let onlyOurs = try TrustRoots.file("/etc/pki/our-roots.pem")
/// let oursToo = TrustRoots.system.adding(onlyOurs)
/// ```
///
/// A certificate that is named is trusted for what it issued, and for itself, even if it is not self-signed.
public struct TrustRoots: Sendable {
    let includesSystem: Bool
    let certificates: [Certificate]

    /// What the system trusts.
    ///
    /// The environment's `SSL_CERT_FILE` and `SSL_CERT_DIR` are honoured, then the places that OpenSSL was built with, and if
    /// there is nothing, those of the common distributions. They are read once, for the first connection of the process that
    /// needs them.
    public static let system = Self(includesSystem: true, certificates: [])

    /// The certificates of a PEM text, such as a bundle of roots.
    ///
    /// - Parameter pem: One `CERTIFICATE` block or more, at most 2 MiB.
    /// - Returns: These roots and no others.
    /// - Throws: ``TrustConfigurationError/Code/malformedCertificate``.
    public static func pem(_ pem: String) throws(TrustConfigurationError) -> Self {
        do throws(CryptoError) {
            return Self(includesSystem: false, certificates: try Certificate.list(pem: pem))
        } catch {
            throw TrustConfigurationError(.malformedCertificate, error.message, cause: error)
        }
    }

    /// Certificates in DER.
    ///
    /// - Parameter certificates: One certificate or more.
    /// - Returns: These roots and no others.
    /// - Throws: ``TrustConfigurationError/Code/malformedCertificate``, also if there are none.
    public static func der(_ certificates: [Data]) throws(TrustConfigurationError) -> Self {
        guard !certificates.isEmpty else {
            throw TrustConfigurationError(.malformedCertificate, "no root certificates are given")
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

    /// The certificates of a file, which is read now and not again.
    ///
    /// - Parameter path: A file with PEM certificates, or one in DER.
    /// - Returns: These roots and no others.
    /// - Throws: ``TrustConfigurationError/Code/unreadableFile``, ``TrustConfigurationError/Code/malformedCertificate``.
    public static func file(_ path: String) throws(TrustConfigurationError) -> Self {
        Self(includesSystem: false, certificates: try TrustFile(path).certificates())
    }

    /// The certificates of all files in a folder, which are read now and not again.
    ///
    /// - Parameter path: A folder. Of its files those count that are called `*.pem`, `*.crt`, `*.cer` or `*.der`, or have the
    ///   names that `openssl rehash` gives; each must hold certificates. Folders in it are left alone.
    /// - Returns: These roots and no others.
    /// - Throws: ``TrustConfigurationError/Code/unreadableFile``; ``TrustConfigurationError/Code/malformedCertificate``, also
    ///   if there are none.
    public static func directory(_ path: String) throws(TrustConfigurationError) -> Self {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw TrustConfigurationError(
                .unreadableFile,
                "\(path) can't be read: \(error.localizedDescription)",
                cause: error
            )
        }
        var roots: [Certificate] = []
        for name in names.sorted() where isCertificateName(name) {
            for certificate in try TrustFile("\(path)/\(name)").certificates() where !roots.contains(certificate) {
                roots.append(certificate)
            }
        }
        guard !roots.isEmpty else {
            throw TrustConfigurationError(.malformedCertificate, "\(path) has no files with certificates")
        }
        return Self(includesSystem: false, certificates: roots)
    }

    /// Trusts other certificates as well.
    ///
    /// - Parameter other: What else is trusted.
    /// - Returns: Both.
    public func adding(_ other: TrustRoots) -> TrustRoots {
        TrustRoots(
            includesSystem: includesSystem || other.includesSystem,
            certificates: certificates + other.certificates.filter { !certificates.contains($0) }
        )
    }

    /// Where OpenSSL finds these roots; made once, and then shared by all connections.
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
        // The hash of the subject's name, and a number that tells those with the same hash apart.
        return parts.count == 2 && parts[0].utf8.count == 8 && parts[0].allSatisfy(\.isHexDigit)
            && last.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}
