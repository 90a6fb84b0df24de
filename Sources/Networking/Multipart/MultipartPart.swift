import Foundation

/// One part of a form: its header and its content.
struct MultipartPart: Sendable {
    static let lineBreak = Data("\r\n".utf8)

    let name: String
    let fileName: String?
    let contentType: String?
    let content: HTTPBody

    /// Returns the delimiter line and the part's header.
    ///
    /// The two hyphens belong to the delimiter, not to the boundary
    /// ([RFC 2046 §5.1.1](https://www.rfc-editor.org/rfc/rfc2046#section-5.1.1)).
    /// [RFC 7578 §4.2](https://www.rfc-editor.org/rfc/rfc7578#section-4.2) forbids `filename*`.
    func head(boundary: String) -> Data {
        var text = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.escaped(name))\""
        if let fileName { text += "; filename=\"\(Self.escaped(fileName))\"" }
        text += "\r\n"
        if let contentType { text += "Content-Type: \(contentType)\r\n" }
        return Data((text + "\r\n").utf8)
    }

    /// Delivers the content, and checks it against its declared length.
    ///
    /// The length of the whole form wouldn't reveal a part that's too long before one that's too
    /// short.
    func deliverContent(_ deliver: @escaping @Sendable (Data) async throws -> Void) async throws {
        switch content.source {
        case .none: break
        case .data(let data): try await deliver(data)
        case .file(let url, let length):
            try await deliverContent(of: FileReading.producer(url, length: length), length: length, deliver)
        case .stream(let length, _, let producer):
            try await deliverContent(of: producer, length: length, deliver)
        }
    }

    private func deliverContent(
        of producer: HTTPBody.Producer,
        length: Int?,
        _ deliver: @escaping @Sendable (Data) async throws -> Void
    ) async throws {
        let counter = OctetCounter()
        try await producer { octets in
            let count = counter.add(octets.count)
            if let length, count > length { throw mismatch("longer", count, length) }
            try await deliver(octets)
        }
        if let length, counter.count < length { throw mismatch("shorter", counter.count, length) }
    }

    private func mismatch(_ how: String, _ count: Int, _ length: Int) -> NetworkError {
        NetworkError(
            .invalidRequest,
            "a part of the form is \(how) than its length: \(count) bytes instead of \(length); don't change it while it's being sent"
        )
    }

    /// Returns a name escaped for use between quotation marks.
    private static func escaped(_ name: String) -> String {
        var text = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"", "\\", "\0"..."\u{1F}", "\u{7F}":
                text += scalar.value < 16 ? "%0" : "%"
                text += String(scalar.value, radix: 16, uppercase: true)
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
