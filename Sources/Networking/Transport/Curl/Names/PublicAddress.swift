internal import OpenSSLCrypto

extension CurlTransport.Configuration {
    /// Returns whether an origin's host is an address, or a name of this machine, that requests
    /// must not reach.
    func forbids(host origin: HTTPOrigin) -> Bool {
        guard reachesOnlyPublicAddresses else { return false }
        let host = origin.plainHost
        if resolverEntries.contains(where: { $0.host == host && $0.port == origin.port }) { return false }
        if origin.isLoopback { return true }
        if let address = IPAddress(host) ?? IPAddress(resolving: host) { return !address.isPublic }
        return NameResolver.Query.isAddress(host)
    }

    /// Returns whether one of a name's addresses must not be reached.
    ///
    /// One is enough: with a mixture, an attacker could let the public ones fail.
    func forbids(_ addresses: [String]) -> Bool {
        reachesOnlyPublicAddresses && !addresses.allSatisfy { IPAddress($0)?.isPublic ?? false }
    }
}

extension NetworkError {
    static func notPublic(_ origin: HTTPOrigin) -> Self {
        Self(.cannotConnect, "the host of \(origin) isn't reached because its address isn't public")
    }
}

extension IPAddress {
    /// A Boolean value that indicates whether the address is globally reachable unicast
    /// ([IPv4](https://www.iana.org/assignments/iana-ipv4-special-registry),
    /// [IPv6](https://www.iana.org/assignments/iana-ipv6-special-registry)).
    var isPublic: Bool {
        guard octets.count == 16 else { return Self.isPublic(ipv4: octets) }
        let words = stride(from: 0, to: 16, by: 2).map { UInt16(octets[$0]) << 8 | UInt16(octets[$0 + 1]) }
        // NAT64 (RFC 6052): the address of the IPv4 host is at the end.
        if words[0] == 0x64, words[1] == 0xFF9B, words[2...5].allSatisfy({ $0 == 0 }) {
            return Self.isPublic(ipv4: Array(octets[12...]))
        }
        guard words[0] & 0xE000 == 0x2000 else { return false }
        switch (words[0], words[1]) {
        // Protocol assignments, such as Teredo; documentation; 6to4.
        case (0x2001, 0...0x01FF), (0x2001, 0x0DB8), (0x2002, _), (0x3FFF, 0...0x0FFF): return false
        default: return true
        }
    }

    private static func isPublic(ipv4 octets: [UInt8]) -> Bool {
        switch (octets[0], octets[1], octets[2]) {
        case (0, _, _), (10, _, _), (127, _, _), (169, 254, _), (172, 16...31, _), (192, 168, _), (100, 64...127, _),
            (192, 0, 0), (192, 0, 2), (192, 88, 99), (198, 18...19, _), (198, 51, 100), (203, 0, 113),
            (224...255, _, _):
            false
        default: true
        }
    }
}
