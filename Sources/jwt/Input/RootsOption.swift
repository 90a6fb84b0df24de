import Networking

/// The option for trusted root certificates.
enum RootsOption {
    static let option = Option<InputFile>(
        "roots",
        "The trusted root certificates, instead of the system's, in PEM or DER"
    )

    /// Reads the roots from a file, or returns the system's roots without a file.
    ///
    /// - Throws: ``CommandFailure`` with the name of the file.
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
