import Foundation

/// A redactor that replaces the values of secret members in JSON text and keeps all other bytes.
///
/// It reads any sequence of values, such as newline-delimited JSON. It rejects input that it can't
/// parse completely, because that could contain a secret.
struct JSONRedactor {
    private let octets: [UInt8]
    private let isSecret: (String) -> Bool
    private var position = 0
    private var result: [UInt8] = []
    /// The open containers: `true` for an object, `false` for an array.
    private var containers: [Bool] = []

    init(_ octets: [UInt8], isSecret: @escaping (String) -> Bool) {
        self.octets = octets
        self.isSecret = isSecret
    }

    /// Returns `nil` if the text isn't JSON.
    func redacted() -> [UInt8]? {
        var copy = self
        return copy.run() ? copy.result : nil
    }

    /// Redacts text with JSON anywhere in it, such as an event stream.
    ///
    /// It replaces the value after each secret name that's a string followed by a colon, even in
    /// malformed JSON, and reports it.
    func redactedWithinText(report: ([UInt8]) -> Void = { _ in }) -> [UInt8] {
        guard octets.contains(UInt8(ascii: ":")), octets.contains(UInt8(ascii: "\"")) else { return octets }
        var copy = self
        copy.result.reserveCapacity(octets.count)
        while let byte = copy.next {
            // Perhaps it's the end of a string, and the next quotation mark begins one.
            guard byte == UInt8(ascii: "\""), let length = copy.stringLength(atMost: Self.longestName),
                copy.colonFollows(after: length),
                copy.text(octets[copy.position..<copy.position + length]).map(isSecret) ?? true
            else {
                copy.copy(1)
                continue
            }
            copy.copy(length)
            _ = copy.copyColon()
            let start = copy.position
            // The rest may be missing.
            if !copy.replaceValue() {
                copy.position = octets.count
                copy.result += "\"\(Redaction.placeholder)\"".utf8
            }
            let value = octets[start..<copy.position]
            report(value.first == UInt8(ascii: "\"") ? Array((text(value) ?? "").utf8) : Array(value))
        }
        return copy.result
    }

    private mutating func run() -> Bool {
        result.reserveCapacity(octets.count)
        var expectsName = false
        while let byte = next {
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                containers.append(byte == UInt8(ascii: "{"))
                expectsName = byte == UInt8(ascii: "{")
                copy(1)
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard containers.popLast() == (byte == UInt8(ascii: "}")) else { return false }
                expectsName = false
                copy(1)
            case UInt8(ascii: ","):
                expectsName = containers.last == true
                copy(1)
            case UInt8(ascii: "\""):
                guard let string = stringLength else { return false }
                let name = expectsName ? text(octets[position..<position + string]) : nil
                copy(string)
                guard expectsName else { continue }
                expectsName = false
                guard copyColon() else { return false }
                if name.map(isSecret) ?? true {
                    guard replaceValue() else { return false }
                }
            case 0x20, 0x09, 0x0A, 0x0D:
                copy(1)
            default:
                guard let length = scalarLength else { return false }
                copy(length)
            }
        }
        return containers.isEmpty
    }

    /// `nil` unless there's a number or a literal, because a secret can follow anything else.
    private var scalarLength: Int? {
        let word = octets[position..<wordEnd]
        let isScalar =
            word.allSatisfy("+-.0123456789Ee".utf8.contains)
            || ["true", "false", "null"].contains { word.elementsEqual($0.utf8) }
        return word.isEmpty || !isScalar ? nil : word.count
    }

    private var wordEnd: Int { octets[position...].firstIndex(where: ",:]}[{\" \t\r\n".utf8.contains) ?? octets.count }

    private var next: UInt8? { position < octets.count ? octets[position] : nil }

    private mutating func copy(_ count: Int) {
        result += octets[position..<position + count]
        position += count
    }

    /// The size of the longest name that's searched for within text, in time that's linear in it.
    private static let longestName = 256

    private func colonFollows(after length: Int) -> Bool {
        let rest = octets[(position + length)...].prefix(Self.longestName)
        return rest.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: ":")
    }

    /// Includes the quotes; `nil` if the string at the position doesn't end.
    private var stringLength: Int? { stringLength(atMost: .max) }

    private func stringLength(atMost limit: Int) -> Int? {
        var index = position + 1
        let end = min(octets.count - position, limit) + position
        while index < end {
            switch octets[index] {
            case UInt8(ascii: "\""): return index + 1 - position
            case UInt8(ascii: "\\"): index += 2
            default: index += 1
            }
        }
        return nil
    }

    /// Returns `nil` for a malformed name, which counts as the name of a secret.
    private func text(_ string: ArraySlice<UInt8>) -> String? {
        guard string.contains(UInt8(ascii: "\\")) else {
            return String(decoding: string.dropFirst().dropLast(), as: UTF8.self)
        }
        return try? JSONDecoder().decode(String.self, from: Data(string))
    }

    private mutating func copyColon() -> Bool {
        copySpace()
        guard next == UInt8(ascii: ":") else { return false }
        copy(1)
        copySpace()
        return true
    }

    private mutating func copySpace() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { copy(1) }
    }

    /// Replaces a value of any kind except `null`.
    private mutating func replaceValue() -> Bool {
        let start = position
        var depth = 0
        repeat {
            guard let byte = next else { return false }
            switch byte {
            case UInt8(ascii: "\""):
                guard let length = stringLength else { return false }
                position += length
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { return false }
                depth -= 1
                position += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x09, 0x0A, 0x0D:
                guard depth > 0 else { return false }
                position += 1
            default: position = wordEnd
            }
        } while depth > 0
        if octets[start..<position].elementsEqual("null".utf8) {
            result += octets[start..<position]
        } else {
            result += "\"\(Redaction.placeholder)\"".utf8
        }
        return true
    }
}
