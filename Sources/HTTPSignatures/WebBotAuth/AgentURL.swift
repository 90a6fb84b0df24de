import Foundation
import Networking

/// The rules for URLs that a sender chose.
enum AgentURL {
    /// Returns the URL of an agent's keys.
    ///
    /// An origin, as in early drafts, stands for the well-known URL.
    ///
    /// - Throws: ``HTTPSignatureError`` with the code `directoryRejected` if the URL must not be
    ///   fetched.
    static func directory(of agent: URL) throws(HTTPSignatureError) -> URL {
        guard let uri = try? TargetURI(agent.absoluteString), uri.scheme == "https" else {
            throw refused("isn't https")
        }
        let host = uri.authority
        // A port could reach a service that isn't meant for the public.
        guard !host.utf8.contains(UInt8(ascii: ":")), !host.utf8.contains(UInt8(ascii: "[")) else {
            throw refused("has a port, or an address as its host")
        }
        guard host.utf8.contains(UInt8(ascii: ".")), host.utf8.last != UInt8(ascii: "."), isName(host) else {
            throw refused("doesn't have a public name as its host")
        }
        let target = uri.requestTarget == "/" ? SignatureKeyDirectory.path : uri.requestTarget
        guard let url = URL(string: "https://\(host)\(target)", encodingInvalidCharacters: false) else {
            throw refused("isn't a URL")
        }
        return url
    }

    /// Returns whether a host is a name rather than an IPv4 address in any form.
    private static func isName(_ host: String) -> Bool {
        let last = host.split(separator: ".").last ?? ""
        guard last.utf8.contains(where: { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }),
            !last.hasPrefix("0x")
        else { return false }
        return !["localhost", "local", "internal", "localdomain", "home", "lan", "arpa", "test", "onion"]
            .contains { last == $0 }
    }

    private static func refused(_ reason: String) -> HTTPSignatureError {
        HTTPSignatureError(.directoryRejected, "the URL of the signature's agent \(reason)")
    }
}

/// The keys that RFC 9421 publishes, whose private parts everyone knows
/// ([Appendix B.1](https://www.rfc-editor.org/rfc/rfc9421#appendix-B.1)).
enum SignatureTestKeys {
    /// Their SHA-256 thumbprints.
    static let thumbprints: Set<String> = [
        "BHj8s0GPnMEQtkaULIM-PLgEhLBbuGUQ1vMxmBWZzEo", "oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA",
        "ydQXMtvbsOsZyFir-Y7A8t7fKEM1gbKPvyFkdpu4fvI", "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",
    ]
}
