import Networking

/// The roots under which the servers a command talks to are trusted.
enum RootsOption {
    static let option = Option<InputFile>(
        "roots",
        value: "FILE",
        "The only root certificates under which a server is trusted, PEM or DER (default: the system's)"
    )

    /// Reads the roots, or takes the system's if there is no file.
    ///
    /// - Throws: ``CommandFailure`` that names the file.
    static func roots(_ file: InputFile?) throws(CommandFailure) -> TrustRoots {
        guard let file else { return .system }
        let bytes = try file.read().bytes
        do throws(TrustConfigurationError) {
            return try ServerCertificates.roots(bytes)
        } catch {
            throw CommandFailure(.failed, "\(file.name): \(error.message)", cause: error)
        }
    }
}
