import HTTPSignatures
import Networking

/// The parts of a message that a signature doesn't cover.
struct MessageCoverage {
    /// A part, such as `@query`, a field or the content.
    struct Part {
        let name: String
        /// The value without credentials, if the part has one.
        var value: String?
    }

    let recorded: RecordedMessage
    let covered: [ComponentIdentifier]

    /// The parts that aren't covered, in the order of a message.
    var uncovered: [Part] {
        let start = recorded.message.isRequest ? requestParts : responseParts
        return start + fields + content
    }

    private var requestParts: [Part] {
        let hasURL = covers("@target-uri")
        var parts: [Part] = []
        if !covers("@method") { parts.append(Part(name: "@method")) }
        for name in ["@scheme", "@authority"] where !hasURL && !covers(name) { parts.append(Part(name: name)) }
        for name in ["@path", "@query"] where !hasURL && !covers("@request-target") && !covers(name) {
            let rest = name == "@query" && covers("@query-param") ? " (other parameters)" : ""
            if name == "@path" || recorded.hasQuery { parts.append(Part(name: name + rest)) }
        }
        return parts
    }

    private var responseParts: [Part] {
        let isBound = covered.contains { $0.has("req") }
        return (covers("@status") ? [] : [Part(name: "@status")]) + (isBound ? [] : [Part(name: "the request")])
    }

    private var fields: [Part] {
        let message = recorded.message
        var parts: [Part] = []
        let all = message.headers.map { (field: $0, isTrailer: false) } + message.trailers.map { ($0, true) }
        for (field, isTrailer) in all {
            let name = field.name.lowercased()
            // A signature can't cover itself.
            guard name != "signature", name != "signature-input" else { continue }
            let identifiers = covered.filter { $0.name == name && !$0.has("req") && $0.has("tr") == isTrailer }
            let isWhole = identifiers.contains { $0.text(of: "key") == nil }
            // The origin is from this field, and the signature covers the origin.
            let isOrigin =
                name == "host" && recorded.origin?.source == .host && (covers("@authority") || covers("@target-uri"))
            guard !isWhole, !isOrigin else { continue }
            let value = Redaction.standard.redacted(HTTPHeaders([field]))[0].value
            let trailer = isTrailer ? ";tr" : ""
            let rest = identifiers.isEmpty ? "" : " (other members)"
            parts.append(Part(name: name + trailer + rest, value: value))
        }
        return parts
    }

    private var content: [Part] {
        guard recorded.content?.isEmpty != true, !covered.contains(where: \.coversContent) else { return [] }
        return [Part(name: "the content", value: recorded.content.map { "\($0.count) bytes" })]
    }

    private func covers(_ name: String) -> Bool {
        covered.contains { $0.name == name && !$0.has("req") }
    }
}
