import Foundation
import HTTPSignatures
import Networking
import TokenGeneration

/// The text of an HTTP/1 message, as a person or a tool has saved it.
///
/// Line ends may be LF or CRLF, and folded field lines are unfolded ([RFC 9112
/// §5.2](https://www.rfc-editor.org/rfc/rfc9112#section-5.2)). Everything else is read as strictly
/// as by a server.
struct RawMessage {
    enum Start {
        case request(method: HTTPMethod, target: String)
        case response(status: Int)
    }

    let start: Start
    let headers: HTTPHeaders
    let trailers: HTTPHeaders
    let content: Data
    let remarks: [String]

    private static let headLimit = 64 << 10

    init(_ bytes: [UInt8], _ name: String) throws(CommandFailure) {
        do throws(RequestFault) {
            var (lines, rest) = try Self.headLines(bytes)
            let status = try Self.normalizeStart(&lines)
            var head = Array(lines.joined(separator: [0x0D, 0x0A])) + Array("\r\n\r\n".utf8)
            var reader = RequestHeadReader(limits: .init(line: Self.headLimit, fields: Self.headLimit))
            if let status {
                head.removeFirst(lines[0].count + 2)
                var input = head[...]
                guard let fields = try reader.readFields(from: &input) else {
                    throw RequestFault("the head is incomplete")
                }
                (start, headers) = (.response(status: status), fields)
            } else {
                var input = head[...]
                guard let request = try reader.readHead(from: &input) else {
                    throw RequestFault("the head is incomplete")
                }
                (start, headers) = (.request(method: request.method, target: request.target), request.headers)
            }
            (content, trailers, remarks) = try Self.content(rest, headers, status: status)
        } catch {
            let isLarge = error.status == 414 || error.status == 431
            let message = isLarge ? "the head is larger than 64 KiB, or has more than 256 fields" : error.reason
            throw CommandFailure(
                .rejected,
                "\(name): not an HTTP message: \(message)",
                cause: isLarge ? HTTPSignatureError(.tooLarge, message) : nil
            )
        }
    }

    private static func headLines(
        _ bytes: [UInt8]
    ) throws(RequestFault) -> (lines: [[UInt8]], rest: ArraySlice<UInt8>) {
        var lines: [[UInt8]] = []
        var rest = bytes[...]
        var size = 0
        while !rest.isEmpty {
            let end = rest.prefix(headLimit + 1).firstIndex(of: 0x0A)
            var line = rest[..<(end ?? rest.endIndex)]
            rest = rest[line.endIndex...].dropFirst()
            if line.last == 0x0D { line.removeLast() }
            size += line.count + 2
            guard size <= headLimit else { throw RequestFault(431, "the head is too large") }
            if line.isEmpty {
                if lines.isEmpty { continue }
                return (lines, rest)
            }
            guard line.first == 0x20 || line.first == 0x09 else {
                lines.append(Array(line))
                continue
            }
            guard lines.count > 1 else { throw RequestFault("the first line or field begins with white space") }
            let folded = line.drop { $0 == 0x20 || $0 == 0x09 }
            let previous = lines[lines.count - 1]
            let text = previous.prefix((previous.lastIndex { $0 != 0x20 && $0 != 0x09 } ?? -1) + 1)
            lines[lines.count - 1] = Array(text) + [0x20] + Array(folded)
        }
        guard !lines.isEmpty else { throw RequestFault("it is empty") }
        return (lines, rest)
    }

    /// Replaces the version in a request line, because tools show messages of HTTP/2 and HTTP/3 in
    /// the form of HTTP/1.1, and returns the status in a status line.
    private static func normalizeStart(_ lines: inout [[UInt8]]) throws(RequestFault) -> Int? {
        let line = lines[0]
        guard line.starts(with: "HTTP/".utf8) else {
            let version = line.suffix(from: (line.lastIndex(of: 0x20) ?? line.count - 1) + 1)
            if ["HTTP/2", "HTTP/2.0", "HTTP/3", "HTTP/3.0"].contains(String(decoding: version, as: UTF8.self)) {
                lines[0] = line.dropLast(version.count) + Array("HTTP/1.1".utf8)
            }
            return nil
        }
        let parts = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count > 1, parts[1].count == 3, parts[1].allSatisfy(\.isDigit),
            let status = Int(String(decoding: parts[1], as: UTF8.self)), status >= 100
        else { throw RequestFault("the status line has no status of three digits") }
        guard line.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw RequestFault("a control character in a line")
        }
        return status
    }

    private static func content(
        _ rest: ArraySlice<UInt8>,
        _ headers: HTTPHeaders,
        status: Int?
    ) throws(RequestFault) -> (content: Data, trailers: HTTPHeaders, remarks: [String]) {
        let lengths = headers.values(for: "Content-Length")
        let codings = headers.values(for: "Transfer-Encoding")
        guard codings.isEmpty else {
            guard lengths.isEmpty else { throw RequestFault("both Transfer-Encoding and Content-Length") }
            guard codings.count == 1, codings[0].equalsIgnoringASCIICase("chunked") else {
                throw RequestFault("the only supported transfer coding is chunked")
            }
            var input = rest
            var lines = RequestHeadReader(limits: .init())
            var chunks = ChunkedBodyReader(limit: MessageSource.sizeLimit)
            guard let trailers = try chunks.consume(&input, &lines) else {
                throw RequestFault("the content ends before its last chunk")
            }
            return (Data(chunks.body), trailers, try remarks(about: input))
        }
        guard let text = lengths.first else { return (Data(rest), [:], []) }
        guard lengths.count == 1 else { throw RequestFault("more than one Content-Length") }
        guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else {
            throw RequestFault("Content-Length is not a number")
        }
        // A response to HEAD or to a conditional request has a length without content.
        if rest.isEmpty, status != nil { return (Data(), [:], []) }
        guard let length = Int(text), length <= rest.count else {
            throw RequestFault("the content has \(rest.count) bytes, but Content-Length is \(text.prefix(20))")
        }
        return (Data(rest.prefix(length)), [:], try remarks(about: rest.dropFirst(length)))
    }

    /// Ignores line breaks after the content, which editors add, and rejects anything else.
    private static func remarks(about rest: ArraySlice<UInt8>) throws(RequestFault) -> [String] {
        guard rest.allSatisfy({ $0 == 0x0D || $0 == 0x0A }) else {
            throw RequestFault("the text continues after the content; was it converted, or are there several messages?")
        }
        return rest.isEmpty ? [] : ["the line break after the content isn't part of it and was ignored"]
    }
}
