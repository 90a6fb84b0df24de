import Foundation
import HTTPSignatures
import Networking
import TokenGeneration

struct SignatureReport {
    let recorded: RecordedMessage
    let findings: [SignatureFinding]
    let rejection: HTTPSignatureError?
    let tag: String?
    let date: Date
    let includesBases: Bool

    // MARK: Text

    var lines: [String] {
        var lines = ["\(recorded.message.isRequest ? "request" : "response"): \(recorded.title)"]
        if let origin = recorded.origin {
            let source =
                switch origin.source {
                case .option: "as stated"
                case .host: "assumed from the Host field; --origin URL states another"
                case .target: "from the request target"
                case .recording: "from the recording"
                }
            lines.append("origin: \(origin.text) (\(source))")
        }
        for finding in findings { lines += self.lines(finding) }
        return lines.map(VisibleText.line)
    }

    private func lines(_ finding: SignatureFinding) -> [String] {
        var lines = ["\(finding.label): \(verdict(finding))"]
        guard let parameters = finding.parameters else { return lines }
        var details: [(String, String)] = []
        if let keyID = parameters.keyID { details.append(("key ID", keyID)) }
        if let algorithm = algorithm(finding) { details.append(("algorithm", algorithm)) }
        for (name, date) in [("created", parameters.created), ("expires", parameters.expires)] {
            if let date { details.append((name, time(date))) }
        }
        if let nonce = parameters.nonce { details.append(("nonce", nonce)) }
        if let tag = parameters.tag { details.append(("tag", tag)) }
        lines += details.map { "  \($0): \($1)" }
        lines.append("  covered:\(parameters.components.isEmpty ? " nothing" : "")")
        lines += covered(finding, parameters).map { "    \($0.component)" + ($0.value.map { ": \($0)" } ?? "") }
        let others = MessageCoverage(recorded: recorded, covered: parameters.components).uncovered
        lines.append("  not covered:\(others.isEmpty ? " nothing" : "")")
        return lines + others.map { "    \($0.name)" + ($0.value.map { ": \($0)" } ?? "") }
    }

    private func verdict(_ finding: SignatureFinding) -> String {
        switch finding.result {
        case _ where !finding.isSelected: "ignored, because its tag isn't “\(tag ?? "")”"
        case .success: "valid"
        case .failure(let error): "INVALID: \(error.message)"
        }
    }

    private func time(_ date: Date) -> String {
        let seconds = date.timeIntervalSince1970
        guard let time = Timestamp(secondsSince1970: seconds) else { return "outside the years 1 to 9999" }
        return "\(time.localText) (\(RelativeTime.text(seconds - self.date.timeIntervalSince1970)))"
    }

    // MARK: JSON

    var json: JSONObject {
        var message: JSONObject = ["kind": recorded.message.isRequest ? "request" : "response"]
        message["title"] = .string(recorded.title)
        if let origin = recorded.origin {
            message["origin"] = .string(origin.text)
            message["originSource"] = .string(origin.source.rawValue)
        }
        return [
            "valid": .bool(rejection == nil), "message": .object(message),
            "signatures": .array(findings.map { .object(json($0)) }),
            "remarks": .array(recorded.remarks.map(JSONValue.string)),
        ]
    }

    private func json(_ finding: SignatureFinding) -> JSONObject {
        var object: JSONObject = ["label": .string(finding.label), "selected": .bool(finding.isSelected)]
        switch finding.result {
        case .success: object["valid"] = true
        case .failure(let error):
            object["valid"] = false
            object["error"] = .object(CommandFailure(.rejected, error.message, cause: error).report)
        }
        guard let parameters = finding.parameters else { return object }
        object["keyid"] = parameters.keyID.map(JSONValue.string)
        object["algorithm"] = algorithm(finding).map(JSONValue.string)
        object["created"] = parameters.created.map(Self.seconds)
        object["expires"] = parameters.expires.map(Self.seconds)
        object["nonce"] = parameters.nonce.map(JSONValue.string)
        object["tag"] = parameters.tag.map(JSONValue.string)
        object["covered"] = .array(covered(finding, parameters).map { Self.part("component", $0.component, $0.value) })
        let others = MessageCoverage(recorded: recorded, covered: parameters.components).uncovered
        object["notCovered"] = .array(others.map { Self.part("part", $0.name, $0.value) })
        if includesBases { object["base"] = finding.base.map { .string($0.text) } }
        return object
    }

    private static func part(_ noun: String, _ name: String, _ value: String?) -> JSONValue {
        var object: JSONObject = [noun: .string(name)]
        object["value"] = value.map(JSONValue.string)
        return .object(object)
    }

    private static func seconds(_ date: Date) -> JSONValue {
        // The parameter is an integer of at most 15 digits.
        .number(JSONNumber(Int(exactly: date.timeIntervalSince1970) ?? 0))
    }

    // MARK: Parts of both

    private func covered(
        _ finding: SignatureFinding,
        _ parameters: SignatureParameters
    ) -> [(component: String, value: String?)] {
        guard let base = finding.base else { return parameters.components.map { ("\($0)", nil) } }
        return base.lines.map { ("\($0.component)", $0.shownValue) }
    }

    private func algorithm(_ finding: SignatureFinding) -> String? {
        guard let key = try? finding.result.get().key else { return finding.parameters?.algorithm }
        return key.httpSignatureName ?? key.algorithm.rawValue
    }
}

struct MessageCoverage {
    typealias Part = (name: String, value: String?)

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
        if !covers("@method") { parts.append(("@method", nil)) }
        for name in ["@scheme", "@authority"] where !hasURL && !covers(name) { parts.append((name, nil)) }
        for name in ["@path", "@query"] where !hasURL && !covers("@request-target") && !covers(name) {
            let rest = name == "@query" && covers("@query-param") ? " (other parameters)" : ""
            if name == "@path" || recorded.hasQuery { parts.append((name + rest, nil)) }
        }
        return parts
    }

    private var responseParts: [Part] {
        let isBound = covered.contains { $0.has("req") }
        return (covers("@status") ? [] : [("@status", nil)]) + (isBound ? [] : [("the request", nil)])
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
            parts.append((name + trailer + rest, value))
        }
        return parts
    }

    private var content: [Part] {
        guard recorded.content?.isEmpty != true, !covered.contains(where: \.coversContent) else { return [] }
        return [("the content", recorded.content.map { "\($0.count) bytes" })]
    }

    private func covers(_ name: String) -> Bool { covered.contains { $0.name == name && !$0.has("req") } }
}
