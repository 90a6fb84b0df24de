import Foundation
import Networking

/// A reader of component values
/// ([RFC 9421 §2](https://www.rfc-editor.org/rfc/rfc9421#section-2)).
struct ComponentReader {
    let message: HTTPMessage
    let fieldTypes: [String: StructuredFieldType]
    /// The URL of the only request that is read: the message or, for a response, its request.
    private(set) var uri: TargetURI?

    /// Returns the value of a validated identifier.
    ///
    /// - Throws: ``HTTPSignatureError`` with the code `invalidComponent`, `missingComponent` or
    ///   `malformedComponent`.
    mutating func value(of component: ComponentIdentifier) throws(HTTPSignatureError) -> String {
        let source = try source(of: component)
        let value = try component.isDerived ? derived(component, of: source) : field(component, in: source)
        // What the value is made of is already checked. This is the last line of defense against a
        // value that adds a line.
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F || $0 == 0x09 }) else {
            throw malformed(component, "has a character that a signature base can't contain")
        }
        return value
    }

    /// Returns the message that an identifier is about.
    private func source(of component: ComponentIdentifier) throws(HTTPSignatureError) -> HTTPMessage {
        guard component.has("req") else { return message }
        guard !message.isRequest else { throw component.invalid("has “req”, which is only for responses") }
        guard let request = message.request else {
            throw HTTPSignatureError(
                .missingComponent,
                "the component \(component.shown) is about the request, which isn't known"
            )
        }
        return request
    }

    // MARK: Fields

    private func field(
        _ component: ComponentIdentifier,
        in source: HTTPMessage
    ) throws(HTTPSignatureError) -> String {
        let fields = component.has("tr") ? source.trailers : source.headers
        var lines = fields.values(for: component.name)
        for index in lines.indices {
            guard let line = Self.canonicalLine(lines[index]) else {
                throw malformed(component, "has a line break or another control character")
            }
            lines[index] = line
        }
        guard !lines.isEmpty else {
            throw HTTPSignatureError(.missingComponent, "the message has no field for the component \(component.shown)")
        }
        if component.has("bs") {
            guard !source.hasCombinedFields else {
                throw component.invalid("has “bs”, but the lines of the field aren't known")
            }
            return lines.map { ":\(Data($0.utf8).base64EncodedString()):" }.joined(separator: ", ")
        }
        guard lines.allSatisfy({ $0.utf8.allSatisfy { $0 < 0x80 } }) else {
            throw malformed(component, "isn't ASCII; cover it with “bs”")
        }
        if let key = component.text(of: "key") { return try member(key, of: component, lines) }
        guard component.has("sf") else { return lines.count == 1 ? lines[0] : lines.joined(separator: ", ") }
        guard let type = type(of: component.name) else {
            throw component.invalid("has “sf”, but the type of the structured field isn't known")
        }
        do { return try type.canonical(lines) } catch {
            throw malformed(component, "isn't a structured field of its type", cause: error)
        }
    }

    private func member(
        _ key: String,
        of component: ComponentIdentifier,
        _ lines: [String]
    ) throws(HTTPSignatureError) -> String {
        guard type(of: component.name) == .dictionary else {
            throw component.invalid("has “key”, but the field isn't known to be a dictionary")
        }
        let member: StructuredField.Member?
        do throws(NetworkError) {
            member = try StructuredField.Dictionary(parsing: lines)[key]
        } catch {
            throw malformed(component, "isn't a dictionary", cause: error)
        }
        do {
            switch member {
            case .item(let item)?: return try item.serialized()
            case .innerList(let list)?: return try list.serialized()
            case nil: break
            }
        } catch {
            throw malformed(component, "can't be serialized", cause: error)
        }
        throw HTTPSignatureError(.missingComponent, "the dictionary has no member for the component \(component.shown)")
    }

    private func type(of name: String) -> StructuredFieldType? { fieldTypes[name] ?? StructuredFieldType.known[name] }

    /// Returns the value of a field line without surrounding whitespace and obsolete line folding
    /// ([§2.1](https://www.rfc-editor.org/rfc/rfc9421#section-2.1)); `nil` if it has a control
    /// character other than a tab.
    static func canonicalLine(_ value: String) -> String? {
        if value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) {
            let trimmed = value[...].trimmingHTTPWhitespace
            return trimmed.utf8.count == value.utf8.count ? value : String(trimmed)
        }
        var rest = value.utf8[...]
        var line: [UInt8] = []
        while let byte = rest.popFirst() {
            // RFC 9112 §5.2: obs-fold = OWS CRLF RWS.
            if byte == 0x0D {
                guard rest.popFirst() == 0x0A, let next = rest.first, isWhitespace(next) else { return nil }
                while let last = line.last, isWhitespace(last) { line.removeLast() }
                rest = rest.drop(while: isWhitespace)
                line.append(0x20)
            } else {
                guard byte >= 0x20 && byte != 0x7F || byte == 0x09 else { return nil }
                line.append(byte)
            }
        }
        return String(String(decoding: line, as: UTF8.self)[...].trimmingHTTPWhitespace)
    }

    private static func isWhitespace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    // MARK: Derived components

    private mutating func derived(
        _ component: ComponentIdentifier,
        of source: HTTPMessage
    ) throws(HTTPSignatureError) -> String {
        switch source.start {
        case .response(let status, _):
            guard component.name == "@status" else { throw component.invalid("needs “req” in a response") }
            guard (100...999).contains(status) else {
                throw HTTPSignatureError(.malformedComponent, "the status isn't a number of three digits")
            }
            return String(status)
        case .request(let method, let url, let target):
            switch component.name {
            case "@status": throw component.invalid("isn't part of a request")
            case "@method": return method.rawValue
            default: return try parsed(url).value(of: component, target: target)
            }
        }
    }

    private mutating func parsed(_ url: String) throws(HTTPSignatureError) -> TargetURI {
        if let uri { return uri }
        do {
            let parsed = try TargetURI(url)
            uri = parsed
            return parsed
        } catch {
            throw HTTPSignatureError(.malformedComponent, "the URL of the request \(error.reason)")
        }
    }

    private func malformed(
        _ component: ComponentIdentifier,
        _ reason: String,
        cause: (any Error)? = nil
    ) -> HTTPSignatureError {
        HTTPSignatureError(.malformedComponent, "the value of the component \(component.shown) \(reason)", cause: cause)
    }
}

extension TargetURI {
    fileprivate func value(
        of component: ComponentIdentifier,
        target: String?
    ) throws(HTTPSignatureError) -> String {
        switch component.name {
        case "@target-uri": return text
        case "@authority": return authority
        case "@scheme": return scheme
        case "@request-target": return target ?? requestTarget
        case "@path": return path
        case "@query": return "?" + (query ?? "")
        case "@query-param": return try QueryParameters.value(of: component, in: query ?? "")
        default: throw component.invalid("isn't a known derived component")
        }
    }
}
