public import Foundation
internal import OpenSSLCrypto

/// The public keys that a domain's servers may have.
///
/// The client accepts a server if its verified chain contains a certificate with one of the pins,
/// whatever the kind of key. Pinning adds to the ordinary verification and doesn't replace it
/// ([RFC 7469](https://www.rfc-editor.org/rfc/rfc7469), whose header field isn't used here).
public struct PinningPolicy: Sendable, Hashable {
    package let domainName: String
    package let includeSubdomains: Bool
    package let expirationDate: Date
    package let pins: Set<PublicKeyPin>

    let host: HostName

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - domainName: A host name, such as `api.example.org`, or an address. Upper case, a
    ///     trailing dot and international characters don't matter. Wildcards, ports and paths
    ///     aren't allowed.
    ///   - includeSubdomains: Whether the policy also applies to subdomains at any depth. A policy
    ///     with a longer name takes precedence. The default is `false`.
    ///   - expirationDate: The last moment at which the policy applies; see
    ///     ``ServerTrustEvaluator/Configuration/allowExpiredDomainPolicies``. By default, it
    ///     doesn't expire.
    ///   - pinnedHashes: The pins: 32 bytes each in base64, with or without the prefix `sha256/`.
    ///   - enforceBackupPin: Whether to require at least two pins. Include a pin for a key that
    ///     isn't in any server's chain yet; otherwise, losing a key makes the domain unreachable.
    ///     The default is `true`.
    /// - Throws: ``TrustConfigurationError`` with one of these codes, checked in this order:
    ///   `invalidDomainName`, `emptyPins`, `invalidPins`, `duplicatePins`, `missingBackupPin`. With
    ///   `invalidPins` and `duplicatePins`, ``TrustConfigurationError/pins`` contains the pins.
    public init(
        domainName: String,
        includeSubdomains: Bool = false,
        expirationDate: Date = .distantFuture,
        pinnedHashes: some Sequence<String>,
        enforceBackupPin: Bool = true
    ) throws(TrustConfigurationError) {
        guard let host = HostName(domainName) else {
            throw TrustConfigurationError(
                .invalidDomainName,
                "a pinning policy's domain must be a host name or address, without a wildcard, port or path: "
                    + String(domainName.debugDescription.prefix(128))
            )
        }
        self.host = host
        self.domainName = domainName
        self.includeSubdomains = includeSubdomains
        self.expirationDate = expirationDate
        pins = try Self.pins(Array(pinnedHashes), of: domainName)
        guard !enforceBackupPin || pins.count > 1 else {
            throw TrustConfigurationError(
                .missingBackupPin,
                "the policy for \(domainName) has only one pin; add a backup key's pin or pass enforceBackupPin: false"
            )
        }
    }

    private static func pins(
        _ texts: [String],
        of domainName: String
    ) throws(TrustConfigurationError) -> Set<PublicKeyPin> {
        guard !texts.isEmpty else {
            throw TrustConfigurationError(.emptyPins, "the policy for \(domainName) has no pins")
        }
        let invalid = texts.filter { PublicKeyPin($0) == nil }
        guard invalid.isEmpty else {
            throw TrustConfigurationError(
                .invalidPins,
                "\(invalid.count) pins for \(domainName) aren't SHA-256 hashes (32 bytes) in base64",
                pins: Set(invalid)
            )
        }
        let spellings = Dictionary(grouping: texts) { PublicKeyPin($0) }
        let repeated = spellings.values.filter { $0.count > 1 }.joined()
        guard repeated.isEmpty else {
            throw TrustConfigurationError(
                .duplicatePins,
                "the policy for \(domainName) repeats a pin; one of them may be meant to be another pin",
                pins: Set(repeated)
            )
        }
        return Set(texts.compactMap { PublicKeyPin($0) })
    }

    func covers(_ other: HostName) -> Bool {
        other == host || (includeSubdomains && other.isSubdomain(of: host))
    }

    /// Returns a Boolean value that indicates whether two policies are for the same domain,
    /// regardless of their pins.
    public static func == (left: Self, right: Self) -> Bool { left.host == right.host }

    /// Hashes the domain.
    public func hash(into hasher: inout Hasher) { hasher.combine(host) }
}

/// The SHA-256 hash that identifies a certificate's public key
/// ([RFC 7469 §2.4](https://www.rfc-editor.org/rfc/rfc7469#section-2.4)).
///
/// The hash covers the SubjectPublicKeyInfo, so a renewed certificate with the same key has the
/// same pin. `jwt pin` prints the pins of a server or a certificate.
public struct PublicKeyPin: Hashable, Sendable, CustomStringConvertible {
    let octets: [UInt8]

    /// The hash in the customary form: `sha256/` followed by base64, such as
    /// `sha256/++MBgDH5WGvL9Bcn5Be30cRcL0f5O+NyoXuWtQdX1aI=`.
    public var description: String { Self.prefix + Data(octets).base64EncodedString() }

    /// Creates a pin from its text.
    ///
    /// - Parameter text: The base64 encoding of 32 bytes, with or without the prefix `sha256/`.
    ///   Anything else gives `nil`.
    public init?(_ text: some StringProtocol) {
        let base64 = text.hasPrefix(Self.prefix) ? String(text.dropFirst(Self.prefix.count)) : String(text)
        guard let octets = Data(base64Encoded: base64), octets.count == 32 else { return nil }
        self.octets = [UInt8](octets)
    }

    /// Creates the pin of a certificate.
    ///
    /// - Parameter certificate: A certificate in DER or PEM. Only the first of several counts.
    /// - Throws: ``TrustConfigurationError/Code/malformedCertificate``, or
    ///   ``TrustConfigurationError/Code/cryptography`` if OpenSSL fails.
    public init(certificate: Data) throws(TrustConfigurationError) {
        // The list of certificates is never empty.
        try self.init(TrustFile.certificates(in: [UInt8](certificate), from: nil)[0])
    }

    init(_ certificate: Certificate) throws(TrustConfigurationError) {
        do throws(CryptoError) {
            octets = try certificate.publicKeyHash()
        } catch {
            throw TrustConfigurationError(error)
        }
    }

    init(octets: [UInt8]) {
        self.octets = octets
    }

    private static let prefix = "sha256/"
}

/// A host name or address in canonical form, so that different spellings of a host are equal.
struct HostName: Hashable, Sendable {
    private enum Form: Hashable {
        case labels([String])
        case address(IPAddress)
    }

    private let form: Form

    /// Case, a trailing dot, the brackets of an IPv6 address, and the choice between an
    /// international name ([RFC 5890](https://www.rfc-editor.org/rfc/rfc5890)) and its ASCII form
    /// don't matter.
    init?(_ text: String) {
        let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
        if let address = IPAddress(isBracketed ? String(text.dropFirst().dropLast()) : text) {
            form = .address(address)
            return
        }
        guard !isBracketed, let name = Self.asciiName(text) else { return nil }
        var labels = name.lowercased().split(separator: ".", omittingEmptySubsequences: false)
        if labels.last == "" { labels.removeLast() }
        guard !labels.isEmpty, labels.allSatisfy(Self.isLabel), name.utf8.count <= 254 else { return nil }
        // Resolvers take a name that ends in a number for an address in one notation or another.
        guard let last = labels.last, !Self.isNumber(last) else { return nil }
        form = .labels(labels.map(String.init))
    }

    /// Compares whole labels; an address is never a subdomain.
    func isSubdomain(of parent: HostName) -> Bool {
        guard case .labels(let labels) = form, case .labels(let parentLabels) = parent.form else { return false }
        return labels.count > parentLabels.count && labels.suffix(parentLabels.count).elementsEqual(parentLabels)
    }

    /// A more specific name has more labels.
    var depth: Int {
        guard case .labels(let labels) = form else { return 0 }
        return labels.count
    }

    private static func asciiName(_ text: String) -> String? {
        guard !text.utf8.allSatisfy({ $0 < 0x80 }) else { return text }
        // Rejects characters that could end the host in a URL, so that Foundation only converts it.
        let isPlain = text.unicodeScalars.allSatisfy { scalar in
            !scalar.isASCII || isLabelCharacter(UInt8(truncatingIfNeeded: scalar.value)) || scalar == "."
                || ("A"..."Z").contains(scalar)
        }
        guard isPlain, let name = URL(string: "https://\(text)/")?.host, name.utf8.allSatisfy({ $0 < 0x80 }) else {
            return nil
        }
        return name
    }

    private static func isLabel(_ label: Substring) -> Bool {
        (1...63).contains(label.utf8.count) && label.utf8.allSatisfy(isLabelCharacter)
            && label.utf8.first != UInt8(ascii: "-") && label.utf8.last != UInt8(ascii: "-")
    }

    private static func isLabelCharacter(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    private static func isNumber(_ label: Substring) -> Bool {
        label.utf8.allSatisfy { (0x30...0x39).contains($0) } || label.hasPrefix("0x")
    }
}
