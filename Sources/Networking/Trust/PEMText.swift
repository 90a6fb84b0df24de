/// A PEM text with several kinds of blocks, such as a certificate and its key in one file.
struct PEMText {
    private let text: String

    init(_ text: String) {
        self.text = text
    }

    /// Returns the blocks with certain labels, including their boundaries, with unchanged content.
    ///
    /// - Parameter isWanted: Returns whether to include the blocks with a label.
    /// - Returns: The lines of the blocks, or an empty string.
    func blocks(where isWanted: (Substring) -> Bool) -> String {
        var lines = ""
        var wantedLabel: Substring?
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.drop { $0 == " " || $0 == "\t" }
            if let label = Self.label(line, after: "-----BEGIN "), isWanted(label) { wantedLabel = label }
            if wantedLabel != nil { lines += line + "\n" }
            if Self.label(line, after: "-----END ") != nil { wantedLabel = nil }
        }
        return lines
    }

    private static func label(_ line: Substring, after start: String) -> Substring? {
        guard line.hasPrefix(start), let end = line.dropFirst(start.count).firstRange(of: "-----") else { return nil }
        return line[line.index(line.startIndex, offsetBy: start.count)..<end.lowerBound]
    }
}
