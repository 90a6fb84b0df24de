public import Foundation

/// Which public keys a domain's servers may have.
///
/// A server is accepted if its verified chain has a certificate with one of the pins, whatever the kind of its key. Pins are an
/// addition to the ordinary verification, not in place of it ([RFC 7469](https://www.rfc-editor.org/rfc/rfc7469), whose
/// header field is not used here).
public struct PinningPolicy: Sendable {
    /// The host's name or address, as it was given.
    public let domainName: String
    /// Whether the policy is also about the names below the domain's, at any depth.
    public let includeSubdomains: Bool
    /// The last moment at which the policy holds; see ``ServerTrustEvaluator/Configuration/allowExpiredDomainPolicies``.
    public let expirationDate: Date
    /// The pins.
    public let pins: Set<PublicKeyPin>

    let host: HostName

    /// The pins in base64, without a prefix.
    public var pinnedHashes: Set<String> { Set(pins.map(\.base64)) }

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - domainName: A host's name, such as `api.example.org`, or its address. Upper case, a final dot and international
    ///     characters make no difference; no wildcard, port or path.
    ///   - includeSubdomains: Whether the policy is also about the names below the domain's. A policy for a longer name
    ///     wins over this one.
    ///   - expirationDate: The last moment at which the policy holds; by default there is none.
    ///   - pinnedHashes: The pins: base64 of 32 octets, with `sha256/` before it or not.
    ///   - enforceBackupPin: Whether one pin is too few. There should be a pin of a key that is in no server's chain yet, or the
    ///     loss of a key makes the domain unreachable.
    /// - Throws: ``TrustConfigurationError``, checked in this order: `invalidDomainName`, `emptyPins`, `invalidPins` with the
    ///   wrong ones in ``TrustConfigurationError/pins``, `duplicatePins` likewise, and `missingBackupPin`.
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
                "the domain of a pinning policy must be a host's name or address, without wildcard, port or path: "
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
                "the policy of \(domainName) has one pin: add that of a key kept in reserve, or pass enforceBackupPin: false"
            )
        }
    }

    private static func pins(
        _ texts: [String],
        of domainName: String
    ) throws(TrustConfigurationError) -> Set<PublicKeyPin> {
        guard !texts.isEmpty else {
            throw TrustConfigurationError(.emptyPins, "the policy of \(domainName) has no pins")
        }
        let invalid = texts.filter { PublicKeyPin($0) == nil }
        guard invalid.isEmpty else {
            throw TrustConfigurationError(
                .invalidPins,
                "\(invalid.count) pins of \(domainName) are not base64 of the 32 octets of a SHA-256 hash",
                pins: Set(invalid)
            )
        }
        let spellings = Dictionary(grouping: texts) { PublicKeyPin($0) }
        let repeated = spellings.values.filter { $0.count > 1 }.joined()
        guard repeated.isEmpty else {
            throw TrustConfigurationError(
                .duplicatePins,
                "the policy of \(domainName) has the same pin more than once: one of them may have been meant to be another",
                pins: Set(repeated)
            )
        }
        return Set(texts.compactMap { PublicKeyPin($0) })
    }

    /// Whether the policy is about a host.
    func covers(_ other: HostName) -> Bool {
        other == host || (includeSubdomains && other.isSubdomain(of: host))
    }
}

extension PinningPolicy: Hashable {
    /// Whether two policies are about the same domain, whatever their pins.
    ///
    /// - Parameters:
    ///   - left: One policy.
    ///   - right: The other.
    /// - Returns: Whether the domains are equal.
    public static func == (left: Self, right: Self) -> Bool { left.host == right.host }

    /// Hashes the domain.
    ///
    /// - Parameter hasher: What takes it.
    public func hash(into hasher: inout Hasher) { hasher.combine(host) }
}
