/// A block of a PEM text ([RFC 7468](https://www.rfc-editor.org/rfc/rfc7468)).
struct PEMBlock {
    let label: String
    /// Starting at 1.
    let line: Int
    /// The header lines of [RFC 1421](https://www.rfc-editor.org/rfc/rfc1421) with their line
    /// breaks.
    let header: String
    let contents: SecretBytes

    static let maximumSize = 65_536

    /// With PKCS#8 or OpenSSL's legacy method.
    var isEncrypted: Bool { label == "ENCRYPTED PRIVATE KEY" || !header.isEmpty }

    /// Anything may precede the block, also blocks with `skippedLabel`; only blank lines may
    /// follow.
    static func only(in text: String, skipping skippedLabel: String? = nil) throws(CryptoError) -> PEMBlock {
        try checkSize(of: text, maximum: maximumSize)
        var parser = PEMParser(text)
        var block = try parser.nextBlock()
        while let skipped = block, skipped.label == skippedLabel {
            block = try parser.nextBlock()
        }
        guard let block else {
            throw CryptoError(
                .malformedKey,
                "The text has no PEM block with a key, that is, no line “-----BEGIN … KEY-----”; if it comes from an "
                    + "environment variable, check that it contains actual line breaks"
            )
        }
        try parser.finish(after: block)
        return block
    }

    /// Ignores the text between the blocks.
    static func all(in text: String, maximumSize: Int) throws(CryptoError) -> [PEMBlock] {
        try checkSize(of: text, maximum: maximumSize)
        var parser = PEMParser(text)
        var blocks: [PEMBlock] = []
        while let block = try parser.nextBlock() {
            blocks.append(block)
        }
        return blocks
    }

    private static func checkSize(of text: String, maximum: Int) throws(CryptoError) {
        guard text.utf8.count <= maximum else {
            throw CryptoError(
                .malformedKey,
                "The PEM text has \(text.utf8.count) bytes, but the limit is \(maximum)"
            )
        }
    }
}

/// A strict parser for the blocks of a PEM text; only the kind of line breaks may vary.
struct PEMParser {
    private let lines: [Substring.UTF8View]
    private var index = 0

    init(_ text: String) {
        // Drop a byte order mark, which would otherwise be part of the first line.
        let bytes = text.utf8.starts(with: [0xEF, 0xBB, 0xBF]) ? text.utf8.dropFirst(3) : text.utf8[...]
        lines = Self.lines(of: bytes)
    }

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

    /// Starts on the block's first line and stops at its last.
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
                let contents = try Base64Lines.decoded(lines[firstContent..<index], firstLine: firstContent + 1)
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

/// A writer for PEM ([RFC 7468](https://www.rfc-editor.org/rfc/rfc7468)).
enum PEMWriter {
    /// Writes lines of 64 characters directly into the string's storage, to avoid another copy of a
    /// private key.
    static func text(_ label: StaticString, _ contents: RawSpan) -> String {
        let digits = (contents.byteCount + 2) / 3 * 4
        let lines = (digits + lineLength - 1) / lineLength
        let capacity = digits + lines + 2 * (16 + label.utf8CodeUnitCount)
        return String(utf8Capacity: capacity) { output in
            append("-----BEGIN \(label)-----\n", to: &output)
            appendBase64(contents, to: &output)
            append("-----END \(label)-----\n", to: &output)
        }
    }

    private static let lineLength = 64
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static func append(_ text: String, to output: inout OutputSpan<UInt8>) {
        for character in text.utf8 {
            output.append(character)
        }
    }

    @_lifetime(output: copy output)
    private static func appendBase64(_ contents: RawSpan, to output: inout OutputSpan<UInt8>) {
        var column = 0
        for start in stride(from: 0, to: contents.byteCount, by: 3) {
            let count = min(3, contents.byteCount - start)
            var group: UInt32 = 0
            for index in 0..<3 {
                group = group << 8 | (index < count ? UInt32(contents[start + index]) : 0)
            }
            for index in 0..<4 {
                let digit = Int(group >> (18 - 6 * index)) & 0x3F
                output.append(index <= count ? alphabet[digit] : UInt8(ascii: "="))
            }
            column += 4
            if column == lineLength {
                output.append(UInt8(ascii: "\n"))
                column = 0
            }
        }
        if column > 0 {
            output.append(UInt8(ascii: "\n"))
        }
    }
}

/// The base64 contents of a PEM block
/// ([RFC 4648 §4](https://www.rfc-editor.org/rfc/rfc4648#section-4)).
enum Base64Lines {
    /// Requires complete groups, padding only at the end, and no unused bits set.
    static func decoded(
        _ lines: ArraySlice<Substring.UTF8View>,
        firstLine: Int
    ) throws(CryptoError) -> SecretBytes {
        let capacity = lines.reduce(0) { $0 + $1.count } / 4 * 3 + 3
        let contents = try SecretBytes(capacity: capacity) { output throws(CryptoError) in
            var bits: UInt32 = 0
            var digits = 0
            var padding = 0
            for (offset, line) in lines.enumerated() {
                for character in line {
                    if character == UInt8(ascii: "=") {
                        padding += 1
                        continue
                    }
                    guard padding == 0, let digit = digit(character) else {
                        throw CryptoError(.malformedKey, "Line \(firstLine + offset) of the PEM text isn't base64")
                    }
                    bits = bits << 6 | UInt32(digit)
                    digits += 1
                    if digits.isMultiple(of: 4) {
                        for shift in [16, 8, 0] { output.append(UInt8(truncatingIfNeeded: bits >> shift)) }
                        bits = 0
                    }
                }
            }
            switch (digits % 4, padding) {
            case (0, 0): break
            case (2, 2) where bits & 0xF == 0:
                output.append(UInt8(truncatingIfNeeded: bits >> 4))
            case (3, 1) where bits & 0x3 == 0:
                output.append(UInt8(truncatingIfNeeded: bits >> 10))
                output.append(UInt8(truncatingIfNeeded: bits >> 2))
            default:
                throw CryptoError(
                    .malformedKey,
                    "The base64 of the PEM block that ends before line \(firstLine + lines.count) is truncated"
                )
            }
        }
        guard contents.count > 0 else {
            throw CryptoError(.malformedKey, "The PEM block at line \(firstLine) is empty")
        }
        return contents
    }

    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
