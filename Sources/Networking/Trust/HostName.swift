internal import Foundation
internal import OpenSSLCrypto

/// A host name or address in canonical form, so that different spellings of a host are equal.
struct HostName: Hashable, Sendable {
    private enum Form: Hashable {
        case labels([String])
        case address(IPAddress)
    }

    private let form: Form

    /// Creates a host name from a text, or returns `nil` if it is neither a name nor an address.
    ///
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

    /// Returns whether the name is a subdomain of another, by whole labels; an address never is.
    func isSubdomain(of parent: HostName) -> Bool {
        guard case .labels(let labels) = form, case .labels(let parentLabels) = parent.form else { return false }
        return labels.count > parentLabels.count && labels.suffix(parentLabels.count).elementsEqual(parentLabels)
    }

    /// The number of labels; a more specific name has more.
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
