internal import Foundation
internal import OpenSSLCrypto

/// A host's name or address in the one form in which two spellings of the same host are equal.
struct HostName: Hashable, Sendable {
    private enum Form: Hashable {
        case labels([String])
        case address(IPAddress)
    }

    private let form: Form

    /// Reads a host.
    ///
    /// Letters of any case, a final dot, the brackets of an IPv6 address and international names
    /// ([RFC 5890](https://www.rfc-editor.org/rfc/rfc5890)) or their ASCII form are one and the same.
    ///
    /// - Parameter text: The host; `nil` if it is no name and no address.
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
        // Resolvers take a name that ends in a number for an address, written in one way or another.
        guard let last = labels.last, !Self.isNumber(last) else { return nil }
        form = .labels(labels.map(String.init))
    }

    /// Whether the name is below another, by whole labels; an address is below nothing.
    func isSubdomain(of parent: HostName) -> Bool {
        guard case .labels(let labels) = form, case .labels(let parentLabels) = parent.form else { return false }
        return labels.count > parentLabels.count && labels.suffix(parentLabels.count).elementsEqual(parentLabels)
    }

    /// How many labels the name has; more for a more specific one.
    var depth: Int {
        guard case .labels(let labels) = form else { return 0 }
        return labels.count
    }

    private static func asciiName(_ text: String) -> String? {
        guard !text.utf8.allSatisfy({ $0 < 0x80 }) else { return text }
        // Nothing that could end the host in a URL, so that Foundation only converts it.
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
