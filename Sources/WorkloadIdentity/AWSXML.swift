import Foundation

/// The texts of an XML document's elements without children, by their paths.
///
/// It reads what services of AWS write: no document type, comments, CDATA sections or processing
/// instructions, except the XML declaration. Attributes are ignored.
struct AWSXML {
    private static let maximumDepth = 16
    private static let maximumElements = 1_024
    private static let maximumNameLength = 64

    private var texts: [String: String] = [:]
    private var repeated: Set<String> = []

    /// Returns `nil` for anything else than such a document of at most 128 KiB.
    init?(_ body: Data) {
        guard body.count <= 2 * PlatformToken.maximumSize else { return nil }
        var rest = Array(body)[...]
        var path: [String] = []
        var text: [UInt8] = []
        var (isLeaf, count, hasEnded) = (false, 0, false)
        while let mark = rest.firstIndex(of: UInt8(ascii: "<")) {
            text += rest[..<mark]
            guard let end = rest[mark...].firstIndex(of: UInt8(ascii: ">")) else { return nil }
            let tag = rest[rest.index(after: mark)..<end]
            rest = rest[rest.index(after: end)...]
            if tag.first == UInt8(ascii: "?"), path.isEmpty, count == 0 { continue }
            if tag.first == UInt8(ascii: "/") {
                guard let name = Self.name(tag.dropFirst()), name == path.last else { return nil }
                if isLeaf {
                    guard let decoded = Self.decoded(text) else { return nil }
                    add(decoded, at: path.joined(separator: "/"))
                }
                path.removeLast()
                (isLeaf, hasEnded) = (false, path.isEmpty)
            } else {
                guard !hasEnded, let name = Self.name(tag), path.count < Self.maximumDepth else { return nil }
                count += 1
                guard count <= Self.maximumElements else { return nil }
                if tag.last == UInt8(ascii: "/") {
                    add("", at: (path + [name]).joined(separator: "/"))
                    (isLeaf, hasEnded) = (false, path.isEmpty)
                } else {
                    path.append(name)
                    isLeaf = true
                }
            }
            text = []
        }
        let isBlank = rest.allSatisfy { $0 == 0x20 || (0x09...0x0D).contains($0) }
        guard hasEnded, path.isEmpty, isBlank else { return nil }
    }

    /// The text of the only element with a path; `nil` if there are several or none.
    subscript(path: String) -> String? { repeated.contains(path) ? nil : texts[path] }

    private mutating func add(_ text: String, at path: String) {
        if texts.updateValue(text, forKey: path) != nil { repeated.insert(path) }
    }

    /// The local name of a tag.
    private static func name(_ tag: ArraySlice<UInt8>) -> String? {
        var name = tag.prefix { !($0 == 0x20 || (0x09...0x0D).contains($0) || $0 == UInt8(ascii: "/")) }
        if let colon = name.firstIndex(of: UInt8(ascii: ":")) { name = name[(colon + 1)...] }
        let isName = name.allSatisfy { AWSCanonical.isNameCharacter($0) }
        return isName && (1...maximumNameLength).contains(name.count) ? String(decoding: name, as: UTF8.self) : nil
    }

    private static func decoded(_ octets: [UInt8]) -> String? {
        guard let text = String(validating: octets, as: UTF8.self) else { return nil }
        guard octets.contains(UInt8(ascii: "&")) else { return text }
        var decoded = ""
        var parts = text.split(separator: "&", omittingEmptySubsequences: false)[...]
        decoded += parts.removeFirst()
        for part in parts {
            guard let end = part.firstIndex(of: ";"), let scalar = scalar(part[..<end]) else { return nil }
            decoded.unicodeScalars.append(scalar)
            decoded += part[part.index(after: end)...]
        }
        return decoded
    }

    private static func scalar(_ name: Substring) -> Unicode.Scalar? {
        switch name {
        case "amp": "&"
        case "lt": "<"
        case "gt": ">"
        case "quot": "\""
        case "apos": "'"
        case _ where name.hasPrefix("#x"): UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
        case _ where name.hasPrefix("#"): UInt32(name.dropFirst()).flatMap(Unicode.Scalar.init)
        default: nil
        }
    }
}
