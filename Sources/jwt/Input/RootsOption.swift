import Networking

/// The option for trusted root certificates.
enum RootsOption {
    static let option = Option<InputFile>(
        "roots",
        "The trusted root certificates, instead of the system's, in PEM or DER"
    )

    /// Reads the roots from a file, or returns the system's roots without a file.
    static func roots(_ file: InputFile?) throws(CommandFailure) -> TrustRoots {
        guard let file else { return .system }
        let bytes = try file.read().bytes
        return try CommandFailure.reporting(at: file.name) { try ServerCertificates.roots(bytes) }
    }
}
