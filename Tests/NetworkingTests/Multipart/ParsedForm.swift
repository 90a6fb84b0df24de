import Foundation

/// An independent parser of forms according to RFC 2046 and RFC 7578.
///
/// It's strict: anything that isn't exactly a delimiter, a header or the end is an error.
struct ParsedForm {
    struct Part: Equatable {
        var name: String
        var fileName: String?
        var contentType: String?
        var content: Data
    }

    struct Malformed: Error { let reason: String }

    var parts: [Part] = []

    init(_ body: Data, contentType: String) throws {
        let boundary = try Self.boundary(in: contentType)
        let (opening, delimiter) = (Data("--\(boundary)".utf8), Data("\r\n--\(boundary)".utf8))
        guard body.starts(with: opening) else { throw Malformed(reason: "doesn't begin with a delimiter") }
        var rest = body.dropFirst(opening.count)
        while !rest.starts(with: Data("--".utf8)) {
            guard rest.starts(with: Data("\r\n".utf8)) else { throw Malformed(reason: "a delimiter line is too long") }
            guard let end = rest.range(of: delimiter) else { throw Malformed(reason: "a part has no end") }
            // The line break before the header may be the one after the delimiter.
            guard let blank = rest[..<end.lowerBound].range(of: Data("\r\n\r\n".utf8)) else {
                throw Malformed(reason: "a part has no header")
            }
            let head = rest[(rest.startIndex + 2)..<blank.lowerBound]
            parts.append(try Self.part(head: head, content: Data(rest[blank.upperBound..<end.lowerBound])))
            rest = rest[end.upperBound...]
        }
        guard rest == Data("--\r\n".utf8) else { throw Malformed(reason: "something follows the end") }
    }

    private static func boundary(in contentType: String) throws -> String {
        let prefix = "multipart/form-data; boundary="
        guard contentType.hasPrefix(prefix) else { throw Malformed(reason: "no boundary") }
        let value = contentType.dropFirst(prefix.count)
        return String(value.hasPrefix("\"") ? value.dropFirst().dropLast() : value)
    }

    private static func part(head: Data, content: Data) throws -> Part {
        guard let text = String(bytes: head, encoding: .utf8) else { throw Malformed(reason: "a header isn't UTF-8") }
        var fields: [String: String] = [:]
        for line in text.components(separatedBy: "\r\n") {
            guard !line.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
                throw Malformed(reason: "a control character in a header")
            }
            guard let colon = line.range(of: ": ") else { throw Malformed(reason: "no header field: \(line)") }
            let name = line[..<colon.lowerBound].lowercased()
            guard fields.updateValue(String(line[colon.upperBound...]), forKey: name) == nil else {
                throw Malformed(reason: "a repeated field")
            }
        }
        guard let disposition = fields.removeValue(forKey: "content-disposition") else {
            throw Malformed(reason: "no Content-Disposition")
        }
        var parameters = try Self.parameters(of: disposition)
        let type = fields.removeValue(forKey: "content-type")
        guard fields.isEmpty, let name = parameters.removeValue(forKey: "name") else {
            throw Malformed(reason: "unknown fields, or no name")
        }
        let fileName = parameters.removeValue(forKey: "filename")
        guard parameters.isEmpty else { throw Malformed(reason: "unknown parameters: \(parameters.keys)") }
        return Part(name: name, fileName: fileName, contentType: type, content: content)
    }

    /// Parses `form-data` and quoted parameters, and resolves quoted pairs, scalar by scalar.
    private static func parameters(of disposition: String) throws -> [String: String] {
        guard disposition.hasPrefix("form-data") else { throw Malformed(reason: "not form-data") }
        var scalars = Array(disposition.unicodeScalars.dropFirst("form-data".count))[...]
        var parameters: [String: String] = [:]
        while !scalars.isEmpty {
            guard scalars.starts(with: "; ".unicodeScalars), let sign = scalars.firstIndex(of: "=") else {
                throw Malformed(reason: "no parameter")
            }
            let name = String(String.UnicodeScalarView(scalars[(scalars.startIndex + 2)..<sign]))
            scalars = scalars[(sign + 1)...]
            guard scalars.popFirst() == "\"" else { throw Malformed(reason: "a value without quotation marks") }
            var value = String.UnicodeScalarView()
            while let scalar = scalars.popFirst(), scalar != "\"" {
                if scalar != "\\" {
                    value.append(scalar)
                } else if let escaped = scalars.popFirst() {
                    value.append(escaped)
                }
            }
            guard parameters.updateValue(String(value), forKey: name) == nil else {
                throw Malformed(reason: "a repeated parameter")
            }
        }
        return parameters
    }
}
