import Foundation
import Networking
import TokenGeneration

/// What a request carries: a text, `@FILE`, or `@-` for standard input.
struct BodySource: ArgumentValue, Equatable {
    private enum Place: Equatable {
        case text(String)
        case file(InputFile)
    }

    /// What is read before it is sent, because it might have to be sent again.
    private static let sizeLimit = 64 << 20

    private let place: Place

    init(argument: String) throws(ValueError) {
        place =
            argument.hasPrefix("@")
            ? .file(try InputFile(argument: String(argument.dropFirst()))) : .text(argument)
    }

    var isStandardInput: Bool { place == .file(.standardInput) }

    /// The body, in a form that can be sent again after a token was refused.
    ///
    /// An ordinary file is read while it is sent, however large it is.
    ///
    /// - Throws: ``CommandFailure`` that names the file.
    func body() throws(CommandFailure) -> HTTPBody {
        if case .file(let file) = place, !file.isStandardInput, Self.isRegular(file) {
            do throws(NetworkError) {
                return try .file(URL(filePath: file.path))
            } catch {
                throw CommandFailure(.failed, "\(file.name): \(error.message)", cause: error)
            }
        }
        return .data(Data(try octets()))
    }

    /// The body of a request that says it is JSON.
    ///
    /// - Throws: ``CommandFailure`` if it can't be read, or is not JSON.
    func jsonBody() throws(CommandFailure) -> HTTPBody {
        let octets = try octets()
        do throws(TokenError) {
            // The strict parser takes objects only, so any other value is made the one member of an object.
            let member = Array("{\"value\":".utf8) + octets + Array("}".utf8)
            let object = try JSONObject(parsing: member, limits: .document)
            guard object.count == 1 else { throw TokenError(.malformedToken, "more than one value") }
        } catch {
            let name = if case .file(let file) = place { file.name } else { "--json-body" }
            throw CommandFailure(.failed, "\(name): not JSON, so it was not sent: \(error.message)", cause: error)
        }
        return .data(Data(octets))
    }

    private func octets() throws(CommandFailure) -> [UInt8] {
        switch place {
        case .text(let text): Array(text.utf8)
        case .file(let file): try file.read(limit: Self.sizeLimit).bytes
        }
    }

    private static func isRegular(_ file: InputFile) -> Bool {
        let url = URL(filePath: file.path).resolvingSymlinksInPath()
        let type = try? FileManager.default.attributesOfItem(atPath: url.path)[.type] as? FileAttributeType
        return type == .typeRegular
    }
}
