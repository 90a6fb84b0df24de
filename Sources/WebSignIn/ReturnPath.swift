import Networking
import OpenSSLCrypto

/// A path and query of this server that a browser may be sent to after a sign-in.
///
/// Browsers read URLs more leniently than RFC 3986: a backslash is a slash, and control characters
/// vanish. So the path must have the form that every reader understands the same way.
package struct ReturnPath: Sendable, Hashable {
    private static let maximumSize = 1_024

    package static let home = ReturnPath(text: "/")

    package let text: String

    private init(text: String) { self.text = text }

    /// Returns the path if it leads to this server, and `/` otherwise.
    ///
    /// - Parameters:
    ///   - text: The path and query.
    ///   - origin: The origin of this server.
    ///   - base: The path of the sign-in's own routes, which would loop.
    package init(_ text: String?, origin: String, besides base: String) {
        guard let text, Self.isSafe(text, origin: origin, besides: base) else {
            self = .home
            return
        }
        self.text = text
    }

    private static func isSafe(_ text: String, origin: String, besides base: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.first == UInt8(ascii: "/"), bytes.count <= maximumSize, bytes.allSatisfy({ $0 < 0x80 }),
            let path = PercentEncoding.decode(text.prefix { $0 != "?" })
        else { return false }
        // The path as received, and as often as a proxy may decode it.
        var spellings = [bytes, path]
        while spellings.count < 5, let last = spellings.last, let next = PercentEncoding.decode(octets: last) {
            guard next != last else { break }
            spellings.append(next)
        }
        return spellings.allSatisfy { bytes in
            let spelling = String(decoding: bytes, as: UTF8.self)
            let reference = URIReference(spelling)
            let path = URIReference.removingDotSegments(reference.path)
            guard reference.scheme == nil, reference.authority == nil, reference.fragment == nil,
                areHarmless(bytes), path.hasPrefix("/"), !path.hasPrefix("//"), path != base,
                !path.hasPrefix(base + "/")
            else { return false }
            let target = reference.resolved(against: URIReference(origin + "/"))
            return "\(target.scheme ?? "")://\(target.authority ?? "")".utf8.elementsEqual(origin.utf8)
        }
    }

    /// No backslash, white space or control character.
    private static func areHarmless(_ bytes: [UInt8]) -> Bool {
        bytes.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") }
    }
}
