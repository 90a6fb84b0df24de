/// A base folder for a user's files ([XDG Base Directory
/// Specification](https://specifications.freedesktop.org/basedir-spec/latest/)).
struct UserFolder {
    static let configuration = UserFolder(variable: "XDG_CONFIG_HOME", customaryPath: ".config")
    static let state = UserFolder(variable: "XDG_STATE_HOME", customaryPath: ".local/state")
    static let cache = UserFolder(variable: "XDG_CACHE_HOME", customaryPath: ".cache")

    let variable: String
    /// The path in the home folder, if the variable isn't set.
    let customaryPath: String

    /// Returns the path of the program's folder within the base folder, which may not exist.
    ///
    /// As the specification requires, an environment variable that is empty or not an absolute path
    /// is ignored. The advice is the option that specifies another path.
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
