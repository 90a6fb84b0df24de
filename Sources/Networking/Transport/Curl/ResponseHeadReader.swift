/// A reader for a response's header lines, as libcurl delivers them.
///
/// It skips 1xx responses ([RFC 9110 §15.2](https://www.rfc-editor.org/rfc/rfc9110#section-15.2)).
/// Fields after the final response's header are trailers and are kept separate
/// ([RFC 9110 §6.5.1](https://www.rfc-editor.org/rfc/rfc9110#section-6.5.1)).
struct ResponseHeadReader {
    private let maximumSize: Int

    init(maximumSize: Int) {
        self.maximumSize = maximumSize
    }

    private(set) var isComplete = false
    private(set) var status = 0
    private(set) var version = ""
    private(set) var headers: [HTTPHeaders.Field] = []
    private(set) var trailers: [HTTPHeaders.Field] = []
    private var size = 0

    /// In the order they were applied, without `identity`.
    var contentCodings: [String] {
        ResponseFraming.codings("Content-Encoding", headers).filter { !$0.isEmpty }
    }

    /// The line includes its ending; returns whether it completes the final header.
    @discardableResult
    mutating func read(line: Span<UInt8>) throws(NetworkError) -> Bool {
        size += line.count
        guard size <= maximumSize else {
            throw NetworkError(
                .invalidResponse,
                "the response's header exceeds \(maximumSize) bytes (maximumHeaderSize)"
            )
        }
        let content = line.extracting(0..<line.endOfContent)
        guard !isComplete else {
            readTrailer(content)
            return false
        }
        if content.isEmpty {
            if status >= 200 { try ResponseFraming.check(headers) }
            // RFC 9110 §15.2.2: another protocol follows, without a final response.
            guard status != 101 else {
                throw NetworkError(.invalidResponse, "the server switched to another protocol (101)")
            }
            isComplete = status >= 200
            return isComplete
        } else if content.startsStatusLine {
            try readStatusLine(content)
        } else if content[0].isHTTPWhitespace {
            try unfold(content)
        } else {
            try readField(content)
        }
        return false
    }

    private mutating func readStatusLine(_ line: Span<UInt8>) throws(NetworkError) {
        headers.removeAll(keepingCapacity: true)
        // Enough for most responses, so that the array grows only once.
        headers.reserveCapacity(8)
        let space = line.firstIndex(of: UInt8(ascii: " "))
        let end = space + 4
        var status = 0
        for index in line.indices where index > space && index < end {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(line[index]) else { break }
            status = status * 10 + Int(line[index] - UInt8(ascii: "0"))
        }
        guard (100...999).contains(status), line.count == end || line.count > end && line[end].isHTTPWhitespace else {
            throw NetworkError(.invalidResponse, "the response's status line has no three-digit status")
        }
        self.status = status
        version = line.text(0..<space)
        // libcurl with HTTP/3 accepts HTTP/3.0 over TCP.
        guard Self.versions.contains(version) else {
            throw NetworkError(.invalidResponse, "the response has an unsupported HTTP version")
        }
    }

    /// The versions that the transport negotiates.
    private static let versions = ["HTTP/1.1", "HTTP/2", "HTTP/1.0"]

    private mutating func readField(_ line: Span<UInt8>) throws(NetworkError) {
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
        guard status != 0, colon < line.count, colon > 0 else {
            throw NetworkError(.invalidResponse, "the response has a header line without the form “name: value”")
        }
        try ResponseFraming.check(name: line.extracting(0..<colon))
        try ResponseFraming.check(value: line.extracting(colon..<line.count), count: headers.count + 1)
        let value = line.trimmed((colon + 1)..<line.count)
        headers.append(HTTPHeaders.Field(name: line.text(0..<colon), value: line.text(value)))
    }

    /// Ignores an invalid field and one that would affect framing: the body is already complete, so
    /// such a field isn't worth a failure but must not be trusted ([RFC 9110
    /// §6.5.1](https://www.rfc-editor.org/rfc/rfc9110#section-6.5.1)).
    private mutating func readTrailer(_ line: Span<UInt8>) {
        guard !line.isEmpty, !line[0].isHTTPWhitespace, !line.startsStatusLine else { return }
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
        let name = line.text(line.trimmed(0..<colon))
        guard colon < line.count, HTTPSyntax.isToken(name),
            !Self.framing.contains(where: name.equalsIgnoringASCIICase)
        else { return }
        let value = line.text(line.trimmed((colon + 1)..<line.count))
        guard HTTPSyntax.isFieldValue(value) else { return }
        trailers.append(HTTPHeaders.Field(name: name, value: value))
    }

    private static let framing = ["Transfer-Encoding", "Content-Length", "Content-Encoding", "Host", "Trailer"]

    /// [RFC 9112 §5.2](https://www.rfc-editor.org/rfc/rfc9112#section-5.2).
    private mutating func unfold(_ line: Span<UInt8>) throws(NetworkError) {
        guard !headers.isEmpty else {
            throw NetworkError(.invalidResponse, "the response's header begins with a continuation line")
        }
        try ResponseFraming.check(value: line, count: headers.count)
        let more = line.text(line.trimmed(line.indices))
        let index = headers.count - 1
        // In place: a copy for each of many lines would take quadratic time.
        if !headers[index].value.isEmpty { headers[index].value += " " }
        headers[index].value += more
    }
}

extension Span<UInt8> {
    fileprivate var endOfContent: Int {
        var end = count
        if end > 0, self[end - 1] == UInt8(ascii: "\n") { end -= 1 }
        if end > 0, self[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        return end
    }

    fileprivate var startsStatusLine: Bool {
        count >= 5 && self[0] == UInt8(ascii: "H") && self[1] == UInt8(ascii: "T") && self[2] == UInt8(ascii: "T")
            && self[3] == UInt8(ascii: "P") && self[4] == UInt8(ascii: "/")
    }
}

/// Checks of a response's header that libcurl doesn't make.
///
/// If a client interprets a header differently from the server or another recipient, it may take
/// part of one message for another
/// ([RFC 9112 §11.1](https://www.rfc-editor.org/rfc/rfc9112#section-11.1)).
enum ResponseFraming {
    static let maximumFieldCount = 5000

    /// Whitespace between the name and the colon isn't allowed
    /// ([RFC 9112 §5.1](https://www.rfc-editor.org/rfc/rfc9112#section-5.1)).
    static func check(name: Span<UInt8>) throws(NetworkError) {
        for index in name.indices where name[index] <= 0x20 || name[index] == 0x7F {
            throw NetworkError(.invalidResponse, "the response has a header field whose name contains whitespace")
        }
    }

    /// Control characters other than the tab are invalid, and a CR or NUL is dangerous ([RFC 9110
    /// §5.5](https://www.rfc-editor.org/rfc/rfc9110#section-5.5)); the value may be a part; the
    /// count includes its field.
    static func check(value: Span<UInt8>, count: Int) throws(NetworkError) {
        for index in value.indices where value[index] < 0x20 && value[index] != 0x09 || value[index] == 0x7F {
            throw NetworkError(.invalidResponse, "the response has a header field that contains a control character")
        }
        guard count <= maximumFieldCount else {
            throw NetworkError(.invalidResponse, "the response has more than \(maximumFieldCount) header fields")
        }
    }

    /// Allows no transfer coding except chunked, and at most one length.
    ///
    /// The client requests no other codings
    /// ([RFC 9112 §7.4](https://www.rfc-editor.org/rfc/rfc9112#section-7.4)), and libcurl would
    /// pass them on undecoded. The same length may be repeated. A transfer coding overrides the
    /// length ([§6.3](https://www.rfc-editor.org/rfc/rfc9112#section-6.3)).
    static func check(_ fields: [HTTPHeaders.Field]) throws(NetworkError) {
        guard codings("Transfer-Encoding", fields).allSatisfy({ $0.equalsIgnoringASCIICase("chunked") }) else {
            throw NetworkError(.invalidResponse, "the response has a transfer coding that the request didn't allow")
        }
        var length: Int64?
        for field in fields where field.name.equalsIgnoringASCIICase("Content-Length") {
            // The common case.
            if length == nil, let value = number(field.value[...]) {
                length = value
                continue
            }
            for member in field.value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                guard let value = number(Substring(member)), length == nil || length == value else {
                    if fields.contains(where: { $0.name.equalsIgnoringASCIICase("Transfer-Encoding") }) { return }
                    throw NetworkError(.invalidResponse, "the response's Content-Length isn't a single number")
                }
                length = value
            }
        }
    }

    /// Omits `identity`.
    static func codings(_ name: String, _ fields: [HTTPHeaders.Field]) -> [String] {
        var codings: [String] = []
        for field in fields where field.name.equalsIgnoringASCIICase(name) {
            for member in field.value.asciiOnly.split(separator: ",") {
                let coding = String(member.filter { $0 != " " && $0 != "\t" })
                if !coding.equalsIgnoringASCIICase("identity") { codings.append(coding) }
            }
        }
        return codings
    }

    /// Unlike `Int64.init`, accepts optional whitespace and no sign.
    private static func number(_ text: Substring) -> Int64? {
        let digits = text.trimmingHTTPWhitespace
        return digits.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(digits) : nil
    }
}
