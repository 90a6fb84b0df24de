/// Suggestions for mistyped names.
enum Suggestion {
    /// Returns the most similar candidate, or `nil` if none has at most one error per three
    /// letters.
    static func nearest(to typed: String, in candidates: [String]) -> String? {
        let letters = Array(typed.lowercased())
        var best: (name: String, distance: Int)?
        for candidate in candidates {
            let name = Array(candidate)
            let isBeginning = letters.count >= 2 && name.starts(with: letters)
            let distance = isBeginning ? 1 : distance(letters, name)
            guard distance <= max(1, max(letters.count, name.count) / 3) else { continue }
            if best.map({ distance < $0.distance }) ?? true { best = (candidate, distance) }
        }
        return best?.name
    }

    /// Returns the edit distance: the number of insertions, deletions, replacements and swaps of
    /// adjacent letters between two texts.
    static func distance(_ first: [Character], _ second: [Character]) -> Int {
        var beforePrevious: [Int] = []
        var previous = Array(0...second.count)
        for row in first.indices {
            var current = [row + 1]
            for column in second.indices {
                let replaced = previous[column] + (first[row] == second[column] ? 0 : 1)
                var least = min(replaced, previous[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, first[row] == second[column - 1], first[row - 1] == second[column] {
                    least = min(least, beforePrevious[column - 1] + 1)
                }
                current.append(least)
            }
            (beforePrevious, previous) = (previous, current)
        }
        return previous[second.count]
    }
}
