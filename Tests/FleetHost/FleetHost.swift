import Foundation
import Glibc
import Networking
import OAuth2
import SharedStores

/// A host of a fleet: it replaces the token of a shared grant over and over.
///
/// ```text
/// fleet-host <name> <etcd URLs|files:folder> <token endpoint> <rotations> <valid for, ms> <log>
/// fleet-host sign-in <etcd URLs|files:folder> <token endpoint> <refresh token> <log>
/// fleet-host replay <etcd URLs> <identifiers> <start, s since 1970> <log>
/// ```
///
/// The last form remembers the identifiers 1, 2, … of tokens in the replay cache of the fleet. Each
/// token expires two minutes after it was issued, and one was issued per second since the start, so
/// that all hosts see the same expiration.
///
/// The log has a JSON object per line: each call of the store with its start and end on the
/// monotonic clock of the machine, and each token. Tests/Fleet/fleet.py reads it.
@main
enum FleetHost {
    static let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    static let grant = RefreshTokenGrant(refreshToken: Secret("the first token of the fleet"))

    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.count == 6, arguments[1] == "replay", let count = Int(arguments[3]),
            let start = Double(arguments[4])
        {
            let cache = EtcdReplayCache(try cluster(arguments[2]))
            await replay(cache, count, Date(timeIntervalSince1970: start), try HostLog(path: arguments[5]))
            return
        }
        guard arguments.count >= 5, let endpoint = URL(string: arguments[3]) else {
            print("usage: fleet-host <name> <store> <token endpoint> <rotations> <valid for, ms> <log>")
            exit(64)
        }
        let server = AuthorizationServer(issuer: "https://as.example", tokenEndpoint: endpoint)
        if arguments[1] == "sign-in", arguments.count == 6 {
            let authenticator = OAuth2Authenticator(
                client: OAuth2Client(
                    server: server,
                    clientAuthentication: .clientSecretBasic(clientID: "fleet", secret: Secret("s3cret"))
                ),
                grant: grant,
                resources: .everyHTTPSOrigin,
                store: LoggedStore(try store(arguments[2]), log: try HostLog(path: arguments[5]))
            )
            try await authenticator.signIn(with: Secret(arguments[4]))
            return
        }
        guard arguments.count == 7, let rotations = Int(arguments[4]), let validFor = Int(arguments[5]) else {
            exit(64)
        }
        let log = try HostLog(path: arguments[6])
        let source = GrantTokenSource(
            client: OAuth2Client(
                server: server,
                clientAuthentication: .clientSecretBasic(clientID: "fleet", secret: Secret("s3cret")),
                timing: .init(timeout: .seconds(30), attempts: 1, lostRequestDelay: .milliseconds(validFor))
            ),
            grant: grant,
            store: LoggedStore(try store(arguments[2]), log: log)
        )
        await rotate(source, rotations, log)
    }

    private static func rotate(_ source: GrantTokenSource, _ rotations: Int, _ log: HostLog) async {
        var token: AccessToken?
        var done = 0
        while done < rotations {
            let started = HostLog.now()
            do {
                let last = token
                let next = try await source.token(
                    for: last.map { .replacing($0) } ?? TokenRequirements()
                )
                token = next
                if !next.isFound { done += 1 }
                log.write(["event": "token", "start": started, "end": HostLog.now(), "found": next.isFound])
            } catch let error as OAuth2Error {
                log.write([
                    "event": "error", "start": started, "end": HostLog.now(), "code": "\(error.code)",
                    "lost": error.isPossiblyLostRotation,
                ])
                if error.code == .reauthenticationRequired { exit(3) }
                try? await Task.sleep(for: min(error.retryAfter ?? .milliseconds(100), .seconds(1)))
            } catch {
                log.write(["event": "error", "start": started, "end": HostLog.now(), "code": "other"])
            }
        }
        log.write(["event": "done", "end": HostLog.now()])
    }

    private static func store(_ text: String) throws -> any TokenStore {
        if text.hasPrefix("files:") { return try FileTokenStore(directory: URL(filePath: String(text.dropFirst(6)))) }
        return EtcdTokenStore(try cluster(text), keys: try RecordKeys(sealing: Secret(key)))
    }

    private static func cluster(_ text: String) throws -> EtcdCluster {
        let endpoints = text.split(separator: ",").compactMap { URL(string: String($0)) }
        return try EtcdCluster(endpoints: endpoints, timeout: .seconds(1))
    }

    private static func replay(_ cache: EtcdReplayCache, _ count: Int, _ start: Date, _ log: HostLog) async {
        for identifier in 1...count {
            let started = HostLog.now()
            var entry: [String: any Sendable] = ["event": "replay", "start": started, "identifier": identifier]
            do {
                entry["new"] = try await cache.remember(
                    "\(identifier)",
                    signedBy: "key",
                    until: start.addingTimeInterval(Double(identifier) + 120),
                    at: Date()
                )
            } catch {
                entry["failed"] = true
            }
            entry["end"] = HostLog.now()
            log.write(entry)
        }
    }
}
