import Foundation
import Networking
import TokenGeneration

/// The source of a request body or other data: text, `@FILE`, or `@-` for standard input.
struct BodySource: ArgumentValue, Equatable {
    static let placeholder = "TEXT|@FILE"

    private enum Place: Equatable {
        case text(String)
        case file(InputFile)
    }

    /// The maximum size in bytes of a body that is held in memory for retries, such as standard
    /// input.
    static let sizeLimit = 64 << 20

    private let place: Place

    init(argument: String) throws(ValueError) {
        place =
            argument.hasPrefix("@")
            ? .file(try InputFile(argument: String(argument.dropFirst()))) : .text(argument)
    }

    var isStandardInput: Bool { place == .file(.standardInput) }

    /// Returns a body that can be sent again after a rejected token.
    ///
    /// A regular file of any size is streamed.
    func body() throws(CommandFailure) -> HTTPBody {
        if case .file(let file) = place, !file.isStandardInput, Self.isRegular(file) {
            return try CommandFailure.reporting(at: file.name) { try .file(URL(filePath: file.path)) }
        }
        return .data(Data(try octets()))
    }

    func jsonBody() throws(CommandFailure) -> HTTPBody {
        let octets = try octets()
        let name = if case .file(let file) = place { file.name } else { "--json-body" }
        try CommandFailure.reporting(at: "\(name): the body isn't valid JSON") {
            // The strict parser accepts only objects, so wrap the value in one.
            let member = Array("{\"value\":".utf8) + octets + Array("}".utf8)
            let object = try JSONObject(parsing: member, limits: .document)
            guard object.count == 1 else { throw TokenError(.malformedToken, "more than one value") }
        }
        return .data(Data(octets))
    }

    /// Returns the bytes; the limit applies only to a file.
    func octets(limit: Int = sizeLimit) throws(CommandFailure) -> [UInt8] {
        switch place {
        case .text(let text): Array(text.utf8)
        case .file(let file): try file.read(limit: limit).bytes
        }
    }

    private static func isRegular(_ file: InputFile) -> Bool {
        let url = URL(filePath: file.path).resolvingSymlinksInPath()
        let type = try? FileManager.default.attributesOfItem(atPath: url.path)[.type] as? FileAttributeType
        return type == .typeRegular
    }
}
