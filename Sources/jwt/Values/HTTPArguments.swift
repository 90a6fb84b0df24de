import Foundation
import Networking
internal import OpenSSLCrypto

struct ServiceURL: ArgumentValue, Equatable {
    static let placeholder = "URL"

    let url: URL
    /// The URL in messages, without the query, which may contain a secret.
    let name: String

    init(argument: String) throws(ValueError) {
        guard argument.isEmpty || argument.contains("://") else {
            throw ValueError(message: "has no scheme; begin it with https://")
        }
        guard argument.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw ValueError(message: "has a character that URLs can't contain; encode it, such as a space as %20")
        }
        guard let url = URL(string: argument, encodingInvalidCharacters: false), let origin = HTTPOrigin(url),
            url.user == nil, url.password == nil, url.fragment == nil
        else { throw ValueError(message: "must be an https URL without a password or fragment") }
        guard origin.scheme == "https" || origin.isLoopback else {
            throw ValueError(message: "must be an https URL; http is allowed only for this machine")
        }
        self.url = url
        name = argument.prefix { $0 != "?" }.description
    }
}

struct OriginArgument: ArgumentValue, Equatable {
    let text: String

    init(argument: String) throws(ValueError) {
        let parts = URIReference(argument)
        guard let scheme = parts.scheme, let authority = parts.authority, parts.path.isEmpty || parts.path == "/",
            parts.query == nil, parts.fragment == nil,
            let origin = Self(scheme: scheme, authority: authority)
        else { throw ValueError(message: "must be a scheme and a host, such as https://api.example") }
        self = origin
    }

    init?(scheme: String, authority: String) {
        let text = "\(scheme.lowercased())://\(authority)"
        guard authority.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !Self.delimiters.contains($0) }),
            let url = URL(string: text, encodingInvalidCharacters: false), HTTPOrigin(url) != nil
        else { return nil }
        self.text = text
    }

    /// Characters that would add another part to the URL.
    private static let delimiters = Set("/?#@\\".utf8)
}

/// A header field in the form `NAME: VALUE`, or `@FILE` for a file with one field per line, which
/// other users can't see.
struct HeaderField: ArgumentValue, Equatable {
    private let source: BodySource

    init(argument: String) throws(ValueError) {
        source = try BodySource(argument: argument)
        guard isFile || Self.field(argument) != nil else {
            throw ValueError(message: "must be NAME: VALUE, or @FILE for a file with one field per line")
        }
    }

    var isStandardInput: Bool { source.isStandardInput }
    var isFile: Bool { source.file != nil }

    func fields() throws(CommandFailure) -> [HTTPHeaders.Field] {
        let octets = try source.octets(limit: InputFile.sizeLimit).withoutByteOrderMark
        var fields: [HTTPHeaders.Field] = []
        for (index, line) in octets.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let line = line.last == 0x0D ? line.dropLast() : line
            if line.isEmpty { continue }
            guard let text = String(validating: line, as: UTF8.self), let field = Self.field(text) else {
                throw CommandFailure(.failed, "\(source.file?.name ?? ""): line \(index + 1) isn't NAME: VALUE")
            }
            fields.append(field)
        }
        return fields
    }

    private static func field(_ text: String) -> HTTPHeaders.Field? {
        guard let colon = text.firstIndex(of: ":"), HTTPSyntax.isToken(text[..<colon]) else { return nil }
        let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        let end = value.lastIndex { $0 != " " && $0 != "\t" }
        let trimmed = end.map { value[...$0] } ?? ""
        guard HTTPSyntax.isFieldValue(String(trimmed)) else { return nil }
        return HTTPHeaders.Field(name: String(text[..<colon]), value: String(trimmed))
    }
}
