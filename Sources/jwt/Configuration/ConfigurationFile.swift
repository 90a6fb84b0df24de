import Foundation
import TokenGeneration

/// The user's configuration file, which contains profiles.
///
/// ```json
/// {"profiles": {"prod": {"token-endpoint": "https://id.example/token", "client-id": "reports", "client-secret-env": "S"}}}
/// ```
struct ConfigurationFile {
    static let option = Option<InputFile>(
        "config",
        "The configuration file (default: ~/.config/jwt/config.json, or jwt/config.json in $XDG_CONFIG_HOME)"
    )
    static let profile = Option<NonEmptyText>(
        "profile",
        value: "NAME",
        "A profile in the configuration file; the options below override its members"
    )
    static let options = OptionDefinition.section("Profile", [profile, option])

    let path: String
    /// A warning if other users can change the file.
    let warning: String?
    private let profiles: JSONObject

    /// Reads the file.
    ///
    /// - Parameter file: The file, or `nil` for the default file.
    /// - Throws: ``CommandFailure`` with the name of the file.
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
            try JSONObject(parsing: Data(content.bytes))
        }
        if let other = document.first(where: { $0.name != "profiles" })?.name {
            throw CommandFailure(.failed, "\(file.name): unknown member \(other); the only member is profiles")
        }
        guard let profiles = document["profiles"]?.object else {
            throw CommandFailure(.failed, "\(file.name): profiles must be an object: {\"profiles\": {\"NAME\": {…}}}")
        }
        self.profiles = profiles
    }

    /// Returns a profile.
    ///
    /// - Parameters:
    ///   - name: The name of the profile.
    ///   - members: The members that the profile can have.
    /// - Returns: The profile.
    /// - Throws: ``CommandFailure`` if the profile is missing or invalid.
    func profile(_ name: String, members: [OptionDefinition]) throws(CommandFailure) -> Profile {
        guard let profile = profiles[name] else {
            let names = profiles.map(\.name)
            let advice =
                Suggestion.nearest(to: name, in: names).map { "did you mean \($0)?" }
                ?? (names.isEmpty ? "the file has no profiles" : "profiles: " + names.joined(separator: ", "))
            throw CommandFailure(.failed, "\(path): no profile “\(name)”; \(advice)")
        }
        guard let object = profile.object else {
            throw CommandFailure(.failed, "\(path): profile “\(name)” must be an object")
        }
        return try Profile(object, name: name, in: self, members: members)
    }

    /// Resolves a path in the file: `~/` is the home folder, and a relative path starts at the
    /// file's folder.
    func resolved(_ text: String) throws(ValueError) -> String {
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
}

extension ParsedArguments {
    /// Returns the arguments, completed by a profile.
    ///
    /// - Parameters:
    ///   - profile: The profile.
    ///   - alternatives: Groups of mutually exclusive options. An option on the command line
    ///     overrides every option of its group in the profile.
    /// - Returns: The combined arguments.
    func completed(by profile: Profile, alternatives: [[any CommandOption]]) -> ParsedArguments {
        var result = self
        for (option, text) in profile.values {
            let groups = alternatives.lazy.map { $0.flatMap(\.definitions) }
            if contains(groups.first { $0.contains { $0.longName == option.longName } } ?? [option]) { continue }
            result.add(text, to: option)
        }
        return result
    }
}
