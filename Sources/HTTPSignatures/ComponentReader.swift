import Foundation
import Networking
internal import OpenSSLCrypto

/// [RFC 9421 §2](https://www.rfc-editor.org/rfc/rfc9421#section-2).
struct ComponentReader {
    let message: HTTPMessage
    let fieldTypes: [String: StructuredFieldType]
    /// The URL of the message or, for a response, of its request.
    private(set) var uri: TargetURI?
    // A sender can cover many parts of one field or query, each of which is parsed only once.
    private var query: QueryParameters?
    private var dictionaries: [String: StructuredField.Dictionary] = [:]

    init(message: HTTPMessage, fieldTypes: [String: StructuredFieldType]) {
        self.message = message
        self.fieldTypes = fieldTypes
    }

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

    private mutating func field(
        _ component: ComponentIdentifier,
        in source: HTTPMessage
    ) throws(HTTPSignatureError) -> String {
        let key = component.text(of: "key")
        if let key, let known = dictionaries[component.place] { return try member(key, of: component, in: known) }
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
        if let key {
            let dictionary = try dictionary(component, lines)
            dictionaries[component.place] = dictionary
            return try member(key, of: component, in: dictionary)
        }
        guard component.has("sf") else { return lines.count == 1 ? lines[0] : lines.joined(separator: ", ") }
        guard let type = type(of: component.name) else {
            throw component.invalid("has “sf”, but the type of the structured field isn't known")
        }
        do { return try type.canonical(lines) } catch {
            throw malformed(component, "isn't a structured field of its type", cause: error)
        }
    }

    private func dictionary(
        _ component: ComponentIdentifier,
        _ lines: [String]
    ) throws(HTTPSignatureError) -> StructuredField.Dictionary {
        guard type(of: component.name) == .dictionary else {
            throw component.invalid("has “key”, but the field isn't known to be a dictionary")
        }
        do throws(NetworkError) {
            return try StructuredField.Dictionary(parsing: lines)
        } catch {
            throw malformed(component, "isn't a dictionary", cause: error)
        }
    }

    private func member(
        _ key: String,
        of component: ComponentIdentifier,
        in dictionary: StructuredField.Dictionary
    ) throws(HTTPSignatureError) -> String {
        do {
            switch dictionary[key] {
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

    /// Removes obsolete line folding ([§2.1](https://www.rfc-editor.org/rfc/rfc9421#section-2.1)).
    ///
    /// Returns `nil` if the line has a control character other than a tab.
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
            case "@query-param": return try queryParameters(of: url).value(of: component)
            default: return try parsed(url).value(of: component, target: target)
            }
        }
    }

    private mutating func queryParameters(of url: String) throws(HTTPSignatureError) -> QueryParameters {
        if let query { return query }
        let parameters = QueryParameters(try parsed(url).query ?? "")
        query = parameters
        return parameters
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

extension ComponentIdentifier {
    /// The field in the message, its trailers or its request; no name has a semicolon.
    fileprivate var place: String { name + (has("req") ? ";req" : "") + (has("tr") ? ";tr" : "") }
}

extension TargetURI {
    fileprivate func value(of component: ComponentIdentifier, target: String?) throws(HTTPSignatureError) -> String {
        switch component.name {
        case "@target-uri": return text
        case "@authority": return authority
        case "@scheme": return scheme
        case "@request-target": return target ?? requestTarget
        case "@path": return path
        case "@query": return "?" + (query ?? "")
        default: throw component.invalid("isn't a known derived component")
        }
    }
}

/// [RFC 9421 §2.2.8](https://www.rfc-editor.org/rfc/rfc9421#section-2.2.8).
///
/// The query is parsed as `application/x-www-form-urlencoded`, and names and values are encoded
/// again ([URL Standard](https://url.spec.whatwg.org/#application/x-www-form-urlencoded)).
struct QueryParameters {
    /// By encoded name; `nil` for a parameter that occurs more than once.
    private var values: [String: [UInt8]?] = [:]

    init(_ query: String) {
        for sequence in query.utf8.split(separator: UInt8(ascii: "&")) {
            let end = sequence.firstIndex(of: UInt8(ascii: "=")) ?? sequence.endIndex
            let name = Self.encoded(FormURLEncoded.decodeLeniently(sequence[..<end]))
            let isFirst = values[name] == nil
            let value = isFirst ? FormURLEncoded.decodeLeniently(sequence[end...].dropFirst()) : nil
            values.updateValue(value, forKey: name)
        }
    }

    /// Throws `invalidComponent` if the parameter occurs more than once or its value isn't UTF-8.
    func value(of component: ComponentIdentifier) throws(HTTPSignatureError) -> String {
        guard let found = values[component.text(of: "name") ?? ""] else {
            throw HTTPSignatureError(
                .missingComponent,
                "the query has no parameter for the component \(component.shown)"
            )
        }
        guard let value = found else {
            throw component.invalid("occurs more than once in the query; cover “@query”")
        }
        // The standard would replace invalid bytes, so that different values look the same.
        guard String(validating: value, as: UTF8.self) != nil else {
            throw component.invalid("has a value that isn't UTF-8; cover “@query”")
        }
        return Self.encoded(value)
    }

    static func encoded(_ octets: [UInt8]) -> String {
        PercentEncoding.encode(octets: octets) { byte in
            byte == UInt8(ascii: "*") || PercentEncoding.isUnreserved(byte) && byte != UInt8(ascii: "~")
        }
    }
}

/// [RFC 9110 §4.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-4.2.3).
///
/// The scheme and the host are in lowercase, the default port is omitted, and an empty path is `/`.
/// Nothing is decoded, because escapes can distinguish resources.
struct TargetURI {
    let scheme: String
    let authority: String
    let path: String
    let query: String?

    /// Parses an absolute `http` or `https` URL.
    init(_ url: String) throws(MalformedURI) {
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else {
            throw MalformedURI(reason: "has a character that must be percent-encoded or, in the host, in the IDNA form")
        }
        let parts = URIReference(url)
        guard let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https",
            let authority = parts.authority
        else { throw MalformedURI(reason: "isn't an absolute http or https URL") }
        // On a server, a fragment would be a part of the target that no component covers.
        guard parts.fragment == nil else { throw MalformedURI(reason: "has a fragment, which is never sent") }
        self.scheme = scheme
        let parsed = try HTTPAuthority(authority, scheme: scheme)
        self.authority = Self.withoutZone(parsed.host.lowercased()) + (parsed.port.map { ":\($0)" } ?? "")
        path = parts.path.isEmpty ? "/" : parts.path
        query = parts.query
    }

    var text: String { scheme + "://" + authority + requestTarget }

    /// The path and the query, the usual request target.
    var requestTarget: String { query.map { path + "?" + $0 } ?? path }

    /// Accepts any form of [RFC 9112 §3.2](https://www.rfc-editor.org/rfc/rfc9112#section-3.2).
    static func pathAndQuery(of target: String) -> String {
        if target.utf8.first == UInt8(ascii: "/") { return target }
        var parts = URIReference(target)
        guard parts.authority != nil else { return "" }
        if parts.path.isEmpty { parts.path = "/" }
        (parts.scheme, parts.authority) = (nil, nil)
        return parts.text
    }

    /// Without the fragment, and with the authority of a `Host` field.
    static func sent(_ url: String, host: String?) -> String {
        guard host != nil || url.utf8.contains(UInt8(ascii: "#")) else { return url }
        var parts = URIReference(url)
        parts.fragment = nil
        if let host { parts.authority = host }
        return parts.text
    }

    /// The zone is local to the client ([RFC 6874
    /// §4](https://www.rfc-editor.org/rfc/rfc6874#section-4)).
    private static func withoutZone(_ host: String) -> String {
        guard host.utf8.first == UInt8(ascii: "["), let sign = host.utf8.firstIndex(of: UInt8(ascii: "%")) else {
            return host
        }
        return host[..<sign] + "]"
    }
}
