/// Checks of a response's header that libcurl doesn't make.
///
/// If a client interprets a header differently from the server or another recipient, it may take
/// part of one message for another
/// ([RFC 9112 §11.1](https://www.rfc-editor.org/rfc/rfc9112#section-11.1)).
enum ResponseFraming {
    /// The maximum number of header fields in a response.
    static let maximumFieldCount = 5000

    /// Checks a field's name.
    ///
    /// Whitespace between the name and the colon isn't allowed
    /// ([RFC 9112 §5.1](https://www.rfc-editor.org/rfc/rfc9112#section-5.1)).
    static func check(name: Span<UInt8>) throws(NetworkError) {
        for index in name.indices where name[index] <= 0x20 || name[index] == 0x7F {
            throw NetworkError(.invalidResponse, "the response has a header field whose name contains whitespace")
        }
    }

    /// Checks a field's value, or a part of it, and the number of fields including it.
    ///
    /// Control characters other than the tab are invalid, and a CR or NUL is dangerous
    /// ([RFC 9110 §5.5](https://www.rfc-editor.org/rfc/rfc9110#section-5.5)).
    static func check(value: Span<UInt8>, count: Int) throws(NetworkError) {
        for index in value.indices where value[index] < 0x20 && value[index] != 0x09 || value[index] == 0x7F {
            throw NetworkError(.invalidResponse, "the response has a header field that contains a control character")
        }
        guard count <= maximumFieldCount else {
            throw NetworkError(.invalidResponse, "the response has more than \(maximumFieldCount) header fields")
        }
    }

    /// Checks that the body has no transfer coding except chunked, and at most one length.
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

    /// Returns the codings that the fields of a name list, without `identity`.
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

    /// Parses `1*DIGIT` between optional whitespace and, unlike `Int64.init`, without a sign.
    private static func number(_ text: Substring) -> Int64? {
        let digits = text.trimmingHTTPWhitespace
        return digits.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(digits) : nil
    }
}
