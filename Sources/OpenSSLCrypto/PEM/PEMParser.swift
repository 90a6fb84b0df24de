/// A strict parser for the blocks of a PEM text; only the kind of line breaks may vary.
struct PEMParser {
    private let lines: [Substring.UTF8View]
    private var index = 0

    init(_ text: String) {
        // Drop a byte order mark, which would otherwise be part of the first line.
        let bytes = text.utf8.starts(with: [0xEF, 0xBB, 0xBF]) ? text.utf8.dropFirst(3) : text.utf8[...]
        lines = Self.lines(of: bytes)
    }

    /// Reads the next block and ignores any text before it.
    mutating func nextBlock() throws(CryptoError) -> PEMBlock? {
        while index < lines.count {
            defer { index += 1 }
            if let label = try boundary(Self.begin) {
                return try block(label)
            }
            if try boundary(Self.end) != nil {
                throw CryptoError(.malformedKey, "Line \(index + 1) ends a PEM block that wasn't started")
            }
        }
        return nil
    }

    /// Checks that only blank lines follow.
    func finish(after block: PEMBlock) throws(CryptoError) {
        guard let next = lines[index...].firstIndex(where: { !$0.isEmpty }) else { return }
        throw CryptoError(
            .malformedKey,
            "Line \(next + 1) has text after the block “\(block.label)” of line \(block.line); only one key is allowed"
        )
    }

    private static let begin = "-----BEGIN "
    private static let end = "-----END "
    private static let dashes = "-----"
    private static let maximumLabelLength = 64

    /// Reads the block that starts on the current line, and stops at its last line.
    private mutating func block(_ label: String) throws(CryptoError) -> PEMBlock {
        let first = index
        index += 1
        let header = try readHeader()
        let firstContent = index
        while index < lines.count {
            if let endLabel = try boundary(Self.end) {
                guard endLabel == label else {
                    throw CryptoError(
                        .malformedKey,
                        "Line \(index + 1) ends “\(endLabel)”, but line \(first + 1) started “\(label)”"
                    )
                }
                let contents = try Base64Lines(lines[firstContent..<index], firstLine: firstContent + 1).decoded()
                return PEMBlock(label: label, line: first + 1, header: header, contents: contents)
            }
            if lines[index].starts(with: Self.dashes.utf8) {
                throw CryptoError(
                    .malformedKey,
                    "Line \(index + 1) isn't the end of the block “\(label)” that started on line \(first + 1)"
                )
            }
            index += 1
        }
        throw CryptoError(.malformedKey, "The block “\(label)” that starts on line \(first + 1) has no end")
    }

    /// Reads the header lines, which end with a blank line.
    private mutating func readHeader() throws(CryptoError) -> String {
        guard index < lines.count, lines[index].contains(UInt8(ascii: ":")) else { return "" }
        var header = ""
        while index < lines.count, !lines[index].isEmpty {
            guard !lines[index].starts(with: Self.dashes.utf8) else { break }
            header += String(Substring(lines[index])) + "\n"
            index += 1
        }
        guard index < lines.count, lines[index].isEmpty else {
            throw CryptoError(
                .malformedKey,
                "Line \(index + 1): a blank line must separate the PEM header from the contents"
            )
        }
        index += 1
        return header
    }

    /// Returns the label if the current line is a boundary of the given kind, otherwise `nil`.
    private func boundary(_ kind: String) throws(CryptoError) -> String? {
        let line = lines[index]
        guard line.starts(with: kind.utf8), line.suffix(Self.dashes.utf8.count).elementsEqual(Self.dashes.utf8) else {
            return nil
        }
        let label = line.dropFirst(kind.utf8.count).dropLast(Self.dashes.utf8.count)
        // Errors quote labels. If labels could contain lower-case letters, one might include part
        // of a key on the same line.
        let isReadable = label.allSatisfy { character in
            character == UInt8(ascii: " ") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(character)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(character)
        }
        guard isReadable, (1...Self.maximumLabelLength).contains(label.count) else {
            throw CryptoError(.malformedKey, "The label of the PEM block on line \(index + 1) is malformed")
        }
        return String(Substring(label))
    }

    /// Splits text at CR LF, LF or CR, and trims blanks from each line.
    private static func lines(of text: Substring.UTF8View) -> [Substring.UTF8View] {
        var lines: [Substring.UTF8View] = []
        var rest = text
        while let lineBreak = rest.firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) {
            lines.append(trimmed(rest[..<lineBreak]))
            let isCRLF = rest[lineBreak...].starts(with: [0x0D, 0x0A])
            rest = rest[lineBreak...].dropFirst(isCRLF ? 2 : 1)
        }
        lines.append(trimmed(rest))
        return lines
    }

    private static func trimmed(_ line: Substring.UTF8View) -> Substring.UTF8View {
        func isBlank(_ octet: UInt8) -> Bool { octet == 0x20 || octet == 0x09 }
        var line = line.drop(while: isBlank)
        while let last = line.last, isBlank(last) {
            line.removeLast()
        }
        return line
    }
}
