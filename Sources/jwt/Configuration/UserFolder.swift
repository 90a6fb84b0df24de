/// A folder in which a user's programs keep something
/// ([XDG Base Directory Specification](https://specifications.freedesktop.org/basedir-spec/latest/)).
enum UserFolder {
    case configuration
    case state
    case cache

    private var variable: String {
        switch self {
        case .configuration: "XDG_CONFIG_HOME"
        case .state: "XDG_STATE_HOME"
        case .cache: "XDG_CACHE_HOME"
        }
    }

    private var customaryPath: String {
        switch self {
        case .configuration: ".config"
        case .state: ".local/state"
        case .cache: ".cache"
        }
    }

    /// Where the program keeps it: a folder of its own in that of the user.
    ///
    /// A variable that is empty or not an absolute path counts as not set, as the specification demands.
    ///
    /// - Parameter advice: The option that names another place.
    /// - Returns: The path of the folder, which need not be there.
    /// - Throws: ``CommandFailure`` if no variable says where the user's folders are.
    func path(orElse advice: String) throws(CommandFailure) -> String {
        if let folder = try Self.absolutePath(in: variable) { return folder + "/jwt" }
        return try "\(Self.home(orElse: "\(variable) or \(advice)"))/\(customaryPath)/jwt"
    }

    /// The user's own folder.
    ///
    /// - Parameter advice: What to set otherwise.
    /// - Returns: The path of the folder.
    /// - Throws: ``CommandFailure`` if `HOME` is not set.
    static func home(orElse advice: String) throws(CommandFailure) -> String {
        guard let home = try absolutePath(in: "HOME") else {
            throw CommandFailure(.failed, "HOME is not set to a folder; set it, or give \(advice)")
        }
        return home
    }

    private static func absolutePath(in variable: String) throws(CommandFailure) -> String? {
        guard let path = try EnvironmentVariable.text(of: variable), path.hasPrefix("/") else { return nil }
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }
}
