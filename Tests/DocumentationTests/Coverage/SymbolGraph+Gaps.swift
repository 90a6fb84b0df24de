extension SymbolGraph.Symbol {
    /// Returns the missing parts of the documentation. Empty if it's complete.
    ///
    /// - Parameters:
    ///   - isRequirement: Whether a protocol documents all but the summary.
    ///   - properties: The documented properties of the type. An initializer needn't repeat them.
    func gaps(isRequirement: Bool = false, properties: Set<String> = []) -> [String] {
        guard let docComment else { return ["no documentation"] }
        let comment = DocumentationComment(lines: docComment.lines.map(\.text))
        var gaps: [String] = []
        if !comment.hasSummary { gaps.append("no summary") }
        if isRequirement { return gaps }
        if let functionSignature {
            // A parameter named `_` can't be documented.
            let names = (functionSignature.parameters ?? []).map { $0.internalName ?? $0.name }
            let parameters = names.filter { $0 != "_" }
            let returned = (functionSignature.returns ?? []).map(\.spelling).joined()
            let isInitializer = kind.identifier == "swift.init"
            let others = isInitializer ? properties.union(comment.names) : []
            let documented = comment.parameters.union(others)
            gaps += parameters.filter { !documented.contains($0) }.map { "no “- Parameter \($0):”" }
            gaps += comment.parameters.subtracting(parameters).sorted().map { "unknown parameter \($0)" }
            if !isInitializer, !["", "()", "Void", "Never"].contains(returned), !comment.saysWhatIsReturned {
                gaps.append("no “- Returns:”")
            }
        }
        if canThrow, !comment.saysWhatIsThrown { gaps.append("no “- Throws:”") }
        return gaps
    }

    /// A Boolean value that indicates whether a call or a read can throw.
    ///
    /// Closure parameters don't count.
    var canThrow: Bool {
        if functionSignature != nil, !kind.identifier.contains("subscript") { return throwsAfterParameters }
        // A property lists its accessors between braces.
        let accessors = declarationFragments.drop { !$0.spelling.contains("{") }
        return accessors.contains { $0.kind == "keyword" && $0.spelling == "throws" }
    }

    private var throwsAfterParameters: Bool {
        var depth = 0
        var text = ""
        for fragment in declarationFragments {
            if fragment.kind == "keyword", depth == 0, ["throws", "rethrows"].contains(fragment.spelling) {
                return true
            }
            for character in fragment.spelling {
                text.append(character)
                if character == "(" { depth += 1 }
                if character == ")" { depth -= 1 }
                if depth == 0, text.hasSuffix("->") { return false }
            }
        }
        return false
    }

    /// The location of the declaration.
    var place: String {
        guard let location else { return pathComponents.joined(separator: ".") }
        let path = location.uri.split(separator: "/Sources/", maxSplits: 1).last.map { "Sources/\($0)" } ?? location.uri
        return "\(path):\(location.position.line + 1): \(pathComponents.joined(separator: "."))"
    }
}
