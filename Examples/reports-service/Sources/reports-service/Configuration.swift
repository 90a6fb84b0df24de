import Foundation
import OAuth2

/// The service's configuration, from the environment.
struct Configuration {
    /// `ISSUER`: the authorization server.
    var issuer: String
    /// `PUBLIC_URL`: this API as its clients see it, which is also the audience of their tokens.
    var publicURL: String
    /// `ARCHIVE_URL`: the API that has the reports.
    var archive: URL
    /// `CLIENT_ID` and the file `CLIENT_SECRET_FILE`: this service as a client of the archive.
    var clientID: String
    var clientSecret: Secret
    /// `PORT`; the default is 8080.
    var port = 8080

    struct Missing: Error, CustomStringConvertible {
        let name: String
        var description: String { "set the environment variable \(name)" }
    }
}

extension Configuration {
    init(environment: [String: String]) throws {
        func value(_ name: String) throws -> String {
            guard let value = environment[name], !value.isEmpty else { throw Missing(name: name) }
            return value
        }
        issuer = try value("ISSUER")
        publicURL = try value("PUBLIC_URL")
        guard let archive = URL(string: try value("ARCHIVE_URL")) else { throw Missing(name: "ARCHIVE_URL") }
        self.archive = archive
        clientID = try value("CLIENT_ID")
        let file = try String(contentsOfFile: value("CLIENT_SECRET_FILE"), encoding: .utf8)
        clientSecret = Secret(file.trimmingCharacters(in: .whitespacesAndNewlines))
        port = environment["PORT"].flatMap(Int.init) ?? port
    }
}
