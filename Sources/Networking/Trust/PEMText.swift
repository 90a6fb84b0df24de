/// A PEM text with blocks of several kinds, such as a certificate and its key in one file.
struct PEMText {
    private let text: String

    init(_ text: String) {
        self.text = text
    }

    /// The blocks of some kinds, each with its boundaries; what is inside is left as it is.
    ///
    /// - Parameter isWanted: Whether the blocks with a label are wanted.
    /// - Returns: The wanted blocks' lines, empty if there are none.
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
