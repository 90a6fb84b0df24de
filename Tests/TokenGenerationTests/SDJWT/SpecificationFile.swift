import Foundation
import TestVectors
import TokenGeneration

/// A test case of openwallet-foundation-labs/sd-jwt-python, in the part of YAML that its files use.
struct SpecificationFile {
    /// A value, and the paths of members and elements that are marked with `!sd`.
    struct Content {
        var value: JSONValue
        var disclosable: [ClaimPath] = []
    }

    let members: [String: Content]

    static let names: [String] = {
        let folder = ExternalVector.folder?.appending(path: "sd-jwt/testcases").path
        let names = folder.flatMap { try? FileManager.default.contentsOfDirectory(atPath: $0) } ?? []
        return names.filter { !$0.contains(".") }.sorted()
    }()

    init(_ name: String) throws {
        let text = try String(
            decoding: ExternalVector.data("sd-jwt/testcases/\(name)/specification.yml"),
            as: UTF8.self
        )
        var parser = SpecificationParser(text)
        let content = try parser.parse()
        guard let object = content.value.object else { throw SpecificationParser.Failure() }
        var members: [String: Content] = [:]
        for member in object {
            let own = content.disclosable.filter { $0.elements.first == .name(member.name) }
            members[member.name] = Content(
                value: member.value,
                disclosable: own.map { ClaimPath(Array($0.elements.dropFirst())) }
            )
        }
        self.members = members
    }
}

/// A parser of block mappings and sequences, flow collections, scalars, comments and `!sd`.
struct SpecificationParser {
    struct Failure: Error {}

    private typealias Content = SpecificationFile.Content

    private struct Line {
        var indent: Int
        var text: Substring
    }

    private var lines: [Line]
    private var next = 0

    init(_ text: String) {
        lines = text.split(separator: "\n").compactMap { line in
            let indent = line.prefix { $0 == " " }.count
            var content = line.dropFirst(indent)
            if content.hasPrefix("#") { return nil }
            if let comment = content.range(of: " #") { content = content[..<comment.lowerBound] }
            while content.last == " " { content.removeLast() }
            return content.isEmpty ? nil : Line(indent: indent, text: content)
        }
    }

    mutating func parse() throws -> SpecificationFile.Content {
        let content = try block(at: 0)
        guard next == lines.count else { throw Failure() }
        return content
    }

    /// Parses the lines of a block, which all have the same indentation.
    private mutating func block(at indent: Int) throws -> Content {
        guard next < lines.count, lines[next].indent == indent else { throw Failure() }
        if lines[next].text.hasPrefix("- ") || lines[next].text == "-" { return try sequence(at: indent) }
        return try mapping(at: indent)
    }

    private mutating func sequence(at indent: Int) throws -> Content {
        var elements: [JSONValue] = []
        var paths: [ClaimPath] = []
        while next < lines.count, lines[next].indent == indent, lines[next].text.hasPrefix("-") {
            let text = lines[next].text.dropFirst()
            let inner = indent + 1 + text.prefix { $0 == " " }.count
            var item = text.drop { $0 == " " }
            var isMarked = false
            let content: Content
            // “- !sd key: value” marks the key. Any other “- !sd” marks the element.
            if item == "!sd" || item.hasPrefix("!sd "), Self.key(in: item.dropFirst(4)) == nil {
                isMarked = true
                item = item.dropFirst(4)
            }
            if item.isEmpty {
                next += 1
                guard next < lines.count, lines[next].indent > indent else { throw Failure() }
                content = try block(at: lines[next].indent)
            } else if Self.key(in: item) != nil {
                lines[next] = Line(indent: inner, text: item)
                content = try block(at: inner)
            } else {
                next += 1
                content = try Self.flow(item)
            }
            Self.add(content, at: .index(elements.count), isMarked, to: &paths)
            elements.append(content.value)
        }
        return Content(value: .array(elements), disclosable: paths)
    }

    private mutating func mapping(at indent: Int) throws -> Content {
        var object = JSONObject()
        var paths: [ClaimPath] = []
        while next < lines.count, lines[next].indent == indent, let entry = Self.key(in: lines[next].text) {
            next += 1
            let content: Content
            if entry.rest.isEmpty {
                let isSequence = next < lines.count && lines[next].text.hasPrefix("-")
                guard next < lines.count, lines[next].indent > indent || isSequence else { throw Failure() }
                content = try block(at: lines[next].indent)
            } else {
                content = try Self.flow(entry.rest)
            }
            Self.add(content, at: .name(entry.name), entry.isMarked, to: &paths)
            object[entry.name] = content.value
        }
        return Content(value: .object(object), disclosable: paths)
    }

    private static func add(
        _ content: Content,
        at element: ClaimPath.Element,
        _ isMarked: Bool,
        to paths: inout [ClaimPath]
    ) {
        if isMarked { paths.append([element]) }
        paths += content.disclosable.map { ClaimPath([element] + $0.elements) }
    }

    /// Returns the key of a mapping entry, and the text after the colon.
    private static func key(in text: Substring) -> (name: String, isMarked: Bool, rest: Substring)? {
        var text = text
        let isMarked = text.hasPrefix("!sd ")
        if isMarked { text = text.dropFirst(4) }
        let name: String
        if let quote = text.first, quote == "\"" || quote == "'" {
            guard let end = text.dropFirst().firstIndex(of: quote) else { return nil }
            name = String(text.dropFirst()[..<end])
            text = text[text.index(after: end)...]
        } else {
            guard let first = text.first, first != "[", first != "{", let end = text.firstIndex(of: ":") else {
                return nil
            }
            name = String(text[..<end])
            text = text[end...]
        }
        guard text == ":" || text.hasPrefix(": ") else { return nil }
        return (name, isMarked, text.dropFirst().drop { $0 == " " })
    }

    /// Parses a scalar or a flow collection.
    private static func flow(_ text: Substring) throws -> Content {
        var rest = text
        let content = try flow(&rest)
        guard rest.allSatisfy({ $0 == " " }) else { throw Failure() }
        return content
    }

    private static func flow(_ rest: inout Substring) throws -> Content {
        rest = rest.drop { $0 == " " }
        switch rest.first {
        case "[":
            var elements: [JSONValue] = []
            var paths: [ClaimPath] = []
            try items(&rest, until: "]") { rest in
                let isMarked = rest.hasPrefix("!sd ")
                if isMarked { rest = rest.dropFirst(4) }
                let content = try flow(&rest)
                add(content, at: .index(elements.count), isMarked, to: &paths)
                elements.append(content.value)
            }
            return Content(value: .array(elements), disclosable: paths)
        case "{":
            var object = JSONObject()
            try items(&rest, until: "}") { rest in
                guard let entry = key(in: rest) else { throw Failure() }
                rest = entry.rest
                object[entry.name] = try flow(&rest).value
            }
            return Content(value: .object(object))
        case "\"", "'":
            let quote = rest.removeFirst()
            guard let end = rest.firstIndex(of: quote) else { throw Failure() }
            defer { rest = rest[rest.index(after: end)...] }
            return Content(value: .string(String(rest[..<end])))
        default:
            let end = rest.firstIndex { ",]}".contains($0) } ?? rest.endIndex
            defer { rest = rest[end...] }
            return Content(value: scalar(rest[..<end].trimmingCharacters(in: .whitespaces)))
        }
    }

    private static func items(
        _ rest: inout Substring,
        until end: Character,
        _ body: (inout Substring) throws -> Void
    ) throws {
        rest.removeFirst()
        rest = rest.drop { $0 == " " }
        while rest.first != end {
            try body(&rest)
            rest = rest.drop { $0 == " " }
            if rest.first == "," {
                rest = rest.dropFirst().drop { $0 == " " }
            } else if rest.first != end {
                throw Failure()
            }
        }
        rest.removeFirst()
    }

    private static func scalar(_ text: String) -> JSONValue {
        switch text {
        case "null", "~", "": .null
        case "True", "true": true
        case "False", "false": false
        default: JSONNumber(literal: text).map(JSONValue.number) ?? .string(text)
        }
    }
}
