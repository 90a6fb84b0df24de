import Foundation
import TokenGeneration

/// The user's configuration file: `{"profiles": {"prod": {"client-id": "reports", …}}}`.
struct ConfigurationFile {
    static let option = Option<InputFile>(
        "config",
        "The configuration file (default: ~/.config/jwt/config.json, or jwt/config.json in $XDG_CONFIG_HOME)"
    )
    static let profile = Option<String>(
        "profile",
        value: "NAME",
        "A profile in the configuration file; the options below override its members"
    )
    static let options = [profile.definition, option.definition]

    typealias Profile = [(option: OptionDefinition, text: String)]

    let path: String
    let warning: String?
    private let profiles: JSONObject

    init(_ file: InputFile?) throws(CommandFailure) {
        let file =
            if let file { file } else {
                InputFile(path: try UserFolder.configuration.path(orElse: "--config FILE") + "/config.json")
            }
        path = file.name
        let content = try file.read()
        // An attacker who can write to the file can send the client's secrets to another server.
        warning = content.status?.warning(
            file.name,
            unwanted: 0o022,
            "other users can change where your secrets are sent",
            remedy: "go-w"
        )
        let document = try CommandFailure.reporting(at: "\(file.name): not a configuration file") {
            try JSONObject(parsing: Data(content.bytes.withoutByteOrderMark))
        }
        if let other = document.first(where: { $0.name != "profiles" })?.name {
            throw CommandFailure(.failed, "\(file.name): unknown member \(other); the only member is profiles")
        }
        guard let profiles = document["profiles"]?.object else {
            throw CommandFailure(.failed, "\(file.name): profiles must be an object: {\"profiles\": {\"NAME\": {…}}}")
        }
        self.profiles = profiles
    }

    /// Returns the option values of a profile, which can have the given members.
    func profile(_ name: String, members: [OptionDefinition]) throws(CommandFailure) -> Profile {
        guard let profile = profiles[name] else {
            let names = profiles.map(\.name)
            let advice =
                Suggestion.nearest(to: name, in: names).map { "did you mean \($0)?" }
                ?? (names.isEmpty ? "the file has no profiles" : "profiles: " + names.joined(separator: ", "))
            throw CommandFailure(.failed, "\(path): no profile “\(name)”; \(advice)")
        }
        let title = "\(path): profile “\(name)”"
        guard let object = profile.object else { throw CommandFailure(.failed, "\(title) must be an object") }
        var values: Profile = []
        for (memberName, value) in object.map({ ($0.name, $0.value) }) {
            guard let member = members.first(where: { $0.longName == memberName }) else {
                throw CommandFailure(.failed, "\(title): \(Self.unknown(memberName, members))")
            }
            do throws(ValueError) {
                for text in try Self.texts(of: value, for: member) {
                    // A path is relative to the file.
                    let text = member.value?.kind == .file ? try resolved(text) : text
                    try member.value?.check(text)
                    values.append((member, text))
                }
            } catch {
                throw CommandFailure(.failed, "\(title): \(memberName) \(error.message)")
            }
        }
        return values
    }

    /// Resolves a path in the file: `~/` is the home folder, and a relative path starts at the
    /// file's folder.
    private func resolved(_ text: String) throws(ValueError) -> String {
        guard text != "-" else { throw ValueError(message: "must name a file, not standard input") }
        if text.hasPrefix("/") || text.isEmpty { return text }
        if text.hasPrefix("~/") {
            do throws(CommandFailure) {
                return try UserFolder.home(orElse: "a path without ~") + text.dropFirst()
            } catch {
                throw ValueError(message: "can't be found: \(error.message)")
            }
        }
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        return folder + text
    }

    /// Returns the command-line values for a JSON value, or none for a flag that is `false`.
    private static func texts(of value: JSONValue, for member: OptionDefinition) throws(ValueError) -> [String] {
        guard member.value != nil else {
            switch value {
            case true: return [""]
            case false: return []
            default: throw ValueError(message: "must be true or false")
            }
        }
        switch value {
        case .string(let text): return [text]
        case .number(let number): return [number.literal]
        case .array(let list) where member.isRepeatable:
            let texts = list.compactMap(\.string)
            guard texts.count == list.count else { throw ValueError(message: "must be an array of strings") }
            return texts
        default:
            throw ValueError(
                message: member.isRepeatable ? "must be a string or an array of strings" : "must be a string"
            )
        }
    }

    private static func unknown(_ name: String, _ members: [OptionDefinition]) -> String {
        let names = members.map(\.longName)
        // The user may have entered the secret itself.
        let places = ["\(name)-file", "\(name)-env"].filter(names.contains)
        guard places.isEmpty else {
            return
                "unknown member \(name); secrets don't belong in the configuration: use \(places.joined(separator: " or "))"
        }
        let advice =
            Suggestion.nearest(to: name, in: names).map { ", did you mean \($0)?" }
            ?? "; members: " + names.joined(separator: ", ")
        return "unknown member \(name)" + advice
    }
}

extension ParsedArguments {
    /// Returns the arguments with those of a profile, of which an option here overrides its whole
    /// group of alternatives.
    func completed(by profile: ConfigurationFile.Profile, alternatives: [[any CommandOption]]) -> ParsedArguments {
        var result = self
        for (option, text) in profile {
            let groups = alternatives.lazy.map { $0.flatMap(\.definitions) }
            if contains(groups.first { $0.contains { $0.longName == option.longName } } ?? [option]) { continue }
            result.add(text, to: option)
        }
        return result
    }
}

/// A base folder ([XDG Base Directory
/// Specification](https://specifications.freedesktop.org/basedir-spec/latest/)).
struct UserFolder {
    static let configuration = UserFolder(variable: "XDG_CONFIG_HOME", customaryPath: ".config")
    static let state = UserFolder(variable: "XDG_STATE_HOME", customaryPath: ".local/state")
    static let cache = UserFolder(variable: "XDG_CACHE_HOME", customaryPath: ".cache")

    let variable: String
    let customaryPath: String

    /// Returns the path of the program's folder, which may not exist.
    ///
    /// As the specification requires, a variable that is empty or not an absolute path is ignored.
    func path(orElse advice: String) throws(CommandFailure) -> String {
        if let folder = try Self.absolutePath(in: variable) { return folder + "/jwt" }
        return try "\(Self.home(orElse: "\(variable) or \(advice)"))/\(customaryPath)/jwt"
    }

    /// Returns the path of the home folder; the advice is the alternative to setting `HOME`.
    static func home(orElse advice: String) throws(CommandFailure) -> String {
        guard let home = try absolutePath(in: "HOME") else {
            throw CommandFailure(.failed, "HOME isn't set to an absolute path; set it, or use \(advice)")
        }
        return home
    }

    private static func absolutePath(in variable: String) throws(CommandFailure) -> String? {
        guard let path = try EnvironmentVariable.text(of: variable), path.hasPrefix("/") else { return nil }
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }
}
