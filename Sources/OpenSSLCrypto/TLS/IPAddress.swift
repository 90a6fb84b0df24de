internal import Glibc

package struct IPAddress: Hashable, Sendable {
    /// 4 or 16 bytes in network byte order.
    package let octets: [UInt8]

    /// Without brackets and zone.
    package init?(_ text: String) {
        // inet_pton ignores anything after a null.
        guard !text.utf8.contains(0), let octets = Self.octets(AF_INET, 4, text) ?? Self.octets(AF_INET6, 16, text)
        else { return nil }
        self.octets = octets
    }

    /// Accepts what a resolver accepts: also fewer than four numbers, and octal and hexadecimal
    /// ones, such as `127.1` or `0x7f000001`.
    package init?(resolving text: String) {
        var address = in_addr()
        // inet_aton ignores anything after a blank.
        guard !text.utf8.contains(where: { $0 <= 0x20 }), unsafe inet_aton(text, &address) == 1 else { return nil }
        octets = unsafe withUnsafeBytes(of: address.s_addr) { unsafe Array($0) }
    }

    private static func octets(_ family: Int32, _ count: Int, _ text: String) -> [UInt8]? {
        var octets = [UInt8](repeating: 0, count: count)
        let isAddress = unsafe octets.withUnsafeMutableBytes { buffer in
            unsafe inet_pton(family, text, buffer.baseAddress) == 1
        }
        return isAddress ? octets : nil
    }
}
