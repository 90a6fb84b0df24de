import Foundation
import TokenGeneration

/// The user's configuration: profiles by their names.
///
/// ```json
/// {"profiles": {"prod": {"token-endpoint": "https://id.example/token", "client-id": "reports", "client-secret-env": "S"}}}
/// ```
struct ConfigurationFile {
    static let option = Option<InputFile>(
        "config",
        value: "FILE",
        section: section,
        "The configuration file (default: ~/.config/jwt/config.json, or jwt/config.json in $XDG_CONFIG_HOME)"
    )
    static let profile = Option<NonEmptyText>(
        "profile",
        value: "NAME",
        section: section,
        "A profile of the configuration file; its members are the options below, which win over it"
    )
    static let section = "Profile"

    let path: String
    /// Advice if others may change the file.
    let warning: String?
    private let profiles: JSONObject

    /// Reads the file.
    ///
    /// - Parameter file: The file; `nil` for the customary one.
    /// - Throws: ``CommandFailure`` that names the file.
    init(_ file: InputFile?) throws(CommandFailure) {
        let file = if let file { file } else { try Self.customaryFile() }
        path = file.name
        let content = try file.read()
        // An attacker who can write to this file can have the secrets sent to another server.
        warning = content.status?.warning(
            file.name,
            unwanted: 0o022,
            "other users may change where your secrets go",
            remedy: "go-w"
        )
        let document: JSONObject
        do throws(TokenError) {
            document = try JSONObject(parsing: Data(content.bytes))
        } catch {
            throw CommandFailure(.failed, "\(file.name): not a configuration: \(error.message)", cause: error)
        }
        if let other = document.first(where: { $0.name != "profiles" })?.name {
            throw CommandFailure(.failed, "\(file.name): unknown member \(other); the only one is profiles")
        }
        guard let profiles = document["profiles"]?.object else {
            throw CommandFailure(.failed, "\(file.name): profiles must be an object: {\"profiles\": {\"NAME\": {…}}}")
        }
        self.profiles = profiles
    }

    /// A profile.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - members: What it may have.
    /// - Returns: The profile.
    /// - Throws: ``CommandFailure`` if there is none of that name, or it is wrong.
    func profile(_ name: String, members: [ProfileMember]) throws(CommandFailure) -> Profile {
        guard let profile = profiles[name] else {
            let names = profiles.map(\.name)
            let advice =
                Suggestion.nearest(to: name, in: names).map { "did you mean \($0)?" }
                ?? (names.isEmpty ? "it has none" : "it has " + names.joined(separator: ", "))
            throw CommandFailure(.failed, "\(path): no profile “\(name)”; \(advice)")
        }
        guard let object = profile.object else {
            throw CommandFailure(.failed, "\(path): profile “\(name)” must be an object")
        }
        return try Profile(object, name: name, in: self, members: members)
    }

    /// The path that a member means: `~/` is the user's folder, and what is relative is so to the file's own folder.
    func resolved(_ text: String) throws(ValueError) -> String {
        guard text != "-" else { throw ValueError(message: "must name a file: standard input is for the command line") }
        if text.hasPrefix("/") || text.isEmpty { return text }
        if text.hasPrefix("~/") {
            do throws(CommandFailure) {
                return try UserFolder.home(orElse: "a path without ~") + text.dropFirst()
            } catch {
                throw ValueError(message: "cannot be found: \(error.message)")
            }
        }
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        return folder + text
    }

    private static func customaryFile() throws(CommandFailure) -> InputFile {
        let path = try UserFolder.configuration.path(orElse: "--config FILE") + "/config.json"
        do throws(ValueError) {
            return try InputFile(argument: path)
        } catch {
            throw CommandFailure(.failed, error.message)
        }
    }
}

extension ParsedArguments {
    /// The same, with what a profile says besides.
    ///
    /// - Parameters:
    ///   - profile: The profile.
    ///   - alternatives: Names of options that exclude each other: one on the command line wins over another in the profile.
    /// - Returns: Both together.
    func completed(by profile: Profile, alternatives: [[String]]) -> ParsedArguments {
        var result = self
        for (option, text) in profile.values {
            let names = alternatives.first { $0.contains(option.longName) } ?? [option.longName]
            if names.contains(where: contains(optionNamed:)) { continue }
            result.add(text, to: option)
        }
        return result
    }
}
