import Foundation
import Glibc
import Networking
import TokenGeneration

struct InputFile: ArgumentValue, Equatable {
    struct Content {
        var bytes: [UInt8]
        var status: FileStatus?
    }

    /// The maximum size of a key or claims file in bytes, which protects against endless files.
    static let sizeLimit = 1 << 20

    static let standardInput = InputFile(path: "-")

    static let valueKind = OptionDefinition.ValueKind.file
    static let placeholder = "FILE"

    let path: String

    init(argument: String) throws(ValueError) {
        guard !argument.isEmpty else { throw ValueError(message: "must name a file, or - for standard input") }
        path = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains(argument) ? "-" : argument
    }

    init(path: String) { self.path = path }

    var isStandardInput: Bool { path == "-" }
    var name: String { isStandardInput ? "standard input" : path }

    func read(limit: Int = sizeLimit) throws(CommandFailure) -> Content {
        do throws(FileDescriptor.Failure) {
            if isStandardInput { return try content(of: .standard(STDIN_FILENO), limit) }
            return try content(of: FileDescriptor(reading: path), limit)
        } catch {
            let reason = error.number == EFBIG ? "larger than \(limit >> 20) MiB" : "can't be read: \(error.message)"
            throw CommandFailure(.failed, "\(name): \(reason)", cause: error)
        }
    }

    private func content(of file: borrowing FileDescriptor, _ limit: Int) throws(FileDescriptor.Failure) -> Content {
        guard let bytes = try file.readAll(limit: limit) else {
            throw FileDescriptor.Failure(number: EFBIG)
        }
        return Content(bytes: bytes, status: file.status(path: isStandardInput ? nil : path))
    }
}

struct EnvironmentVariable: ArgumentValue, Equatable {
    static let placeholder = "NAME"

    let name: String

    init(argument: String) throws(ValueError) {
        let isName =
            argument.utf8.first.map { !(0x30...0x39).contains($0) } ?? false
            && argument.utf8.allSatisfy {
                $0 == UInt8(ascii: "_") || (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF)
            }
        guard isName else {
            throw ValueError(message: "must be the name of an environment variable, without $, not its value")
        }
        name = argument
    }

    /// Returns the value; messages name the option, because the name may be a secret entered by
    /// mistake.
    func value(for option: String) throws(CommandFailure) -> String {
        guard Self.isSet(name) else {
            throw CommandFailure(.misused, "the environment variable for \(option) is unset or empty")
        }
        guard let text = Self.validText(of: name) else {
            throw CommandFailure(.failed, "the environment variable for \(option) isn't valid UTF-8")
        }
        return text
    }

    /// Returns the value of a fixed variable, or `nil` if it isn't set.
    ///
    /// Throws if the value isn't UTF-8, because repaired text could name another file or program.
    static func text(of name: String) throws(CommandFailure) -> String? {
        guard isSet(name) else { return nil }
        guard let text = validText(of: name) else {
            throw CommandFailure(.failed, "the environment variable \(name) isn't valid UTF-8")
        }
        return text
    }

    static func isSet(_ name: String) -> Bool {
        guard let value = unsafe getenv(name) else { return false }
        return unsafe value[0] != 0
    }

    private static func validText(of name: String) -> String? {
        unsafe getenv(name).flatMap { unsafe String(validatingCString: $0) }
    }
}

struct BodySource: ArgumentValue, Equatable {
    static let placeholder = "TEXT|@FILE"

    /// The maximum size in bytes of a body that is held in memory for retries, such as standard
    /// input.
    static let sizeLimit = 64 << 20

    private let text: String
    /// The file, or `nil` for the text itself.
    let file: InputFile?

    init(argument: String) throws(ValueError) {
        text = argument
        file = argument.hasPrefix("@") ? try InputFile(argument: String(argument.dropFirst())) : nil
    }

    var isStandardInput: Bool { file == .standardInput }

    /// Returns a body that can be sent again after a rejected token, and streams a regular file.
    func body() throws(CommandFailure) -> HTTPBody {
        if let file, !file.isStandardInput, Self.isRegular(file) {
            return try CommandFailure.reporting(at: file.name) { try .file(URL(filePath: file.path)) }
        }
        return .data(Data(try octets()))
    }

    func jsonBody() throws(CommandFailure) -> HTTPBody {
        let octets = try octets()
        try CommandFailure.reporting(at: "\(file?.name ?? "--json-body"): the body isn't valid JSON") {
            // The strict parser accepts only objects, so wrap the value in one.
            let member = Array("{\"value\":".utf8) + octets + Array("}".utf8)
            let object = try JSONObject(parsing: member, limits: .document)
            guard object.count == 1 else { throw TokenError(.malformedToken, "more than one value") }
        }
        return .data(Data(octets))
    }

    /// Returns the bytes; the limit applies only to a file.
    func octets(limit: Int = sizeLimit) throws(CommandFailure) -> [UInt8] {
        if let file { try file.read(limit: limit).bytes } else { Array(text.utf8) }
    }

    private static func isRegular(_ file: InputFile) -> Bool {
        let url = URL(filePath: file.path).resolvingSymlinksInPath()
        let type = try? FileManager.default.attributesOfItem(atPath: url.path)[.type] as? FileAttributeType
        return type == .typeRegular
    }
}

extension [UInt8] {
    /// The bytes without the byte order mark with which programs of Windows begin text files.
    var withoutByteOrderMark: [UInt8] { starts(with: [0xEF, 0xBB, 0xBF]) ? Array(dropFirst(3)) : self }
}
