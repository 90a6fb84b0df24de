/// The URL of an HTTP request as DPoP compares it: normalized, without query and fragment
/// ([RFC 9449 §4.3](https://www.rfc-editor.org/rfc/rfc9449#section-4.3),
/// [RFC 3986 §6.2.2–6.2.3](https://www.rfc-editor.org/rfc/rfc3986#section-6.2.2)).
///
/// `HTTPS://Example.org:443/a/./b/%7euser?x=1` and `https://example.org/a/b/~user` are the same.
package struct HTTPTarget: Equatable {
    package let text: String

    /// Returns `nil` for anything but an absolute `http` or `https` URI, and for one with user
    /// information or invalid characters.
    package init?(_ uri: String) {
        var reader = URIReader(uri)
        guard let scheme = reader.scheme(), let authority = reader.authority(of: scheme), let path = reader.path()
        else {
            return nil
        }
        text = "\(scheme)://\(authority)\(path)"
    }

    /// Returns the URL otherwise unchanged, or `nil` if ``init(_:)`` rejects it.
    package static func withoutQuery(_ uri: String) -> String? {
        var uri = uri
        if let end = uri.withUTF8({ utf8 in unsafe plainEnd(utf8.span) }) { return String(uri.utf8.prefix(end)) }
        guard HTTPTarget(uri) != nil else { return nil }
        return String(uri.unicodeScalars.prefix { $0 != "?" && $0 != "#" })
    }

    /// Returns the end of the path of a URI in the most common form: lowercase up to the path, with
    /// a host of letters, digits, dots and hyphens, an optional port, and no percent-encoding.
    private static func plainEnd(_ uri: Span<UInt8>) -> Int? {
        let isSecure = uri.count > 8 && uri[4] == UInt8(ascii: "s")
        let prefix: StaticString = isSecure ? "https://" : "http://"
        var index = 0
        while index < prefix.utf8CodeUnitCount {
            guard index < uri.count, unsafe uri[index] == prefix.utf8Start[index] else { return nil }
            index += 1
        }
        let host = index
        while index < uri.count, uri[index].isPlainHostByte { index += 1 }
        guard index > host else { return nil }
        if index < uri.count, uri[index] == UInt8(ascii: ":") {
            var port = 0
            index += 1
            let digits = index
            while index < uri.count, uri[index].isDigit, index - digits < 6 {
                port = port * 10 + Int(uri[index] & 0x0F)
                index += 1
            }
            guard port <= 65_535 else { return nil }
        }
        guard index == uri.count || URIReader.endsAuthority(uri[index]) else { return nil }
        var end: Int?
        while index < uri.count {
            let byte = uri[index]
            guard byte.isUnreserved || byte.isReservedInPath else { return nil }
            if end == nil, byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { end = index }
            index += 1
        }
        return end ?? uri.count
    }
}

private struct URIReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ uri: String) {
        bytes = Array(uri.utf8)
    }

    mutating func scheme() -> String? {
        for scheme in ["https", "http"] {
            let prefix = Array("\(scheme)://".utf8)
            guard bytes.count > prefix.count, zip(bytes, prefix).allSatisfy({ $0.lowercased == $1 }) else { continue }
            position = prefix.count
            return scheme
        }
        return nil
    }

    mutating func authority(of scheme: String) -> String? {
        let start = position
        while let byte = next, !Self.endsAuthority(byte) { position += 1 }
        let authority = bytes[start..<position]
        var hostEnd = authority.endIndex
        var port: Int?
        // The colons of an IPv6 address are inside brackets.
        if let colon = authority.lastIndex(of: UInt8(ascii: ":")), !authority[colon...].contains(UInt8(ascii: "]")) {
            hostEnd = colon
            let digits = authority[(colon + 1)...]
            if !digits.isEmpty {
                guard digits.count <= 10, digits.allSatisfy(\.isDigit),
                    let number = Int(String(decoding: digits, as: UTF8.self)), number <= 65_535
                else { return nil }
                port = number
            }
        }
        guard var host = Self.host(authority[..<hostEnd]) else { return nil }
        if let port, port != (scheme == "https" ? 443 : 80) { host += ":\(port)" }
        return host
    }

    mutating func path() -> String? {
        let start = position
        while let byte = next, byte != UInt8(ascii: "?"), byte != UInt8(ascii: "#") { position += 1 }
        guard let path = Self.normalized(bytes[start..<position]) else { return nil }
        // The query and the fragment must be valid, too, even though they are dropped.
        guard Self.normalized(bytes[position...]) != nil else { return nil }
        return Self.withoutDotSegments(path)
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }

    private static func host(_ bytes: ArraySlice<UInt8>) -> String? {
        guard !bytes.isEmpty else { return nil }
        if bytes.first == UInt8(ascii: "[") {
            guard bytes.last == UInt8(ascii: "]"), bytes.count > 2,
                bytes.dropFirst().dropLast().allSatisfy({
                    $0.hexadecimalValue != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
                })
            else { return nil }
        } else if bytes.contains(where: { "@[]:".utf8.contains($0) }) {
            return nil
        }
        guard let host = normalized(bytes, brackets: true) else { return nil }
        return String(decoding: lowercased(host), as: UTF8.self)
    }

    private static func lowercased(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var escapeEnd = 0
        for (index, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: "%") { escapeEnd = index + 3 }
            result.append(index < escapeEnd ? byte : byte.lowercased)
        }
        return result
    }

    /// Returns `nil` if a byte isn't allowed in a URI.
    private static func normalized(_ bytes: ArraySlice<UInt8>, brackets: Bool = false) -> [UInt8]? {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%") {
                guard index + 2 < bytes.endIndex, let high = bytes[index + 1].hexadecimalValue,
                    let low = bytes[index + 2].hexadecimalValue
                else { return nil }
                let value = high << 4 | low
                if value.isUnreserved {
                    result.append(value)
                } else {
                    result += [byte, bytes[index + 1].uppercased, bytes[index + 2].uppercased]
                }
                index += 3
            } else {
                guard
                    byte.isUnreserved || byte.isReservedInPath
                        || (brackets && "[]".utf8.contains(byte))
                else { return nil }
                result.append(byte)
                index += 1
            }
        }
        return result
    }

    /// [RFC 3986 §5.2.4](https://www.rfc-editor.org/rfc/rfc3986#section-5.2.4); an empty path
    /// becomes `/`.
    private static func withoutDotSegments(_ path: [UInt8]) -> String {
        guard !path.isEmpty else { return "/" }
        let segments = path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        var kept: [ArraySlice<UInt8>] = []
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch Array(segment) {
            case Array(".".utf8):
                if isLast { kept.append([]) }
            case Array("..".utf8):
                _ = kept.popLast()
                if isLast { kept.append([]) }
            default:
                kept.append(segment)
            }
        }
        return "/" + kept.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    }
}

extension UInt8 {
    fileprivate var uppercased: UInt8 { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) ? self & 0xDF : self }

    fileprivate var isUnreserved: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    fileprivate var isReservedInPath: Bool {
        switch self {
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "&")...UInt8(ascii: ","),
            UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: ";"), UInt8(ascii: "="), UInt8(ascii: "?"),
            UInt8(ascii: "@"):
            true
        default: false
        }
    }

    fileprivate var isPlainHostByte: Bool {
        isUnreserved && self == lowercased && self != UInt8(ascii: "_") && self != UInt8(ascii: "~")
    }
}
