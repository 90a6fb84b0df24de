import Foundation

/// The public names that source files declare, found by a simple text scan.
struct PublicDeclarations {
    /// The last components of type names, such as `Code`.
    private var types: Set<String> = []
    /// The members by the last component of their type's name, functions with and without labels.
    private var members: [String: Set<String>] = [:]
    private var all: Set<String> = []

    init(folders: [String]) {
        for path in folders.flatMap({ Repository.paths(in: $0) }) where path.hasSuffix(".swift") {
            read(Repository.text(path) ?? "")
        }
    }

    /// Returns a Boolean value that indicates whether the type or the type's member exists.
    func contains(_ name: String) -> Bool {
        // Parentheses contain only labels, which have no dots.
        let base = name.prefix { $0 != "(" }.split(separator: ".").map(String.init)
        let labels = name.drop { $0 != "(" }
        guard let last = base.last else { return false }
        guard base.count > 1 else { return labels.isEmpty && types.contains(last) || all.contains(last + labels) }
        guard base.dropLast().allSatisfy(types.contains) else { return false }
        if labels.isEmpty, types.contains(last) { return true }
        return members[base[base.count - 2], default: []].contains(last + labels)
    }

    private mutating func read(_ text: String) {
        /// The types that enclose a line, and the columns of their declarations.
        var open: [(name: String, column: Int, isOpenToAll: Bool)] = []
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let column = line.utf8.prefix { $0 == UInt8(ascii: " ") }.count
            let code = line[line.utf8.index(line.startIndex, offsetBy: column)...]
            guard Self.beginnings.contains(where: code.utf8.starts) else { continue }
            while let last = open.last, column <= last.column, !code.hasPrefix("{") { open.removeLast() }
            let words = code.split(separator: " ", maxSplits: 8).prefix { !$0.hasPrefix("=") }
            let isPublic = words.contains("public")
            if let kind = words.prefix(4).firstIndex(where: Self.kinds.contains), kind + 1 < words.endIndex,
                words[..<kind].allSatisfy(Self.modifiers.contains)
            {
                let name = words[kind + 1].prefix { $0.isLetter || $0.isNumber || $0 == "." || $0 == "_" }
                let last = String(name.split(separator: ".").last ?? "")
                if isPublic { types.insert(last) }
                // Members of public protocols and enumerations are public without the keyword.
                open.append((last, column, isPublic && ["protocol", "enum"].contains(words[kind])))
            } else if isPublic || open.last?.isOpenToAll == true {
                declare(Self.names(in: lines[index...], code, words), in: open.last?.name ?? "")
            }
        }
    }

    /// The beginnings of relevant lines. The scan skips all others.
    private static let beginnings = [
        "public ", "}", "extension ", "case ", "func ", "var ", "static ", "associatedtype ", "struct ", "enum ",
        "class ",
        "final ", "indirect ", "@", "protocol ", "actor ", "init", "mutating ",
    ].map { Array($0.utf8) }
    private static let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "actor", "extension"]
    private static let modifiers: Set<Substring> = ["public", "final", "indirect", "@safe", "@nonexhaustive"]

    private mutating func declare(_ names: [String], in owner: String) {
        members[owner, default: []].formUnion(names)
        all.formUnion(names)
        if let alias = names.first(where: { $0.first?.isUppercase == true }) { types.insert(alias) }
    }

    /// Returns the names that a line declares, such as `fetch` and `fetch(_:decoding:)`, or cases.
    private static func names(
        in lines: ArraySlice<Substring>,
        _ code: Substring,
        _ words: ArraySlice<Substring>
    ) -> [String] {
        func identifier(_ text: Substring) -> String { String(text.prefix { $0.isLetter || $0.isNumber || $0 == "_" }) }
        if let keyword = words.firstIndex(where: { ["var", "let", "typealias", "associatedtype"].contains($0) }),
            keyword + 1 < words.endIndex
        {
            return [identifier(words[keyword + 1])]
        }
        if words.first == "case" {
            let names = code.dropFirst(5).split(separator: ",").map { identifier($0.drop { $0 == " " }) }
            return names + names.map { "\($0)(_:)" }
        }
        guard let parenthesis = code.firstIndex(of: "(") else { return [] }
        let head = code[..<parenthesis].split(separator: " ")
        if let keyword = head.firstIndex(of: "func"), keyword + 1 < head.endIndex {
            let name = identifier(head[keyword + 1])
            return [name, name + labels(in: lines, after: code[code.index(after: parenthesis)...])]
        }
        guard head.last.map({ identifier($0) }) == "init" else { return [] }
        return ["init", "init" + labels(in: lines, after: code[code.index(after: parenthesis)...])]
    }

    /// Returns the labels of a function whose parameters start here and may span several lines.
    private static func labels(in lines: ArraySlice<Substring>, after start: Substring) -> String {
        var labels: [String] = []
        var (depth, isAtStart, word, isQuoted) = (1, true, "", false)
        for character in [start].joined() + "\n" + lines.dropFirst().prefix(24).joined(separator: "\n") {
            if character == "\"" { isQuoted.toggle() }
            if isQuoted { continue }
            switch character {
            case "(", "[", "{": depth += 1
            case ")", "]", "}": depth -= 1
            case ",": if depth == 1 { (isAtStart, word) = (true, "") }
            case ":", " ":
                if depth == 1, isAtStart, !word.isEmpty {
                    labels.append(word)
                    isAtStart = false
                }
            case "\n": break
            default: if depth == 1, isAtStart { word.append(character) }
            }
            if depth == 0 { break }
        }
        return "(" + labels.map { "\($0):" }.joined() + ")"
    }
}
