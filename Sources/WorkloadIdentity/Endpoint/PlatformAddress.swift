import Foundation
import Networking

/// The addresses of platforms' endpoints.
enum PlatformAddress {
    /// Returns a URL with parameters, added to the query that it has already.
    static func url(_ address: String, _ parameters: [(name: String, value: String)]) -> URL? {
        let query = parameters.map { "\($0.name)=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
        guard let base = URL(string: address), base.fragment == nil else { return nil }
        let separator = base.query == nil ? "?" : base.query?.isEmpty == true ? "" : "&"
        return URL(string: address + separator + query)
    }

    /// Returns a Boolean value that indicates whether requests to a URL are encrypted, or don't
    /// leave the machine and its link.
    static func isConfined(_ url: URL) -> Bool {
        guard let origin = HTTPOrigin(url), url.user == nil, url.fragment == nil else { return false }
        return origin.scheme == "https" || origin.isLoopback || isLinkLocal(origin.host)
    }

    /// Returns a Boolean value that indicates whether a host is an address in 169.254/16
    /// ([RFC 3927 §2.1](https://www.rfc-editor.org/rfc/rfc3927#section-2.1)).
    private static func isLinkLocal(_ host: String) -> Bool {
        let parts = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part -> UInt8? in
            guard part.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            return UInt8(String(decoding: part, as: UTF8.self))
        }
        return parts.count == 4 && numbers.count == 4 && numbers.starts(with: [169, 254])
    }
}
