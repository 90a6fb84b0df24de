import Networking

/// A header field in the form `NAME: VALUE`, or `@FILE` for a file with one field per line, which
/// other users can't see.
struct HeaderField: ArgumentValue, Equatable {
    private enum Place: Equatable {
        case here(HTTPHeaders.Field)
        case file(InputFile)
    }

    private let place: Place

    init(argument: String) throws(ValueError) {
        if argument.hasPrefix("@") {
            place = .file(try InputFile(argument: String(argument.dropFirst())))
        } else {
            guard let field = Self.field(argument) else {
                throw ValueError(message: "must be NAME: VALUE, or @FILE for a file with one field per line")
            }
            place = .here(field)
        }
    }

    var isStandardInput: Bool { place == .file(.standardInput) }

    /// Returns the header fields.
    func fields() throws(CommandFailure) -> [HTTPHeaders.Field] {
        switch place {
        case .here(let field): return [field]
        case .file(let file):
            let lines = try file.read().bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            var fields: [HTTPHeaders.Field] = []
            for (index, line) in lines.enumerated() {
                let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
                if line.isEmpty { continue }
                guard let text = String(validating: line, as: UTF8.self), let field = Self.field(text) else {
                    throw CommandFailure(.failed, "\(file.name): line \(index + 1) isn't NAME: VALUE")
                }
                fields.append(field)
            }
            return fields
        }
    }

    private static func field(_ text: String) -> HTTPHeaders.Field? {
        guard let colon = text.firstIndex(of: ":"), HTTPSyntax.isToken(text[..<colon]) else { return nil }
        let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        let end = value.lastIndex { $0 != " " && $0 != "\t" }
        let trimmed = end.map { value[...$0] } ?? ""
        guard HTTPSyntax.isFieldValue(trimmed) else { return nil }
        return HTTPHeaders.Field(name: String(text[..<colon]), value: String(trimmed))
    }
}
