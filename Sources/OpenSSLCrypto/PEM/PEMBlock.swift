/// A block of a PEM text ([RFC 7468](https://www.rfc-editor.org/rfc/rfc7468)).
struct PEMBlock {
    /// The label: the text after `BEGIN`.
    let label: String
    /// The number of the `BEGIN` line, starting at 1.
    let line: Int
    /// The header lines of [RFC 1421](https://www.rfc-editor.org/rfc/rfc1421) with their line
    /// breaks; usually empty.
    let header: String
    /// The decoded bytes.
    let contents: SecretBytes

    /// The maximum size of a text, in bytes.
    static let maximumSize = 65_536

    /// A Boolean value that indicates whether the contents are encrypted, with PKCS#8 or OpenSSL's
    /// legacy method.
    var isEncrypted: Bool { label == "ENCRYPTED PRIVATE KEY" || !header.isEmpty }

    /// Reads the only block of a text; errors have the line number.
    ///
    /// Anything may precede the block, and so may blocks with `skippedLabel`; only blank lines may
    /// follow it.
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

    /// Reads all blocks of a text of limited size, and ignores the text between them.
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
