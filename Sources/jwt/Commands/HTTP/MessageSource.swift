import Foundation
import HTTPSignatures
import Networking
import TokenGeneration

/// The source of a recorded message: raw text or an HTTP Archive (HAR).
struct MessageSource {
    /// The maximum size of a file in bytes.
    static let sizeLimit = 64 << 20

    private static let origin = Option<OriginArgument>(
        "origin",
        value: "URL",
        """
        The scheme and the host that clients use, such as https://api.example; required behind a proxy (default: the \
        URL of the recording, or https and the Host field of a raw request)
        """
    )
    private static let request = Option<InputFile>(
        "request",
        "The raw request that caused a raw response, for components with req"
    )
    private static let entry = Option<EntryNumber>(
        "entry",
        value: "NUMBER",
        "The entry of a HAR file, from 1 (default: the only entry that is signed)"
    )
    private static let response = Flag("response", "Check the response of a HAR entry instead of the request")

    static let options = OptionDefinition.section("Message", [origin, request, entry, response])
    static let operand = OperandDefinition(
        name: "FILE",
        kind: .file,
        summary:
            "The message: the raw text of a request or response, or a HAR file; reads standard input if it is - or omitted"
    )

    private let file: InputFile
    private let origin: OriginArgument?
    private let request: InputFile?
    private let entry: Int?
    private let isResponse: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        origin = try arguments.value(of: Self.origin)
        request = try arguments.value(of: Self.request)
        entry = try arguments.value(of: Self.entry)?.number
        isResponse = arguments.contains(Self.response)
        file = try arguments.operand(named: "FILE") ?? .standardInput
        if arguments.operands.isEmpty, FileDescriptor.standard(0).isTerminal {
            throw arguments.usageError("missing message; pass a file as an argument, or pass - to type it")
        }
        if file.isStandardInput, request?.isStandardInput ?? false {
            throw arguments.usageError("the request and the response can't both come from standard input")
        }
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
                let option = isResponse ? Self.response.definition.spelling : Self.request.definition.spelling
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
