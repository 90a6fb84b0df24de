import Networking
import TokenGeneration

struct PinCommand {
    private static let roots = RootsOption.option

    static let definition = CommandDefinition(
        name: "pin",
        summary: "Print the pins of a server or a certificate",
        discussion: [
            """
            Prints one line for each certificate: the pin of its public key (the base64 SHA-256 hash of the \
            SubjectPublicKeyInfo), followed by # and the subject. For a server, prints the verified chain, starting \
            with the server's own certificate, and closes the connection before sending a request. The server must \
            be trusted: pass its root with --roots, or its certificate as a file.
            """
        ],
        options: [roots],
        operands: [
            OperandDefinition(
                name: "URL|FILE",
                isRequired: true,
                kind: .file,
                summary: "https://host or https://host:port, or a certificate file in PEM or DER"
            )
        ],
        examples: [
            "Print the pins of a server": "jwt pin https://api.example.org",
            "Print the pin of a backup certificate": "jwt pin backup.pem",
            "Print only the pins": "jwt pin https://api.example.org | cut -d' ' -f1",
        ],
        exitCodes: [
            0: "The pins were printed",
            1: "The server isn't trusted, or the file contains no certificates",
            2: "A file can't be read, or the connection failed",
        ],
        action: { try run($0, $1) }
    )

    private typealias Items = [(certificate: ServerCertificates.Item, role: String?)]

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let operand = arguments.operands.first ?? ""
        let roots = arguments.value(of: roots)
        let items: Items
        if let scheme = operand.firstRange(of: "://").map({ operand[..<$0.lowerBound].lowercased() }) {
            guard scheme == "https" else { throw arguments.usageError("the URL must start with https://") }
            let chain = try chain(of: operand, roots, arguments)
            items = chain.enumerated().map { index, certificate in
                (certificate, index == 0 ? "leaf" : index == chain.count - 1 ? "root" : "intermediate")
            }
        } else {
            let file: InputFile = try arguments.operand(named: "URL|FILE") ?? .standardInput
            guard roots == nil else { throw arguments.usageError("--roots requires a URL; files aren't verified") }
            items = try certificates(in: file).map { ($0, nil) }
        }
        try console.print(console.writesJSON ? json(items) : lines(items))
    }

    private static func chain(
        of url: String,
        _ roots: InputFile?,
        _ arguments: ParsedArguments
    ) throws -> [ServerCertificates.Item] {
        let roots = try RootsOption.roots(roots)
        do {
            return try AsynchronousWork.result {
                try await ServerCertificates.chain(of: url, tls: TLSConfiguration(trustRoots: roots))
            }
        } catch let error as NetworkError {
            guard error.code != .invalidRequest else { throw arguments.usageError(error.message) }
            let code: CommandFailure.Code = error.code == .tls ? .rejected : .failed
            throw CommandFailure(code, error.message + error.trustAdvice, cause: error)
        }
    }

    private static func certificates(in file: InputFile) throws(CommandFailure) -> [ServerCertificates.Item] {
        let bytes: [UInt8]
        do throws(CommandFailure) {
            bytes = try file.read().bytes
        } catch {
            // Other tools accept a host name without a scheme.
            guard error.cause as? FileDescriptor.Failure == .missing, !file.name.contains("/") else { throw error }
            let advice = "; to print the pins of a server, run jwt pin https://HOST"
            throw CommandFailure(error.code, error.message + advice, cause: error.cause)
        }
        return try CommandFailure.reporting(.rejected, at: file.name) { try ServerCertificates.list(bytes) }
    }

    private static func lines(_ items: Items) -> String {
        items.map { certificate, role in
            let words = [role, VisibleText.line(certificate.subject)].compactMap(\.self).joined(separator: " ")
            return "\(certificate.pin)  # \(words)"
        }.joined(separator: "\n")
    }

    private static func json(_ items: Items) -> String {
        let certificates = items.map { certificate, role in
            var members: [(String, JSONValue)] = [
                ("pin", .string(certificate.pin.description)), ("subject", .string(certificate.subject)),
            ]
            if let role { members.append(("role", .string(role))) }
            return JSONValue.object(JSONObject(members))
        }
        return VisibleText.json(JSONObject([("certificates", .array(certificates))]).prettyPrinted())
    }
}
