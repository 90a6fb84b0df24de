import Foundation
import HTTPSignatures
import Networking
internal import OpenSSLCrypto
import TokenGeneration

struct MessageSource {
    static let sizeLimit = 64 << 20

    private static let origin = Option<OriginArgument>("origin", value: "URL")
    private static let request = Option<InputFile>("request")
    private static let entry = Option<Int>("entry", in: 1...Int.max)
    private static let response = Flag("response")

    static let options = OptionDefinition.table([
        origin: """
        The scheme and the host that clients use, such as https://api.example; required behind a proxy (default: the \
        URL of the recording, or https and the Host field of a raw request)
        """,
        request: "The raw request that caused a raw response, for components with req",
        entry: "The entry of a HAR file, from 1 (default: the only entry that is signed)",
        response: "Check the response of a HAR entry instead of the request",
    ]).section("Message")
    static let operand = OperandDefinition(
        name: "FILE",
        kind: .file,
        summary:
            "The message: the raw text of a request or response, or a HAR file; reads standard input if it is - or omitted"
    )

    private let arguments: ParsedArguments
    private let file: InputFile

    private var origin: OriginArgument? { arguments.value(of: Self.origin) }
    private var request: InputFile? { arguments.value(of: Self.request) }
    private var entry: Int? { arguments.value(of: Self.entry) }
    private var isResponse: Bool { arguments.contains(Self.response) }

    init(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        file = try arguments.operand(named: "FILE") ?? .standardInput
        try arguments.reject([
            "missing message; pass a file as an argument, or pass - to type it":
                arguments.operands.isEmpty && FileDescriptor.standard(0).isTerminal,
            "the request and the response can't both come from standard input":
                file.isStandardInput && request?.isStandardInput == true,
        ])
    }

    var takesStandardInput: Bool { file.isStandardInput || request?.isStandardInput ?? false }

    func read() throws(CommandFailure) -> RecordedMessage {
        let bytes = try file.read(limit: Self.sizeLimit).bytes
        let first = bytes.first { !$0.isBlank }
        guard first == UInt8(ascii: "{") else { return try raw(bytes) }
        if request != nil { throw CommandFailure(.failed, "--request applies only to a raw response") }
        return try recorded(bytes)
    }

    private func raw(_ bytes: [UInt8]) throws(CommandFailure) -> RecordedMessage {
        if entry != nil { throw CommandFailure(.failed, "\(file.name): --entry applies only to a HAR file") }
        let raw = try RawMessage(bytes, file.name)
        switch raw.start {
        case .request(let method, let target):
            if isResponse || request != nil {
                let option = isResponse ? Self.response.spelling : Self.request.spelling
                throw CommandFailure(.failed, "\(file.name): \(option) is for responses, but this is a request")
            }
            return try RecordedMessage(raw, method: method, target: target, origin: origin, name: file.name)
        case .response(let status):
            guard origin == nil || request != nil else {
                throw CommandFailure(
                    .failed,
                    "\(file.name): --origin is for requests; pass the request with --request FILE"
                )
            }
            return RecordedMessage(raw, status: status, request: try sentRequest())
        }
    }

    private func sentRequest() throws(CommandFailure) -> HTTPMessage? {
        guard let request else { return nil }
        let raw = try RawMessage(request.read(limit: Self.sizeLimit).bytes, request.name)
        guard case .request(let method, let target) = raw.start else {
            throw CommandFailure(.failed, "\(request.name): --request needs a request, but this is a response")
        }
        return try RecordedMessage(raw, method: method, target: target, origin: origin, name: request.name).message
    }

    private func recorded(_ bytes: [UInt8]) throws(CommandFailure) -> RecordedMessage {
        let entries = try CommandFailure.reporting(.rejected, at: file.name) { try HARLog(Data(bytes)).entries }
        return try RecordedMessage(try chosen(entries), isResponse: isResponse, origin: origin, name: file.name)
    }

    private func chosen(_ entries: [HAREntry]) throws(CommandFailure) -> HAREntry {
        if let entry {
            guard entry <= entries.count else {
                throw CommandFailure(.failed, "\(file.name): has \(entries.count) entries, but --entry is \(entry)")
            }
            return entries[entry - 1]
        }
        if entries.count == 1 { return entries[0] }
        let signed = entries.indices.filter { index in
            (isResponse ? entries[index].response.headers : entries[index].request.headers)
                .contains { $0.name.equalsIgnoringASCIICase("Signature-Input") }
        }
        let noun = isResponse ? "response" : "request"
        guard let first = signed.first else {
            let advice = isResponse ? "" : "; --response checks responses"
            throw CommandFailure(
                .rejected,
                "\(file.name): none of the \(entries.count) entries has a signed \(noun)\(advice)",
                cause: HTTPSignatureError(.noSignature, "no signed entry")
            )
        }
        guard signed.count == 1 else {
            let list = signed.prefix(8).map { index in
                let request = entries[index].request
                return "\(index + 1) \(request.method) \(Redaction.standard.redacted(target: request.url))"
            }
            let rest = signed.count > 8 ? ", …" : ""
            throw CommandFailure(
                .failed,
                "\(file.name): \(signed.count) entries have a signed \(noun); choose one with --entry: "
                    + list.joined(separator: ", ") + rest
            )
        }
        return entries[first]
    }
}

struct RecordedMessage: Sendable {
    enum Origin: String {
        case option, host, target, recording
    }

    var message: HTTPMessage
    /// The content; `nil` if there was content that the recording lacks.
    var content: Data?
    let title: String
    var origin: (source: Origin, text: String)?
    var mayBeDecoded = false
    var hasQuery = false
    var remarks: [String] = []

    init(
        _ raw: RawMessage,
        method: HTTPMethod,
        target: String,
        origin: OriginArgument?,
        name: String
    ) throws(CommandFailure) {
        let found: (source: Origin, text: String)
        let absolute = URIReference(target)
        let hosts = raw.headers.values(for: "Host")
        if let origin {
            found = (.option, origin.text)
        } else if target.utf8.first != UInt8(ascii: "/"), let scheme = absolute.scheme, let host = absolute.authority,
            let origin = OriginArgument(scheme: scheme, authority: host)
        {
            found = (.target, origin.text)
        } else {
            guard hosts.count == 1 else {
                let problem = hosts.isEmpty ? "has no Host field" : "has several Host fields"
                throw CommandFailure(.rejected, "\(name): the request \(problem); pass --origin URL")
            }
            // Without TLS, signatures are rare, so assume https.
            guard let origin = OriginArgument(scheme: "https", authority: hosts[0]) else {
                throw CommandFailure(.rejected, "\(name): the Host field isn't a host; pass --origin URL")
            }
            found = (.host, origin.text)
        }
        message = HTTPMessage(
            method: method,
            target: target,
            at: found.text,
            headers: raw.headers,
            trailers: raw.trailers
        )
        content = raw.content
        let shown = target.utf8.first == UInt8(ascii: "/") ? found.text + target : target
        title = "\(method) \(Redaction.standard.redacted(target: shown))"
        self.origin = found
        hasQuery = absolute.query != nil
        remarks = raw.remarks
    }

    init(_ raw: RawMessage, status: Int, request: HTTPMessage?) {
        message = HTTPMessage(status: status, headers: raw.headers, trailers: raw.trailers, request: request)
        content = raw.content
        title = String(status)
        remarks = raw.remarks
    }

    init(_ entry: HAREntry, isResponse: Bool, origin: OriginArgument?, name: String) throws(CommandFailure) {
        guard let method = HTTPMethod(entry.request.method) else {
            throw CommandFailure(.rejected, "\(name): the method of the entry isn't a token")
        }
        var url = URIReference(entry.request.url)
        url.fragment = nil
        var source = Origin.recording
        if let origin {
            let parts = URIReference(origin.text)
            (url.scheme, url.authority, source) = (parts.scheme, parts.authority, .option)
        }
        let sent = HTTPMessage(method: method, url: url.text, headers: try Self.fields(entry.request.headers, name))
        let title = "\(method) \(Redaction.standard.redacted(target: url.text))"
        guard isResponse else {
            message = sent
            let body = entry.request.postData
            content = Self.content(body, isPresent: entry.request.bodySize > 0)
            self.title = title
            hasQuery = url.query != nil
            self.origin = (source, "\(url.scheme ?? "")://\(url.authority ?? "")")
            note(body, entry.request.headers)
            return
        }
        guard entry.response.status > 0 else {
            throw CommandFailure(.rejected, "\(name): the entry has no response")
        }
        let headers = try Self.fields(entry.response.headers, name)
        message = HTTPMessage(status: entry.response.status, headers: headers, request: sent)
        let body = entry.response.content
        content = Self.content(body, isPresent: (body.size ?? 0) > 0 || entry.response.bodySize > 0)
        self.title = "\(entry.response.status) for \(title)"
        note(body, entry.response.headers)
    }

    /// Returns the recorded content, or `nil` if there was content that the recording lacks.
    private static func content(_ body: HAREntry.Content?, isPresent: Bool) -> Data? {
        guard let body, body.text != nil || body._omitted == true else { return isPresent ? nil : Data() }
        return body.octets
    }

    private mutating func note(_ body: HAREntry.Content?, _ headers: [HAREntry.Pair]) {
        if content == nil { remarks.append("the recording lacks the content") }
        let coding = headers.last { $0.name.equalsIgnoringASCIICase("Content-Encoding") }?.value ?? "identity"
        mayBeDecoded = !coding.equalsIgnoringASCIICase("identity")
        let isText = body?.text?.isEmpty == false && (body?.encoding ?? body?._encoding) == nil
        if isText, !mayBeDecoded {
            remarks.append("the recording has the content as text, whose bytes may differ from those that were sent")
        }
        if headers.contains(where: { $0.value.contains(Redaction.placeholder) }) {
            remarks.append(
                "the recording has \(Redaction.placeholder) instead of some values, which fail if they are signed"
            )
        }
    }

    /// Returns the fields without the pseudo-header fields of HTTP/2, which some browsers record.
    private static func fields(_ pairs: [HAREntry.Pair], _ name: String) throws(CommandFailure) -> HTTPHeaders {
        let fields = pairs.filter { $0.name.utf8.first != UInt8(ascii: ":") }
            .map { HTTPHeaders.Field(name: $0.name, value: $0.value) }
        guard fields.count <= 256, fields.reduce(0, { $0 + $1.name.utf8.count + $1.value.utf8.count }) <= 64 << 10
        else {
            let error = HTTPSignatureError(.tooLarge, "the head is larger than 64 KiB, or has more than 256 fields")
            throw CommandFailure(.rejected, "\(name): \(error.message)", cause: error)
        }
        return HTTPHeaders(fields)
    }
}
