/// The parts of a documentation comment.
struct DocumentationComment {
    /// A Boolean value that indicates whether the comment starts with a summary.
    let hasSummary: Bool
    let parameters: Set<String>
    /// The names in backquotes.
    let names: Set<String>
    let saysWhatIsReturned: Bool
    let saysWhatIsThrown: Bool

    init(lines: [String]) {
        hasSummary = lines.first.map { !$0.isBlank && !$0.trimmed.hasPrefix("- ") } ?? false
        var parameters: Set<String> = []
        var isListOfParameters = false
        for line in lines {
            if let match = line.prefixMatch(of: /\s*- Parameter `?(\w+)`?:/) {
                parameters.insert(String(match.1))
            } else if line.prefixMatch(of: /\s*- Parameters:/) != nil {
                isListOfParameters = true
            } else if isListOfParameters, let match = line.prefixMatch(of: /\s+- `?(\w+)`?:/) {
                parameters.insert(String(match.1))
            } else if line.hasPrefix("- ") {
                isListOfParameters = false
            }
        }
        self.parameters = parameters
        names = Set(lines.flatMap { $0.matches(of: /`(\w+)`/).map { String($0.1) } })
        saysWhatIsReturned = lines.contains { $0.prefixMatch(of: /\s*- Returns:\s*\S/) != nil }
        saysWhatIsThrown = lines.contains { $0.prefixMatch(of: /\s*- Throws:\s*\S/) != nil }
    }
}

extension String {
    fileprivate var trimmed: Substring { drop { $0 == " " } }
    fileprivate var isBlank: Bool { trimmed.isEmpty }
}
