public import Foundation

/// The public keys that a domain's servers may have.
///
/// The client accepts a server if its verified chain contains a certificate with one of the pins,
/// whatever the kind of key. Pinning adds to the ordinary verification and doesn't replace it
/// ([RFC 7469](https://www.rfc-editor.org/rfc/rfc7469), whose header field isn't used here).
public struct PinningPolicy: Sendable {
    /// The host's name or address, as passed to the initializer.
    public let domainName: String
    /// A Boolean value that indicates whether the policy also applies to subdomains at any depth.
    public let includeSubdomains: Bool
    /// The last moment at which the policy applies; see
    /// ``ServerTrustEvaluator/Configuration/allowExpiredDomainPolicies``.
    public let expirationDate: Date
    /// The pins.
    public let pins: Set<PublicKeyPin>

    let host: HostName

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - domainName: A host name, such as `api.example.org`, or an address. Upper case, a
    ///     trailing dot and international characters don't matter. Wildcards, ports and paths
    ///     aren't allowed.
    ///   - includeSubdomains: Whether the policy also applies to subdomains. A policy with a longer
    ///     name takes precedence. The default is `false`.
    ///   - expirationDate: The last moment at which the policy applies. By default, it doesn't
    ///     expire.
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

    /// Returns whether the policy applies to a host.
    func covers(_ other: HostName) -> Bool {
        other == host || (includeSubdomains && other.isSubdomain(of: host))
    }
}

extension PinningPolicy: Hashable {
    /// Returns a Boolean value that indicates whether two policies are for the same domain,
    /// regardless of their pins.
    public static func == (left: Self, right: Self) -> Bool { left.host == right.host }

    /// Hashes the domain.
    public func hash(into hasher: inout Hasher) { hasher.combine(host) }
}
