internal import Glibc

/// An IPv4 or IPv6 address.
package struct IPAddress: Hashable, Sendable {
    /// 4 or 16 octets, in the network's order.
    package let octets: [UInt8]

    /// Reads an address.
    ///
    /// - Parameter text: Four decimal numbers, or an IPv6 address without brackets and zone.
    package init?(_ text: String) {
        guard let octets = Self.octets(AF_INET, 4, text) ?? Self.octets(AF_INET6, 16, text) else { return nil }
        self.octets = octets
    }

    private static func octets(_ family: Int32, _ count: Int, _ text: String) -> [UInt8]? {
        var octets = [UInt8](repeating: 0, count: count)
        let isAddress = unsafe octets.withUnsafeMutableBytes { buffer in
            unsafe inet_pton(family, text, buffer.baseAddress) == 1
        }
        return isAddress ? octets : nil
    }
}
