/// One block of a PEM text ([RFC 7468](https://www.rfc-editor.org/rfc/rfc7468)).
struct PEMBlock {
    /// The words after `BEGIN`.
    let label: String
    /// The number of the line with `BEGIN`, counted from 1.
    let line: Int
    /// The header lines of [RFC 1421](https://www.rfc-editor.org/rfc/rfc1421), each with its line break; mostly none.
    let header: String
    /// The decoded octets.
    let contents: SecretBytes

    /// The largest text that is read, in octets.
    static let maximumSize = 65_536

    /// Whether the contents are encrypted, by PKCS#8 or by OpenSSL's older method.
    var isEncrypted: Bool { label == "ENCRYPTED PRIVATE KEY" || !header.isEmpty }

    /// Reads a text that has exactly one block.
    ///
    /// - Parameters:
    ///   - text: The text. Before the block there may be anything, after it only blank lines.
    ///   - skippedLabel: The label of blocks that may come first and are ignored.
    /// - Returns: The block.
    /// - Throws: ``CryptoError/Code/malformedKey``, naming the line.
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
                "The text has no PEM block with a key: no line is “-----BEGIN … KEY-----”. If it comes from an "
                    + "environment variable, check that its line breaks are real ones"
            )
        }
        try parser.finish(after: block)
        return block
    }

    /// Reads all blocks of a text; what is around them is ignored.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - maximumSize: How many octets it may have.
    /// - Returns: The blocks, none if there are none.
    /// - Throws: ``CryptoError/Code/malformedKey``, naming the line.
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
                "The PEM text has \(text.utf8.count) octets: more than \(maximum) are not read"
            )
        }
    }
}
