import Foundation

/// Names of files that somebody else suggests.
enum FileName {
    /// The longest name that Linux's file systems have, in octets.
    static let maximumLength = 255
    /// The longest suggestion that is read, in Unicode scalars.
    private static let maximumScalars = 1_024

    /// Makes a suggestion a name that can only be that of a new ordinary file in the folder it is put into; `nil` if nothing is left.
    ///
    /// Only what follows the last separator counts, of Unix or Windows. Control characters go, and so do those that change the direction
    /// of writing, with which `exe` can be shown at another place than the end. A name never begins with a dot, which would hide it.
    static func sanitized(_ suggestion: String) -> String? {
        // Scalars, and few of them: finding the characters of a text that combines takes quadratic time.
        let all = suggestion.unicodeScalars
        let start = all.lastIndex { $0 == "/" || $0 == "\\" }.map(all.index(after:)) ?? all.startIndex
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: all[start...].lazy.filter { !isHarmful($0) }.prefix(maximumScalars))
        let blanks = CharacterSet.whitespacesAndNewlines
        var name = String(scalars).trimmingCharacters(in: blanks)
        while name.hasPrefix(".") || name.hasPrefix("~") {
            name = String(name.dropFirst()).trimmingCharacters(in: blanks)
        }
        while name.hasSuffix(".") { name = String(name.dropLast()).trimmingCharacters(in: blanks) }
        guard !name.isEmpty else { return nil }
        let (stem, ending) = split(name)
        return shortened(stem, to: maximumLength - ending.utf8.count) + ending
    }

    /// The stem and the extension with its dot; an extension that is unusually long is part of the stem.
    static func split(_ name: String) -> (stem: String, ending: String) {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex, name[dot...].utf8.count <= 32 else {
            return (name, "")
        }
        return (String(name[..<dot]), String(name[dot...]))
    }

    /// The beginning of a text that has at most so many octets, characters kept whole.
    static func shortened(_ text: String, to count: Int) -> String {
        var text = text
        while text.utf8.count > max(count, 1), text.count > 1 { text.removeLast() }
        // One character can be longer than any name.
        return text.utf8.count > max(count, 1) ? "_" : text
    }

    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
        default: scalar == "\u{FFFD}"
        }
    }
}
